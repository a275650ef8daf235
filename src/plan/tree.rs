//! The trees that a plan compares.

use std::collections::BTreeMap;

use super::lock::{Lock, Owner};

/// The lock's path.
pub const LOCK: &str = "operator.lock";

/// The folder of the bases of merged files.
pub const BASE: &str = ".operator/base/";

/// The newly generated files, by path from the project's folder, always with `/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree(pub BTreeMap<String, File>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub owner: Owner,
    pub text: String,
    /// Whether a file with the owner `User` is replaced as long as nobody edited it.
    pub is_skeleton: bool,
}

impl Tree {
    pub fn insert(&mut self, path: impl Into<String>, owner: Owner, text: impl Into<String>) {
        let file = File {
            owner,
            text: text.into(),
            is_skeleton: false,
        };
        self.extend(Self([(path.into(), file)].into()));
    }

    /// A file for the user to fill in, which is replaced as long as nobody edited it.
    pub fn insert_skeleton(&mut self, path: impl Into<String>, text: impl Into<String>) {
        let file = File {
            owner: Owner::User,
            text: text.into(),
            is_skeleton: true,
        };
        self.extend(Self([(path.into(), file)].into()));
    }

    /// Adds files, whose paths must be new.
    pub fn extend(&mut self, files: Self) {
        for (path, file) in files.0 {
            let before = self.0.insert(path, file);
            debug_assert!(before.is_none(), "two templates for one path");
        }
    }
}

/// The current files on disk, as far as a plan may change them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ours(pub BTreeMap<String, String>);

impl Ours {
    pub fn get(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }

    /// The last generated text of a merged file.
    pub fn base(&self, path: &str) -> Option<&str> {
        self.get(&format!("{BASE}{path}"))
    }
}

/// The paths of all files that a plan may change.
pub fn paths<'a>(tree: &'a Tree, lock: &'a Lock) -> impl Iterator<Item = String> + 'a {
    tree.0
        .keys()
        .chain(lock.files.keys())
        .flat_map(|path| [path.clone(), format!("{BASE}{path}")])
        .chain([LOCK.to_owned()])
}
