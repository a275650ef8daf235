//! `operator.lock`: the hashes of the generated files, which distinguish edited files from unchanged ones.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, Serialize};

use super::marker::is_marked;
use crate::hash::sha256;

/// The format of `operator.lock` that this tool writes. It reads format 1, too, which knows neither `removed` nor the hash of a `user`
/// file.
pub const FORMAT: u32 = 2;

/// The generated files of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    pub format: u32,
    /// By path from the project's folder, with `/` everywhere.
    #[serde(default)]
    pub files: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub owner: Owner,
    /// SHA-256 of the text that was generated last, in hexadecimal. A file that the user adopted has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// A tombstone: the user deleted the file, and it stays so.
    #[serde(default, skip_serializing_if = "is_false")]
    pub removed: bool,
    /// Of a file that the user adopted, the hash of what is generated for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declined: Option<String>,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Who may write a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Owner {
    /// Derived: replaced while pristine, never when edited.
    Tool,
    /// Merged three ways with the text that was generated last.
    Merged,
    /// `Cargo.toml`: merged key by key.
    Keys,
    /// Seeded once, never touched again; or adopted.
    User,
}

/// Why `operator.lock` can't be used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LockError {
    #[error("operator.lock can't be read: {0}")]
    Invalid(String),
    #[error("operator.lock has the conflict markers of a merge")]
    Marked,
    #[error("operator.lock names `{0}`, which is not a path in the project")]
    Path(String),
    #[error("operator.lock has the format {0}, but this tool supports the format {FORMAT}")]
    Format(u32),
}

impl LockError {
    pub fn help(&self) -> &'static str {
        match self {
            Self::Invalid(_) | Self::Path(_) => {
                "restore it from version control; only this tool writes it"
            }
            Self::Marked => {
                "take either side, for example with `git checkout --ours operator.lock`, then run `cargo operator regenerate`"
            }
            Self::Format(_) => "install a newer cargo-operator",
        }
    }
}

impl Default for Lock {
    fn default() -> Self {
        Self {
            format: FORMAT,
            files: BTreeMap::new(),
        }
    }
}

impl Lock {
    pub fn read(text: &str) -> Result<Self, LockError> {
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        if is_marked(text) {
            return Err(LockError::Marked);
        }
        let invalid = |error: toml_edit::de::Error| {
            LockError::Invalid(
                error
                    .message()
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            )
        };
        let Format { format } = toml_edit::de::from_str(text).map_err(invalid)?;
        if format > FORMAT {
            return Err(LockError::Format(format));
        }
        let lock = Self {
            format: FORMAT,
            ..toml_edit::de::from_str(text).map_err(invalid)?
        };
        // Invariant: what a plan writes or removes lies in the project
        match lock.files.keys().find(|path| !is_inside(path)) {
            Some(path) => Err(LockError::Path(path.clone())),
            None => Ok(lock),
        }
    }

    /// A line for each file, so that two branches seldom meet in one line.
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "# Written by `cargo operator`: what it generated. Commit it, and do not edit it.\nformat = {}\n\n[files]\n",
            self.format
        );
        for (path, entry) in &self.files {
            let owner = match entry.owner {
                Owner::Tool => "tool",
                Owner::Merged => "merged",
                Owner::Keys => "keys",
                Owner::User => "user",
            };
            let hash = entry
                .hash
                .as_ref()
                .map(|hash| format!(", hash = \"{hash}\""))
                .unwrap_or_default();
            let declined = entry
                .declined
                .as_ref()
                .map(|hash| format!(", declined = \"{hash}\""))
                .unwrap_or_default();
            let removed = if entry.removed {
                ", removed = true"
            } else {
                ""
            };
            text += &format!(
                "{} = {{ owner = \"{owner}\"{hash}{removed}{declined} }}\n",
                toml_edit::Value::from(path.as_str())
            );
        }
        text
    }

    /// Whether `text` is what was generated last for `path`; line endings that git changed do not count.
    pub fn is_pristine(&self, path: &str, text: &str) -> bool {
        self.files
            .get(path)
            .is_some_and(|entry| entry.hash.as_deref() == Some(&hash(text)))
    }
}

impl Entry {
    /// Of a file that was generated.
    pub fn new(owner: Owner, text: &str) -> Self {
        Self {
            owner,
            hash: Some(hash(text)),
            removed: false,
            declined: None,
        }
    }

    /// Of a file that the user took over, whosever it was, with the text that is generated for it.
    pub fn adopted(theirs: Option<&str>) -> Self {
        Self {
            owner: Owner::User,
            hash: None,
            removed: false,
            declined: theirs.map(hash),
        }
    }
}

fn is_inside(path: &str) -> bool {
    let is_name = |part: &str| !matches!(part, "" | "." | "..");
    !path.contains(['\\', ':']) && path.split('/').all(is_name)
}

fn hash(text: &str) -> String {
    let text = match text.contains('\r') {
        true => Cow::Owned(text.replace("\r\n", "\n")),
        false => Cow::Borrowed(text),
    };
    sha256(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_survives_a_round_trip() {
        let mut lock = Lock::default();
        lock.files
            .insert("src/a b.rs".into(), Entry::new(Owner::Tool, "x"));
        lock.files
            .insert(".gitignore".into(), Entry::adopted(Some("y")));
        let removed = Entry {
            removed: true,
            ..Entry::new(Owner::Tool, "x")
        };
        lock.files.insert("src/gone.rs".into(), removed);
        assert_eq!(Lock::read(&lock.to_text()).unwrap(), lock);
        assert!(lock.is_pristine("src/a b.rs", "x") && !lock.is_pristine("src/a b.rs", "y"));
    }

    #[test]
    fn a_path_outside_of_the_project_is_refused() {
        for path in ["../x", "/x", "a/../../x", "a//b", "c:\\\\x"] {
            let text = format!("format = 1\n[files]\n\"{path}\" = {{ owner = \"tool\" }}\n");
            assert!(
                matches!(Lock::read(&text), Err(LockError::Path(_))),
                "{path}"
            );
        }
    }

    #[test]
    fn a_newer_format_is_refused_and_an_older_one_is_converted() {
        let error = Lock::read("format = 3\nnew = true\n").unwrap_err();
        assert!(matches!(error, LockError::Format(3)));
        let old = "format = 1\n[files]\n\"src/lib.rs\" = { owner = \"user\" }\n";
        let read = Lock::read(old).unwrap();
        assert_eq!(
            (read.format, &read.files["src/lib.rs"]),
            (FORMAT, &Entry::adopted(None))
        );
    }
}
