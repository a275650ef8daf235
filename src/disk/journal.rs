//! The journal: what a command is about to change, on the disk before the first file changes, and gone when the last one has.
//! While it is there, the changes are carried out, or taken back, by the command itself or else by the next one.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::error::DiskError;

/// The format of the journal that this tool writes.
const FORMAT: u32 = 1;

/// Where new texts wait, and old ones for the way back, by their place in the journal.
pub const STAGING: &str = ".operator/new";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Journal {
    format: u32,
    /// The folders that are made for the changes, an outer one before those in it.
    pub folders: Vec<String>,
    pub changes: Vec<Entry>,
}

/// One file that changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub path: String,
    /// The hash of the old text; none where there is no file.
    pub before: Option<String>,
    /// The hash of the new text; none where the file goes.
    pub after: Option<String>,
}

/// Whether the changes are carried out or taken back. The journal's name says it, so that turning round is one rename.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Back,
}

impl Direction {
    /// The path of the journal in the project's folder.
    pub fn journal(self) -> &'static str {
        match self {
            Self::Forward => ".operator/journal",
            Self::Back => ".operator/journal-back",
        }
    }
}

/// A journal that another command left; no other command works on it until this is dropped.
pub struct Found {
    pub journal: Journal,
    pub direction: Direction,
    _lock: fs::File,
}

impl Journal {
    pub fn new(folders: Vec<String>, changes: Vec<Entry>) -> Self {
        Self {
            format: FORMAT,
            folders,
            changes,
        }
    }

    pub fn to_text(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("strings and lists are JSON");
        text + "\n"
    }

    /// Reads the journal of a project, if there is one, once the command that wrote it has ended.
    pub fn find(root: &Path) -> Result<Option<Found>, DiskError> {
        loop {
            let mut there = [Direction::Forward, Direction::Back].into_iter();
            let Some((direction, path)) = there.find_map(|direction| {
                let path = root.join(direction.journal());
                path.exists().then_some((direction, path))
            }) else {
                return Ok(None);
            };
            match locked(&path) {
                // its command was still at work, and has ended well or turned round
                Ok(_) if !path.exists() => {}
                Ok(lock) => {
                    let journal = Self::read(&path)?;
                    return Ok(Some(Found {
                        journal,
                        direction,
                        _lock: lock,
                    }));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => {
                    let path = path.display().to_string();
                    return Err(DiskError::Read { path, source });
                }
            }
        }
    }

    fn read(path: &Path) -> Result<Self, DiskError> {
        let name = || path.display().to_string();
        let text = fs::read(path).map_err(|source| DiskError::Read {
            path: name(),
            source,
        })?;
        let journal: Self = serde_json::from_slice(&text)
            .map_err(|error| DiskError::Journal(name(), error.to_string()))?;
        // Invariant: what is written or removed lies in the project
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
            None => Ok(journal),
        }
    }

    /// Whether it is of the command that makes the project.
    pub fn makes_project(&self) -> bool {
        let is_state = |change: &Entry| change.path == "operator.toml" && change.before.is_none();
        self.changes.iter().any(is_state)
    }
}

/// A journal that no other command takes for one that was left.
pub fn locked(path: &Path) -> io::Result<fs::File> {
    let file = fs::File::open(path)?;
    file.lock()?;
    Ok(file)
}

/// The new text of a change on its way.
pub fn staged(root: &Path, index: usize) -> PathBuf {
    root.join(STAGING).join(index.to_string())
}

/// The old text of a change, for the way back.
pub fn spare(root: &Path, index: usize) -> PathBuf {
    root.join(STAGING).join(format!("{index}.old"))
}

fn is_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    parts.all(|part| matches!(part, Component::Normal(_)))
}
