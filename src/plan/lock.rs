//! `operator.lock`: the hashes of the generated files, which distinguish edited files from unchanged ones, and the controllers, whose
//! finalizers remain on objects.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
};

use serde::{Deserialize, Serialize};

use crate::{config::is_marked, diagnostic::Explain, hash::sha256};

/// The format of `operator.lock` that this tool reads and writes.
pub const FORMAT: u32 = 1;

/// The generated files of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    pub format: u32,
    /// The files, by path from the project's folder, always with `/`.
    #[serde(default)]
    pub files: BTreeMap<String, Entry>,
    /// The controllers, by the modules of their files.
    #[serde(default)]
    pub controllers: BTreeMap<String, ControllerEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub owner: Owner,
    /// The SHA-256 of the last generated text, in hexadecimal; `None` for an adopted file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Whether the file is not there because the user deleted it; a note reports that once.
    #[serde(default, skip_serializing_if = "is_false")]
    pub removed: bool,
    /// Whether the file is no longer generated, and is there because the user edited it; a note reports that once.
    #[serde(default, skip_serializing_if = "is_false")]
    pub orphaned: bool,
    /// For an adopted file, the hash of its generated version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declined: Option<String>,
}

/// A controller, as it was when the lock was last changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerEntry {
    /// The group and the kind of its objects.
    pub group: String,
    pub kind: String,
    /// The default finalizer, whose name follows from those of the operator and the controller.
    pub conventional: String,
    /// The finalizer of its code, if it has one; `FINALIZER` if the value of the constant is not a literal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finalizer: Option<String>,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Who may write a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Owner {
    /// Replaced if nobody edited the file.
    Tool,
    /// Merged three-way; the base is the last generated text.
    Merged,
    /// `Cargo.toml`: merged key by key.
    Keys,
    /// Written once and never changed again, or adopted. A skeleton is replaced until it is edited.
    User,
}

/// The reason why `operator.lock` cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LockError {
    #[error("operator.lock can't be read: {0}")]
    Invalid(String),
    #[error("operator.lock has the conflict markers of a merge")]
    Marked,
    #[error("operator.lock names `{0}`, which is not a path in the project")]
    Path(String),
    #[error("operator.lock names `{0}` and `{1}`, which are one file on many systems")]
    Case(String, String),
    #[error("operator.lock has the format {0}, but this tool supports the format {FORMAT}")]
    Format(u32),
}

impl Explain for LockError {
    fn help(&self) -> String {
        match self {
            Self::Format(format) if *format > FORMAT => "install a newer cargo-operator",
            Self::Invalid(_) | Self::Path(_) | Self::Case(..) | Self::Format(_) => {
                "restore it from version control; only this tool writes it"
            }
            Self::Marked => {
                "take either side, for example with `git checkout --ours operator.lock`, then run `cargo operator regenerate`"
            }
        }
        .into()
    }
}

impl Default for Lock {
    fn default() -> Self {
        Self {
            format: FORMAT,
            files: BTreeMap::new(),
            controllers: BTreeMap::new(),
        }
    }
}

impl Lock {
    /// Parses `operator.lock`, and checks its format and its paths.
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
        if format != FORMAT {
            return Err(LockError::Format(format));
        }
        let lock: Self = toml_edit::de::from_str(text).map_err(invalid)?;
        // Invariant: what a plan writes or removes lies in the project
        let mut paths = lock.files.keys().chain(lock.controllers.keys());
        if let Some(path) = paths.find(|path| !is_inside(path)) {
            return Err(LockError::Path(path.clone()));
        }
        let mut names = HashMap::new();
        for path in lock.files.keys() {
            if let Some(other) = names.insert(path.to_lowercase(), path) {
                return Err(LockError::Case(other.clone(), path.clone()));
            }
        }
        Ok(lock)
    }

    /// Formats one line for each file and controller, so that merges of two branches seldom conflict.
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "# The files that `cargo operator` generated. Commit this file, and do not edit it.\nformat = {}\n",
            self.format
        );
        if !self.controllers.is_empty() {
            text += "\n[controllers]\n";
        }
        for (module, entry) in &self.controllers {
            text += &line(module, entry);
        }
        text += "\n[files]\n";
        for (path, entry) in &self.files {
            text += &line(path, entry);
        }
        text
    }

    /// Whether `text` is the last generated text of `path`, apart from line endings, which git may have changed.
    pub fn is_pristine(&self, path: &str, text: &str) -> bool {
        self.files
            .get(path)
            .is_some_and(|entry| entry.hash.as_deref() == Some(&hash(text)))
    }
}

