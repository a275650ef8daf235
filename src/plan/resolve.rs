//! The user's decisions about conflicts.

use super::lock::{Lock, Owner};
use super::tree::Ours;

use super::Tree;
use crate::diagnostic::Explain;

/// The decisions of one invocation, by path; a folder stands for all files in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolution {
    /// Files that the user takes over.
    pub adopt: Vec<String>,
    /// Files to replace with their generated version.
    pub reset: Vec<String>,
    /// Whether failed merges are written with conflict markers.
    pub write_conflicts: bool,
}

/// The reason why a path cannot be adopted or reset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolutionError {
    #[error("`{0}` is not a generated file of this project")]
    Unknown(String),
    #[error("`{0}` is yours, and --reset would discard its content")]
    Yours(String),
    #[error("--adopt and --reset both name `{0}`")]
    Both(String),
}

impl Explain for ResolutionError {
    fn help(&self) -> String {
        match self {
            Self::Unknown(_) => {
                "write the path as in operator.lock, relative to the project's folder; a folder stands for all its files"
            }
            Self::Both(_) => "choose one of them for each file",
            Self::Yours(_) => "move it elsewhere first; --reset then writes the generated version",
        }
        .into()
    }
}

impl Resolution {
    pub fn adopts(&self, path: &str) -> bool {
        self.adopt.iter().any(|chosen| covers(chosen, path))
    }

    pub fn resets(&self, path: &str) -> bool {
        self.reset.iter().any(|chosen| covers(chosen, path))
    }

    /// Whether the path itself is reset, not only a folder above it.
    pub fn resets_itself(&self, path: &str) -> bool {
        self.reset.iter().any(|chosen| chosen == path)
    }

    /// Rejects paths that match no file, and files that cannot be adopted or reset.
    pub fn check(&self, lock: &Lock, ours: &Ours, theirs: &Tree) -> Result<(), ResolutionError> {
        let known = || theirs.0.keys().chain(lock.files.keys());
        let chosen = self.adopt.iter().chain(&self.reset);
        for chosen in chosen {
            if !known().any(|path| covers(chosen, path)) {
                return Err(ResolutionError::Unknown(chosen.clone()));
            }
        }
        if let Some(path) = known().find(|path| self.adopts(path) && self.resets(path)) {
            return Err(ResolutionError::Both(path.clone()));
        }
        // a folder does not include files that the user owns
        let is_users = |path: &&String| {
            let owner = match (theirs.0.get(*path), lock.files.get(*path)) {
                (Some(file), _) => Some(file.owner),
                (None, entry) => entry.map(|entry| entry.owner),
            };
            owner == Some(Owner::User) && ours.get(path).is_some()
        };
        match self.reset.iter().find(is_users) {
            Some(path) => Err(ResolutionError::Yours(path.clone())),
            None => Ok(()),
        }
    }
}

/// Whether a path as the user writes it is that of the file, or of a folder above it.
fn covers(chosen: &str, path: &str) -> bool {
    let below = || path.strip_prefix(chosen)?.strip_prefix('/');
    chosen == "." || chosen == path || below().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_selects_its_files() {
        for (chosen, path, expected) in [
            ("src/api/mod.rs", "src/api/mod.rs", true),
            ("src/api", "src/api/mod.rs", true),
            (".", "Dockerfile", true),
            ("src/ap", "src/api/mod.rs", false),
            ("src/api/mod.rs", "src/api", false),
        ] {
            assert_eq!(covers(chosen, path), expected, "{chosen} {path}");
        }
    }
}
