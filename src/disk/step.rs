//! One change of a journal, carried out or taken back. A file that is neither as it was nor as it is to be is somebody's edit, and stays.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    device::Device,
    error::DiskError,
    journal::{Direction, Entry, spare, staged},
    stage::{missing, target},
};
use crate::hash::sha256;

/// What becomes of a change to a file that somebody edited meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edited {
    /// It is the error of the whole.
    Refused,
    /// The file stays as it is, and the other changes go on.
    Left,
}

/// One change in one direction.
pub struct Step<'a> {
    path: PathBuf,
    name: &'a str,
    from: &'a Option<String>,
    to: &'a Option<String>,
    /// Where the text waits that the file is to have.
    source: PathBuf,
    /// Where the file goes that is to be there no more.
    away: PathBuf,
    index: usize,
}

pub enum Taken {
    /// It had been done before.
    Done,
    Now,
    Left,
}

impl<'a> Step<'a> {
    pub fn new(root: &Path, index: usize, entry: &'a Entry, direction: Direction) -> Self {
        let (from, to, source, away) = match direction {
            Direction::Forward => (
                &entry.before,
                &entry.after,
                staged(root, index),
                spare(root, index),
            ),
            Direction::Back => (
                &entry.after,
                &entry.before,
                spare(root, index),
                staged(root, index),
            ),
        };
        Self {
            path: root.join(&entry.path),
            name: &entry.path,
            from,
            to,
            source,
            away,
            index,
        }
    }

    pub fn take(
        &self,
        device: &dyn Device,
        edited: Edited,
        touched: &mut BTreeSet<PathBuf>,
    ) -> Result<Taken, DiskError> {
        let failed = DiskError::at(&self.path);
        let target = match target(&self.path) {
            Err(_) if edited == Edited::Left => return Ok(Taken::Left),
            target => target?,
        };
        let beside = target.with_file_name(format!(".cargo-operator-{}", self.index));
        if edited == Edited::Left && beside.exists() {
            device.remove_file(&beside).map_err(&failed)?;
        }
        let found = found(&target).map_err(|source| DiskError::Read {
            path: self.path.display().to_string(),
            source,
        })?;
        let folder = target.parent().unwrap_or(&target);
        if found.as_ref().is_some_and(|found| found == self.to) {
            // by a command that was stopped before it synced
            touched.insert(folder.to_owned());
            return Ok(Taken::Done);
        }
        let is_as_expected = found.as_ref().is_some_and(|found| found == self.from);
        // without its text, a change can't be made: somebody cleaned up
        let has_text = self.to.is_none() || fs::symlink_metadata(&self.source).is_ok();
        match edited {
            Edited::Left if !is_as_expected || !has_text => return Ok(Taken::Left),
            Edited::Refused if !is_as_expected => {
                return Err(DiskError::Changed(self.name.to_owned()));
            }
            _ => {}
        }
        for missing in missing(folder) {
            device.create_folder(&missing).map_err(&failed)?;
            touched.extend(missing.parent().map(Path::to_owned));
        }
        match self.to {
            Some(_) => self.place(device, &target, &beside),
            None => match device.rename(&self.path, &self.away) {
                Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                    device.remove_file(&self.path)
                }
                moved => moved,
            },
        }
        .map_err(&failed)?;
        touched.insert(folder.to_owned());
        Ok(Taken::Now)
    }

    /// Moves the text that waits to its place; by way of `beside` where a link leads to another file system, which nothing can be
    /// moved to.
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

/// The hash of a file, none of a file that is not there; nothing of what is no file.
fn found(path: &Path) -> io::Result<Option<Option<String>>> {
    match fs::read(path) {
        Ok(text) => Ok(Some(Some(sha256(&text)))),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound => Ok(Some(None)),
            io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory => Ok(None),
            _ => Err(error),
        },
    }
}
