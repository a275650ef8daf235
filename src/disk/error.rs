//! The errors of disk operations, with their help.

use std::{io, path::Path, string::FromUtf8Error};

use super::own::TOOL_FOLDER;
use crate::{
    diagnostic::{Exit, Explain},
    plan::LOCK,
};

/// A failed read or write.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    #[error("{path} can't be read: {source}")]
    Read { path: String, source: io::Error },
    #[error("{path} can't be written: {source}")]
    Write { path: String, source: io::Error },
    #[error("{0} can't be written: it is read-only")]
    ReadOnly(String),
    #[error("standard output can't be written: {0}")]
    Output(io::Error),
    #[error("{0} is a broken symbolic link")]
    Dangling(String),
    #[error("{path} can't be used, because {link} is a link to {target}")]
    Link {
        path: String,
        link: String,
        target: String,
    },
    #[error("{0} is not a path in the project")]
    Outside(String),
    #[error("{0} is not a regular file")]
    NotFile(String),
    #[error("{0} is not a folder")]
    NotFolder(String),
    #[error("{0} does not exist")]
    Missing(String),
    #[error("{0} is a URL, and commands read files only")]
    Url(String),
    #[error("{0}:{1}: this is not UTF-8 text")]
    Text(String, usize),
    #[error("there is no file *.yaml, *.yml or *.json in {0}")]
    Empty(String),
    #[error("{0} changed while the command was running")]
    Changed(String),
    #[error("{0}, and the changes made before that can't be undone")]
    Unfinished(Box<DiskError>),
    #[error("{path} is half changed, because a command was interrupted")]
    Interrupted { path: String, help: &'static str },
    #[error("an interrupted command can't be completed: {0}")]
    Recovery(Box<DiskError>),
    #[error("{0} can't be read: {1}")]
    Journal(String, String),
    #[error("{0} is not of a command that was interrupted in this folder")]
    Foreign(String),
    #[error("{0} exists already and is not empty")]
    Taken(String),
    #[error("cargo can't add the project to its workspace: {0}")]
    Join(String),
    #[error("the command was interrupted")]
    Stopped,
    #[error("there is no project here: no operator.toml in {0} or above it")]
    NoProject(String),
}

impl DiskError {
    /// The error of a write to a file or folder.
    pub fn at(path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.display().to_string();
        move |source| Self::Write {
            path: path.clone(),
            source,
        }
    }

    /// The error about a link that is not followed.
    pub fn link(path: &Path, link: &Path, target: &Path) -> Self {
        let [path, link, target] = [path, link, target].map(|path| path.display().to_string());
        Self::Link { path, link, target }
    }
}

impl Explain for DiskError {
    fn help(&self) -> String {
        match self {
            Self::Read { .. } => "check the path and its permissions",
            Self::Write { .. } => {
                "nothing was changed; make the folder writable, or free some space, and try again"
            }
            Self::ReadOnly(_) => "nothing was changed; make the file writable, and try again",
            Self::Output(_) => {
                "free some space, or name a folder with --out where the command has it"
            }
            Self::Dangling(_) => "remove the link, or create its target",
            Self::Link { link, .. } if Path::new(link).starts_with(TOOL_FOLDER) || link == LOCK => {
                "restore it from version control; only this tool writes it"
            }
            Self::Link { .. } => {
                "replace the link by what it leads to, or by a relative link that stays in the project"
            }
            Self::Outside(_) => "name a file in the project that is not in a folder `.git`",
            Self::NotFile(_) => "remove it, or restore the file from version control",
            Self::NotFolder(_) => "name a folder",
            Self::Missing(_) => "check the path",
            Self::Url(_) => {
                "pipe it in, with `-` for the path: `curl -fsSL URL | cargo operator init NAME --crd -` or `curl -fsSL URL | cargo operator add-crd -`"
            }
            Self::Text(..) => "convert the file to UTF-8",
            Self::Empty(_) => "name a folder with CustomResourceDefinitions, or a file",
            Self::Changed(_) | Self::Stopped => "nothing was written; try again",
            Self::Recovery(error)
                if matches!(
                    **error,
                    Self::Link { .. } | Self::Outside(_) | Self::NotFile(_)
                ) =>
            {
                return error.help();
            }
            Self::Unfinished(_) | Self::Recovery(_) => {
                "make the file and its folder writable, or free some space; then the next command that writes, such as `cargo operator regenerate`, completes it"
            }
            Self::Interrupted { help, .. } => help,
            Self::Journal(..) => {
                "use the version of cargo-operator that was interrupted, or restore the project from version control and delete this file"
            }
            Self::Foreign(_) => {
                "it came with the files, from a repository or another disk: compare them with version control, delete `.operator/journal*` and `.operator/new`, and run `cargo operator regenerate`"
            }
            Self::Join(_) => "pass --no-workspace for a project that is no member of the workspace",
            Self::Taken(_) => {
                "choose another folder, or add to that project with `cargo operator add-crd`"
            }
            Self::NoProject(_) => {
                "create one with `cargo operator init DIR`, or name one with --manifest-path"
            }
        }
        .into()
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Interrupted { .. } => Exit::Drift,
            _ => Exit::Usage,
        }
    }
}

/// The error for bytes that are not UTF-8, with the line of the first such byte.
pub fn not_utf8(path: String, error: &FromUtf8Error) -> DiskError {
    let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
    let line = valid.split(|&byte| byte == b'\n').count();
    DiskError::Text(path, line)
}
