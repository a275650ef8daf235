//! Carries out what a journal says, or takes it back, from whatever point somebody had come to.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    device::Device,
    error::DiskError,
    journal::{Direction, Journal, STAGING},
    step::{Edited, Step, Taken},
};
use crate::plan::BASE;

/// What was done.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Carried {
    pub files: usize,
    /// Files that stayed as they are.
    pub left: Vec<String>,
}

/// Brings every file to the journal's end in this direction, and removes the journal.
pub fn carry(
    device: &dyn Device,
    root: &Path,
    journal: &Journal,
    direction: Direction,
    edited: Edited,
) -> Result<Carried, DiskError> {
    let mut carried = Carried::default();
    let made = journal.folders.iter().map(|folder| root.join(folder));
    let mut touched: BTreeSet<PathBuf> = made
        .filter_map(|folder| folder.parent().map(Path::to_owned))
        .collect();
    let mut changes: Vec<_> = journal.changes.iter().enumerate().collect();
    if direction == Direction::Back {
        changes.reverse();
    }
    for (index, entry) in changes {
        let step = Step::new(root, index, entry, direction);
        // A base that is newer than the file beside it would hide from a merge what the file lacks.
        let is_base_of = |left: &String| entry.path.strip_prefix(BASE) == Some(left);
        if direction == Direction::Forward && carried.left.iter().any(is_base_of) {
            continue;
        }
        match step.take(device, edited, &mut touched)? {
            Taken::Done => {}
            Taken::Now => carried.files += 1,
            Taken::Left => carried.left.push(entry.path.clone()),
        }
    }
    match direction {
        Direction::Forward => {
            for entry in journal.changes.iter().filter(|entry| entry.after.is_none()) {
                let folders = Path::new(&entry.path).ancestors().skip(1);
                for folder in folders.filter(|folder| *folder != "") {
                    if !remove_empty(device, &root.join(folder), &mut touched)? {
                        break;
                    }
                }
            }
        }
        Direction::Back => {
            for folder in journal.folders.iter().rev() {
                remove_empty(device, &root.join(folder), &mut touched)?;
            }
        }
    }
    touched.retain(|folder| folder.is_dir());
    sync(device, touched.into_iter().collect())?;
    let path = root.join(direction.journal());
    device.remove_file(&path).map_err(DiskError::at(&path))?;
    // From here on all is done: what can't be cleared now, the next command clears.
    let _ = clear(device, root);
    Ok(carried)
}

/// Syncs folders.
pub fn sync(device: &dyn Device, folders: Vec<PathBuf>) -> Result<(), DiskError> {
    let failed = |(index, source): (usize, _)| DiskError::at(&folders[index])(source);
    device.sync(&folders).map_err(failed)
}

/// Removes what waits in the staging folder, and the folder.
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

/// Removes a folder that nothing is left in; whether it is gone.
fn remove_empty(
    device: &dyn Device,
    folder: &Path,
    touched: &mut BTreeSet<PathBuf>,
) -> Result<bool, DiskError> {
    if is_empty(folder) {
        device
            .remove_folder(folder)
            .map_err(DiskError::at(folder))?;
    }
    let is_gone = !folder.exists();
    if is_gone {
        touched.extend(folder.parent().map(Path::to_owned));
    }
    Ok(is_gone)
}

/// Whether it is a folder with nothing in it.
pub fn is_empty(folder: &Path) -> bool {
    let is_link = fs::symlink_metadata(folder).is_ok_and(|found| found.is_symlink());
    !is_link && fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}