impl Entry {
    /// The entry of a generated file.
    pub fn new(owner: Owner, text: &str) -> Self {
        Self {
            owner,
            hash: Some(hash(text)),
            removed: false,
            orphaned: false,
            declined: None,
        }
    }

    /// The same entry with `removed`.
    pub fn removed(self) -> Self {
        Self {
            removed: true,
            ..self
        }
    }

    /// The same entry with `orphaned`.
    pub fn orphaned(self) -> Self {
        Self {
            removed: false,
            orphaned: true,
            ..self
        }
    }

    /// Whether the user took over a file that the tool generates.
    pub fn is_adopted(&self) -> bool {
        self.declined.is_some()
    }

    /// The entry of an adopted file, with its generated text.
    pub fn adopted(theirs: Option<&str>) -> Self {
        Self {
            owner: Owner::User,
            hash: None,
            removed: false,
            orphaned: false,
            declined: theirs.map(hash),
        }
    }
}

/// Whether a path with `/` is one that this tool may write: in the project, and not in the folder of git.
pub fn is_inside(path: &str) -> bool {
    let is_name =
        |part: &str| !matches!(part, "" | "." | "..") && !part.eq_ignore_ascii_case(".git");
    let is_odd = |character: char| matches!(character, '\\' | ':') || character.is_control();
    !path.contains(is_odd) && path.split('/').all(is_name)
}

fn line(key: &str, entry: &impl Serialize) -> String {
    let value = entry.serialize(toml_edit::ser::ValueSerializer::new());
    let value = value.expect("an entry has only strings and booleans");
    format!("{} = {value}\n", toml_edit::Value::from(key))
}

fn hash(text: &str) -> String {
    let text = if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n"))
    } else {
        Cow::Borrowed(text)
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
        let removed = Entry::new(Owner::Tool, "x").removed();
        lock.files.insert("src/gone.rs".into(), removed);
        let orphaned = Entry::new(Owner::Merged, "x").orphaned();
        lock.files.insert("Chart.yaml".into(), orphaned);
        for (module, finalizer) in [("pod", Some("p/\"pod".to_owned())), ("node", None)] {
            let controller = ControllerEntry {
                group: String::new(),
                kind: "Pod".into(),
                conventional: "p/pod".into(),
                finalizer,
            };
            lock.controllers.insert(module.into(), controller);
        }
        assert_eq!(Lock::read(&lock.to_text()).unwrap(), lock);
        assert!(lock.is_pristine("src/a b.rs", "x") && !lock.is_pristine("src/a b.rs", "y"));
    }

    #[test]
    fn a_path_outside_of_the_project_is_refused() {
        for path in [
            "../x",
            "/x",
            "a/../../x",
            "a//b",
            "c:\\\\x",
            ".Git/HEAD",
            "a\\u001b",
        ] {
            for entry in [
                "files]\nPATH = { owner = \"tool\" }",
                "controllers]\nPATH = { group = \"\", kind = \"Pod\", conventional = \"p/pod\" }",
            ] {
                let entry = entry.replace("PATH", &format!("\"{path}\""));
                let text = format!("format = 1\n[{entry}\n");
                let read = Lock::read(&text);
                assert!(matches!(read, Err(LockError::Path(_))), "{text}");
            }
        }
    }

    #[test]
    fn two_paths_that_differ_in_case_are_refused() {
        let mut lock = Lock::default();
        for path in ["src/a.rs", "SRC/A.rs"] {
            lock.files.insert(path.into(), Entry::new(Owner::Tool, "x"));
        }
        let error = Lock::read(&lock.to_text()).unwrap_err().to_string();
        assert!(error.contains("`SRC/A.rs` and `src/a.rs`"), "{error}");
    }

    #[test]
    fn another_format_is_refused_with_a_cure() {
        for (format, cure) in [(0, "restore it"), (2, "install a newer")] {
            let error = Lock::read(&format!("format = {format}\nnew = true\n")).unwrap_err();
            assert!(matches!(error, LockError::Format(it) if it == format));
            assert!(error.help().contains(cure), "{format}");
        }
    }
}
