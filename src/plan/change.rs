//! A plan: the files to write, and the conflicts that prevent it.

use serde::Serialize;

use super::lock::Owner;
use super::tree::Ours;

/// All changes that an invocation would make to a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The changes in the order of their paths, followed by `operator.lock` and the files in `.operator/`.
    pub changes: Vec<Change>,
    /// The conflicts. While there is one, nothing is written.
    pub conflicts: Vec<Conflict>,
    pub notes: Vec<Note>,
}

/// One file that would be written or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub path: String,
    pub action: Action,
    /// The current content; `None` if the file does not exist.
    pub before: Option<String>,
    /// The new content; `None` if the file is removed.
    pub after: Option<String>,
    /// The owner; `None` for the config, the CRDs, the lock and the bases.
    pub owner: Option<Owner>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    Create,
    Update,
    /// Both sides changed the file, in different places.
    Merge,
    Remove,
}

/// A file that must change, but cannot without a decision of its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    pub path: String,
    pub cause: Cause,
    /// The changes to the user's text, as a unified diff.
    pub diff: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// The user edited a file of the tool.
    Edited,
    /// The user edited a file of the tool that is no longer generated.
    Unneeded,
    /// The user and the template changed the same place of a merged file.
    Both,
    /// The file differs from its template, and the last generated version is unknown.
    Baseless,
    /// The file still has the conflict markers of an earlier merge.
    Unresolved,
}

/// A decision about a file that its owner may want to know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Note {
    /// The file is no longer generated, but stays because the user owns it.
    Orphan(String),
    /// The user deleted a file of the tool, and it is not restored.
    Removed(String),
    /// The user owns the file from now on.
    Adopted(String),
    /// The generated version of an adopted file has changed.
    GeneratedChanged(String),
    /// The file now has conflict markers for the user to resolve.
    Marked(String),
    /// The file existed before the tool generated it, and is kept.
    Present(String),
    /// Like `Present`, for a file that is not the tool's once it is written.
    Used(String),
}

impl Note {
    pub fn path(&self) -> &str {
        match self {
            Self::Orphan(path)
            | Self::Removed(path)
            | Self::Adopted(path)
            | Self::GeneratedChanged(path)
            | Self::Marked(path)
            | Self::Present(path)
            | Self::Used(path) => path,
        }
    }
}

impl Plan {
    /// Whether the project is up to date.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.conflicts.is_empty()
    }

    /// The changed files that contain edits of the user.
    pub fn edited(&self) -> impl Iterator<Item = &str> {
        let is_shared = |change: &&Change| match change.owner {
            Some(_) => change.action == Action::Merge,
            None => !change.is_bookkeeping() && change.before.is_some(),
        };
        self.changes
            .iter()
            .filter(is_shared)
            .map(|change| change.path.as_str())
    }

    /// Adds the files that both users and commands edit, the config and the CRDs, as `(path, text)`, and the paths of those to remove.
    pub fn add_sources(&mut self, ours: &Ours, sources: Vec<(String, String)>, removed: &[String]) {
        let removed = removed.iter().filter_map(|path| {
            Some(Change {
                path: path.clone(),
                action: Action::Remove,
                before: Some(ours.get(path)?.to_owned()),
                after: None,
                owner: None,
            })
        });
        self.changes.extend(removed);
        for (path, text) in sources {
            let before = ours.get(&path);
            // with the line endings and the byte order mark of the file, which the parsed config or CRD does not have
            let text = match before {
                Some(before) => with_line_endings_of(before, text),
                None => text,
            };
            if before != Some(&text) {
                self.changes.push(Change {
                    action: if before.is_some() {
                        Action::Update
                    } else {
                        Action::Create
                    },
                    before: before.map(str::to_owned),
                    after: Some(text),
                    path,
                    owner: None,
                });
            }
        }
        self.changes
            .sort_by_cached_key(|change| (change.is_bookkeeping(), change.path.clone()));
    }
}

/// Converts the text to the line endings and the byte order mark of another.
pub fn with_line_endings_of(other: &str, text: String) -> String {
    let text = if other.contains("\r\n") && !text.contains('\r') {
        text.replace('\n', "\r\n")
    } else {
        text
    };
    if other.starts_with('\u{feff}') && !text.starts_with('\u{feff}') {
        format!("\u{feff}{text}")
    } else {
        text
    }
}

impl Change {
    /// Whether users read the file; they do not read the lock and the bases.
    pub fn is_bookkeeping(&self) -> bool {
        self.path == super::LOCK || self.path.starts_with(".operator/")
    }

    /// A unified diff.
    pub fn diff(&self) -> String {
        diff(&self.path, self.before.as_deref(), self.after.as_deref())
    }
}

/// A unified diff of a file; `None` for a missing file.
pub fn diff(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    let name = |side: &str, text: Option<&str>| match text {
        Some(_) => format!("{side}/{path}"),
        None => "/dev/null".to_owned(),
    };
    let (old, new) = (name("a", before), name("b", after));
    diffy::DiffOptions::new()
        .set_original_filename(old)
        .set_modified_filename(new)
        .create_patch(before.unwrap_or_default(), after.unwrap_or_default())
        .to_string()
}
