//! Executes a journal forward or back, from any point at which a previous execution stopped.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{
    device::Device,
    error::DiskError,
    journal::{Direction, Journal},
    own::{STAGING, TOOL_FOLDER},
    step::{OnEdit, Step, StepOutcome},
};
use crate::plan::BASE;

/// The result of an execution.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// The files that were changed, each with what was done.
    pub files: Vec<(&'static str, String)>,
    /// The files that were not changed because somebody edited them.
    pub skipped: Vec<String>,
}

/// Executes every change of a journal in one direction, and removes the journal.
pub fn execute(
    device: &dyn Device,
    journal: &Journal,
    direction: Direction,
    on_edit: OnEdit,
) -> Result<Executed, DiskError> {
    let mut executed = Executed::default();
    let mut changed_folders: BTreeSet<PathBuf> = journal
        .folders
        .iter()
        .map(Path::new)
        .filter_map(|folder| folder.parent().map(Path::to_owned))
        .collect();
    let mut changes: Vec<_> = journal.changes.iter().enumerate().collect();
    if direction == Direction::Back {
        changes.reverse();
    }
    for (index, entry) in changes {
        let step = Step::new(index, entry, direction);
        // If a base were newer than its file, a merge would not add the missing changes to the file.
        let is_base_of = |skipped: &String| entry.path.strip_prefix(BASE) == Some(skipped);
        if direction == Direction::Forward && executed.skipped.iter().any(is_base_of) {
            continue;
        }
        match step.execute(device, on_edit, &mut changed_folders)? {
            StepOutcome::AlreadyDone => {}
            StepOutcome::Done(action) => executed.files.push((action, entry.path.clone())),
            StepOutcome::Skipped => executed.skipped.push(entry.path.clone()),
        }
    }
    match direction {
        Direction::Forward => {
            for entry in journal.changes.iter().filter(|entry| entry.after.is_none()) {
                let folders = Path::new(&entry.path).ancestors().skip(1);
                for folder in folders.filter(|folder| !folder.as_os_str().is_empty()) {
                    if !remove_empty(device, Path::new(folder), &mut changed_folders)? {
                        break;
                    }
                }
            }
        }
        Direction::Back => {
            for folder in journal.folders.iter().rev() {
                remove_empty(device, Path::new(folder), &mut changed_folders)?;
            }
        }
    }
    changed_folders.retain(|folder| device.root().is_folder(folder));
    sync(device, changed_folders.into_iter().collect())?;
    let removed = device.remove_file(direction.journal());
    removed.map_err(DiskError::at(&device.root().join(direction.journal())))?;
    // All changes are done; if the cleanup fails, the next command completes it.
    let _ = clear(device);
    Ok(executed)
}

/// Syncs folders.
pub fn sync(device: &dyn Device, folders: Vec<PathBuf>) -> Result<(), DiskError> {
    let failed =
        |(index, source): (usize, _)| DiskError::at(&device.root().join(&folders[index]))(source);
    device.sync(&folders).map_err(failed)
}

/// Removes the staging folder and its files.
pub fn clear(device: &dyn Device) -> Result<(), DiskError> {
    let (root, staging) = (device.root(), Path::new(STAGING));
    let entries = root.entries(staging)?;
    let remove = || {
        for (name, _) in &entries {
            device.remove_file(&staging.join(name))?;
        }
        if root.has(staging) {
            device.remove_folder(staging)?;
        }
        if root.is_empty(Path::new(TOOL_FOLDER)) {
            device.remove_folder(Path::new(TOOL_FOLDER))
        } else {
            Ok(())
        }
    };
    remove().map_err(DiskError::at(&root.join(staging)))
}

/// Removes an empty folder. Returns whether the folder no longer exists.
fn remove_empty(
    device: &dyn Device,
    folder: &Path,
    changed_folders: &mut BTreeSet<PathBuf>,
) -> Result<bool, DiskError> {
    let root = device.root();
    if root.is_empty(folder) {
        let removed = device.remove_folder(folder);
        removed.map_err(DiskError::at(&root.join(folder)))?;
    }
    let is_gone = root.metadata(folder)?.is_none();
    if is_gone {
        changed_folders.extend(folder.parent().map(Path::to_owned));
    }
    Ok(is_gone)
}
