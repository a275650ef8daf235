//! Finds the folder of a project.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use super::{
    error::DiskError, journal::Direction, own::TOOL_FOLDER, program::current_dir, root::Root,
};

/// The folder of the project that `manifest` (its Cargo.toml) names, or the nearest project in the current folder or above it.
pub fn find_project(manifest: Option<&Path>) -> Result<Root, DiskError> {
    let start = match manifest {
        Some(path) if path.is_dir() => path.to_owned(),
        Some(path) => path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."))
            .to_owned(),
        None => current_dir().map_err(|source| DiskError::Read {
            path: ".".into(),
            source,
        })?,
    };
    let mut folders = start
        .ancestors()
        .take(if manifest.is_some() { 1 } else { usize::MAX });
    let is_interrupted = |folder: &Path| {
        [Direction::Forward, Direction::Back]
            .map(Direction::journal)
            .into_iter()
            .any(|path| folder.join(path).symlink_metadata().is_ok())
    };
    let folder = folders.find(|folder| is_project(folder) || is_interrupted(folder));
    Root::open(folder.ok_or_else(|| DiskError::NoProject(start.display().to_string()))?)
}

/// Formats a path relative to the current folder.
pub fn shown(path: &Path) -> String {
    let here = current_dir().unwrap_or_default();
    path.strip_prefix(here)
        .unwrap_or(path)
        .display()
        .to_string()
}

/// The folder that contains or will contain `path`.
pub fn parent(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.parent().map_or_else(|| path.clone(), Path::to_owned)
}

/// The name of a folder, including that of `.`.
pub fn name(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Whether the folder contains a project: an `operator.toml`, even an unreadable one.
pub fn is_project(path: &Path) -> bool {
    path.join("operator.toml").symlink_metadata().is_ok()
}

/// The files that a new repository may have. The names of licenses can have a suffix such as `-MIT` or `.md`.
const OF_REPOSITORIES: [&str; 7] = [
    ".git",
    ".gitattributes",
    ".github",
    ".gitignore",
    "LICENCE",
    "LICENSE",
    "README.md",
];

/// Rejects a folder with other content than that of a new repository.
pub fn check_vacant(root: &Root) -> Result<(), DiskError> {
    let is_usual = |name: &OsString| {
        let name = name.to_string_lossy();
        let is_license = |known: &&str| {
            let end = name.strip_prefix(*known);
            known.starts_with("LICEN") && end.is_some_and(|end| end.starts_with(['-', '.']))
        };
        // an interrupted command may leave the folder `.operator`
        name == TOOL_FOLDER
            || OF_REPOSITORIES.contains(&&*name)
            || OF_REPOSITORIES.iter().any(is_license)
    };
    let entries = root.entries(Path::new(""))?;
    if entries.iter().all(|(name, _)| is_usual(name)) {
        Ok(())
    } else {
        Err(DiskError::Taken(root.path().display().to_string()))
    }
}
