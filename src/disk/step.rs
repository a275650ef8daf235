//! Executes one change of a journal, forward or back. A file with neither the old nor the new content was edited by somebody, and is not
//! changed. Its base is not changed either (`execute`), so that a later merge finds the missing changes.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
};

use super::{
    device::Device,
    error::DiskError,
    journal::{Direction, Entry, backup_path, staged_path},
    root::Root,
};
use crate::hash::sha256;

/// What to do with a file that somebody edited since the journal was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnEdit {
    /// Fail the whole command.
    Fail,
    /// Leave the file as it is, and continue with the other changes.
    Skip,
}

/// One change in one direction.
pub struct Step<'a> {
    path: &'a Path,
    from: &'a Option<String>,
    to: &'a Option<String>,
    /// The file with the content to write: the staged file, or the backup in a rollback.
    source: PathBuf,
    /// The path to which a removed file is moved.
    backup: PathBuf,
    index: usize,
}

pub enum StepOutcome {
    /// An earlier execution had made the change.
    AlreadyDone,
    /// What was done: `create`, `update` or `remove`.
    Done(&'static str),
    /// The file was edited, or the staged content is missing.
    Skipped,
}

impl<'a> Step<'a> {
    pub fn new(index: usize, entry: &'a Entry, direction: Direction) -> Self {
        let (from, to, source, backup) = match direction {
            Direction::Forward => (
                &entry.before,
                &entry.after,
                staged_path(index),
                backup_path(index),
            ),
            Direction::Back => (
                &entry.after,
                &entry.before,
                backup_path(index),
                staged_path(index),
            ),
        };
        Self {
            path: Path::new(&entry.path),
            from,
            to,
            source,
            backup,
            index,
        }
    }

    /// Makes the change, unless it was made before. Adds the folders that must be synced to `changed_folders`.
    pub fn execute(
        &self,
        device: &dyn Device,
        on_edit: OnEdit,
        changed_folders: &mut BTreeSet<PathBuf>,
    ) -> Result<StepOutcome, DiskError> {
        let root = device.root();
        let failed = DiskError::at(&root.join(self.path));
        let target = match root.target(self.path) {
            Err(DiskError::Dangling(_)) if on_edit == OnEdit::Skip => {
                return Ok(StepOutcome::Skipped);
            }
            target => target?,
        };
        let beside = target.with_file_name(format!(".cargo-operator-{}", self.index));
        if on_edit == OnEdit::Skip && root.has(&beside) {
            device.remove_file(&beside).map_err(&failed)?;
        }
        let on_disk = hash_on_disk(root, &target)?;
        let folder = target.parent().unwrap_or(&target);
        if on_disk.as_ref().is_some_and(|hash| hash == self.to) {
            // an earlier execution may have been stopped before it synced the folder
            changed_folders.insert(folder.to_owned());
            return Ok(StepOutcome::AlreadyDone);
        }
        let is_as_expected = on_disk.as_ref().is_some_and(|hash| hash == self.from);
        // the staged text is missing if somebody deleted it: then the change cannot be made
        let has_text = self.to.is_none() || root.has(&self.source);
        match on_edit {
            OnEdit::Skip if !is_as_expected || !has_text => return Ok(StepOutcome::Skipped),
            OnEdit::Fail if !is_as_expected => {
                return Err(DiskError::Changed(self.path.display().to_string()));
            }
            _ => {}
        }
        for missing in missing(root, folder)? {
            device.create_folder(&missing).map_err(&failed)?;
            changed_folders.extend(missing.parent().map(Path::to_owned));
        }
        match self.to {
            Some(_) => self.place(device, &target, &beside),
            None => match device.rename(self.path, &self.backup) {
                Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                    device.remove_file(self.path)
                }
                moved => moved,
            },
        }
        .map_err(&failed)?;
        changed_folders.insert(folder.to_owned());
        Ok(StepOutcome::Done(match (self.from, self.to) {
            (None, _) => "create",
            (_, None) => "remove",
            _ => "update",
        }))
    }

    /// Moves the staged file to its target. If the target is on another file system, where a rename fails, copies the file to `beside`
    /// first.
    fn place(&self, device: &dyn Device, target: &Path, beside: &Path) -> io::Result<()> {
        match device.rename(&self.source, target) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {}
            moved => return moved,
        }
        let copy = || {
            let (text, permissions) = device.root().copy_of(&self.source)?;
            device.write(beside, &text, Some(&permissions))?;
            let sync = device.sync(&[beside.to_owned()]);
            sync.map_err(|(_, error)| error)?;
            device.rename(beside, target)
        };
        copy().inspect_err(|_| {
            let _ = device.remove_file(beside);
        })
    }
}

/// The hash of a file; `Some(None)` if nothing is at the path, and `None` if it is not a file.
fn hash_on_disk(root: &Root, path: &Path) -> Result<Option<Option<String>>, DiskError> {
    match root.bytes(path) {
        Ok(bytes) => Ok(Some(bytes.map(|bytes| sha256(&bytes)))),
        Err(DiskError::NotFile(_)) => Ok(None),
        Err(DiskError::Read { source, .. }) if source.kind() == io::ErrorKind::NotADirectory => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The missing folders among a folder and its parents, outermost first.
pub fn missing(root: &Root, folder: &Path) -> Result<Vec<PathBuf>, DiskError> {
    let mut missing = vec![];
    for folder in folder.ancestors() {
        if root.metadata(folder)?.is_some() {
            break;
        }
        missing.insert(0, folder.to_owned());
    }
    Ok(missing)
}
