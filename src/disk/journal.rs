//! The journal lists the changes of a command. It is written before the first file changes, and removed after the last one did. While it
//! exists, the command that wrote it or the next one completes the changes or rolls them back.

use std::{
    fs::File,
    io::{self, BufReader},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{error::DiskError, own::STAGING, root::Root};
use crate::plan::is_inside;

/// The format of the journal that this tool writes.
const FORMAT: u32 = 1;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Journal {
    format: u32,
    /// The identity of the staging folder. A journal that came with a repository cannot contain that of this folder.
    staging: String,
    /// The folders that are created for the changes, each before the folders in it.
    pub folders: Vec<String>,
    pub changes: Vec<Entry>,
}

/// One file that changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub path: String,
    /// The hash of the old content; `None` if there is no file.
    pub before: Option<String>,
    /// The hash of the new content; `None` if the file is removed.
    pub after: Option<String>,
}

/// Whether the changes are executed or rolled back. The journal's file name states it, so that one rename reverses the direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Back,
}

impl Direction {
    /// The path of the journal in the project's folder.
    pub fn journal(self) -> &'static Path {
        Path::new(match self {
            Self::Forward => ".operator/journal",
            Self::Back => ".operator/journal-back",
        })
    }

    /// The direction of the journal of a running or interrupted command, if there is one.
    pub fn pending(root: &Root) -> Option<Self> {
        [Self::Forward, Self::Back]
            .into_iter()
            .find(|direction| root.has(direction.journal()))
    }
}

/// The journal of an interrupted command, locked against other commands until this is dropped.
pub struct PendingJournal {
    pub journal: Journal,
    pub direction: Direction,
    _lock: File,
}

impl Journal {
    pub fn new(staging: String, folders: Vec<String>, changes: Vec<Entry>) -> Self {
        Self {
            format: FORMAT,
            staging,
            folders,
            changes,
        }
    }

    pub fn to_text(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("strings and lists are JSON");
        text + "\n"
    }

    /// Reads the journal of a project, if there is one, once the command that wrote it has ended.
    pub fn find(root: &Root) -> Result<Option<PendingJournal>, DiskError> {
        while let Some(direction) = Direction::pending(root) {
            let path = direction.journal();
            // another command removes or renames it when it has completed or reversed its changes
            match root.open_locked(path) {
                Ok(_) if !root.has(path) => {}
                Ok(lock) => {
                    return Ok(Some(PendingJournal {
                        journal: Self::read(root, path, &lock)?,
                        direction,
                        _lock: lock,
                    }));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => {
                    let path = root.join(path).display().to_string();
                    return Err(DiskError::Read { path, source });
                }
            }
        }
        Ok(None)
    }

    fn read(root: &Root, path: &Path, file: &File) -> Result<Self, DiskError> {
        let name = || root.join(path).display().to_string();
        let journal: Self = serde_json::from_reader(BufReader::new(file))
            .map_err(|error| DiskError::Journal(name(), error.to_string()))?;
        // Invariant: only paths in the project are written or removed
        let paths = journal.changes.iter().map(|change| &change.path);
        match paths.chain(&journal.folders).find(|path| !is_inside(path)) {
            Some(path) => Err(DiskError::Journal(
                name(),
                format!("`{path}` is no path in the project"),
            )),
            None if journal.format != FORMAT => Err(DiskError::Journal(
                name(),
                format!("it has the format {}", journal.format),
            )),
            None => match root.identity(Path::new(STAGING)) {
                Ok(staging) if staging == journal.staging => Ok(journal),
                _ => Err(DiskError::Foreign(name())),
            },
        }
    }

    /// Whether this is the journal of the command that creates the project.
    pub fn makes_project(&self) -> bool {
        let is_state = |change: &Entry| change.path == "operator.toml" && change.before.is_none();
        self.changes.iter().any(is_state)
    }
}

/// The staged new content of a change.
pub fn staged_path(index: usize) -> PathBuf {
    Path::new(STAGING).join(index.to_string())
}

/// The old content of a change, for a rollback.
pub fn backup_path(index: usize) -> PathBuf {
    Path::new(STAGING).join(format!("{index}.old"))
}
