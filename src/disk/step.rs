//! Executes one change of a journal, forward or back. A file with neither the old nor the new content was edited by somebody, and is not
//! changed.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    device::Device,
    error::DiskError,
    journal::{Direction, Entry, backup_path, staged_path},
    stage::{missing, target},
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
    path: PathBuf,
    name: &'a str,
    from: &'a Option<String>,
    to: &'a Option<String>,
    /// The file with the content to write: the staged file, or the backup in a rollback.
    source: PathBuf,
    /// Where a file that is to be removed is moved to.
    backup: PathBuf,
    index: usize,
}

pub enum StepOutcome {
    /// An earlier execution had made the change.
    AlreadyDone,
    Done,
    /// The file was edited, or the staged content is missing.
    Skipped,
}

impl<'a> Step<'a> {
    pub fn new(root: &Path, index: usize, entry: &'a Entry, direction: Direction) -> Self {
        let (from, to, source, backup) = match direction {
            Direction::Forward => (
                &entry.before,
                &entry.after,
                staged_path(root, index),
                backup_path(root, index),
            ),
            Direction::Back => (
                &entry.after,
                &entry.before,
                backup_path(root, index),
                staged_path(root, index),
            ),
        };
        Self {
            path: root.join(&entry.path),
            name: &entry.path,
            from,
            to,
            source,
            backup,
            index,
        }
    }

    pub fn execute(
        &self,
        device: &dyn Device,
        on_edit: OnEdit,
        changed_folders: &mut BTreeSet<PathBuf>,
    ) -> Result<StepOutcome, DiskError> {
        let failed = DiskError::at(&self.path);
        let target = match target(&self.path) {
            Err(_) if on_edit == OnEdit::Skip => return Ok(StepOutcome::Skipped),
            target => target?,
        };
        let beside = target.with_file_name(format!(".cargo-operator-{}", self.index));
        if on_edit == OnEdit::Skip && beside.exists() {
            device.remove_file(&beside).map_err(&failed)?;
        }
        let on_disk = hash_on_disk(&target).map_err(|source| DiskError::Read {
            path: self.path.display().to_string(),
            source,
        })?;
        let folder = target.parent().unwrap_or(&target);
        if on_disk.as_ref().is_some_and(|hash| hash == self.to) {
            // by a command that was stopped before it synced
            changed_folders.insert(folder.to_owned());
            return Ok(StepOutcome::AlreadyDone);
        }
        let is_as_expected = on_disk.as_ref().is_some_and(|hash| hash == self.from);
        // without its text, a change can't be made: somebody cleaned up
        let has_text = self.to.is_none() || fs::symlink_metadata(&self.source).is_ok();
        match on_edit {
            OnEdit::Skip if !is_as_expected || !has_text => return Ok(StepOutcome::Skipped),
            OnEdit::Fail if !is_as_expected => {
                return Err(DiskError::Changed(self.name.to_owned()));
            }
            _ => {}
        }
        for missing in missing(folder) {
            device.create_folder(&missing).map_err(&failed)?;
            changed_folders.extend(missing.parent().map(Path::to_owned));
        }
        match self.to {
            Some(_) => self.place(device, &target, &beside),
            None => match device.rename(&self.path, &self.backup) {
                Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                    device.remove_file(&self.path)
                }
                moved => moved,
            },
        }
        .map_err(&failed)?;
        changed_folders.insert(folder.to_owned());
        Ok(StepOutcome::Done)
    }

    /// Moves the staged file to its target. If a symbolic link leads to another file system, where a move is impossible, copies it
    /// to `beside` first.
    fn place(&self, device: &dyn Device, target: &Path, beside: &Path) -> io::Result<()> {
        match device.rename(&self.source, target) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {}
            moved => return moved,
        }
        let copy = || {
            device.write(beside, &fs::read(&self.source)?)?;
            device.set_permissions(beside, fs::metadata(&self.source)?.permissions())?;
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
fn hash_on_disk(path: &Path) -> io::Result<Option<Option<String>>> {
    match fs::read(path) {
        Ok(text) => Ok(Some(Some(sha256(&text)))),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound => Ok(Some(None)),
            io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory => Ok(None),
            _ => Err(error),
        },
    }
}
