//! Executes a journal forward or back, from any point at which a previous execution stopped.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    device::Device,
    error::DiskError,
    journal::{Direction, Journal, STAGING},
    step::{OnEdit, Step, StepOutcome},
};
use crate::plan::BASE;

/// The result of an execution.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// The number of files that were changed.
    pub files: usize,
    /// The files that were not changed because somebody edited them.
    pub skipped: Vec<String>,
}

/// Executes every change of a journal in one direction, and removes the journal.
pub fn execute(
    device: &dyn Device,
    root: &Path,
    journal: &Journal,
    direction: Direction,
    on_edit: OnEdit,
) -> Result<Executed, DiskError> {
    let mut executed = Executed::default();
    let made = journal.folders.iter().map(|folder| root.join(folder));
    let mut changed_folders: BTreeSet<PathBuf> = made
        .filter_map(|folder| folder.parent().map(Path::to_owned))
        .collect();
    let mut changes: Vec<_> = journal.changes.iter().enumerate().collect();
    if direction == Direction::Back {
        changes.reverse();
    }
    for (index, entry) in changes {
        let step = Step::new(root, index, entry, direction);
        // If a base were newer than its file, a merge would not add the missing changes to the file.
        let is_base_of = |skipped: &String| entry.path.strip_prefix(BASE) == Some(skipped);
        if direction == Direction::Forward && executed.skipped.iter().any(is_base_of) {
            continue;
        }
        match step.execute(device, on_edit, &mut changed_folders)? {
            StepOutcome::AlreadyDone => {}
            StepOutcome::Done => executed.files += 1,
            StepOutcome::Skipped => executed.skipped.push(entry.path.clone()),
        }
    }
    match direction {
        Direction::Forward => {
            for entry in journal.changes.iter().filter(|entry| entry.after.is_none()) {
                let folders = Path::new(&entry.path).ancestors().skip(1);
                for folder in folders.filter(|folder| !folder.as_os_str().is_empty()) {
                    if !remove_empty(device, &root.join(folder), &mut changed_folders)? {
                        break;
                    }
                }
            }
        }
        Direction::Back => {
            for folder in journal.folders.iter().rev() {
                remove_empty(device, &root.join(folder), &mut changed_folders)?;
            }
        }
    }
    changed_folders.retain(|folder| folder.is_dir());
    sync(device, changed_folders.into_iter().collect())?;
    let path = root.join(direction.journal());
    device.remove_file(&path).map_err(DiskError::at(&path))?;
    // All changes are done; if the cleanup fails, the next command completes it.
    let _ = clear(device, root);
    Ok(executed)
}

/// Syncs folders.
pub fn sync(device: &dyn Device, folders: Vec<PathBuf>) -> Result<(), DiskError> {
    let failed = |(index, source): (usize, _)| DiskError::at(&folders[index])(source);
    device.sync(&folders).map_err(failed)
}

/// Removes the staging folder and its files.
pub fn clear(device: &dyn Device, root: &Path) -> io::Result<()> {
    let staging = root.join(STAGING);
    if let Ok(entries) = fs::read_dir(&staging) {
        for entry in entries {
            device.remove_file(&entry?.path())?;
        }
        device.remove_folder(&staging)?;
    }
    let folder = root.join(".operator");
    match is_empty(&folder) {
        true => device.remove_folder(&folder),
        false => Ok(()),
    }
}

/// Removes an empty folder. Returns whether the folder no longer exists.
fn remove_empty(
    device: &dyn Device,
    folder: &Path,
    changed_folders: &mut BTreeSet<PathBuf>,
) -> Result<bool, DiskError> {
    if is_empty(folder) {
        device
            .remove_folder(folder)
            .map_err(DiskError::at(folder))?;
    }
    let is_gone = !folder.exists();
    if is_gone {
        changed_folders.extend(folder.parent().map(Path::to_owned));
    }
    Ok(is_gone)
}

/// Whether a path is an empty folder.
pub fn is_empty(folder: &Path) -> bool {
    let is_link = fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_symlink());
    !is_link && fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}
