//! Reads the current files of a project.

use std::{fs, io, path::Path};

use super::error::{DiskError, not_utf8};
use crate::plan::Ours;

/// The texts of those `paths` below `root` that exist.
pub fn read_tree(root: &Path, paths: impl IntoIterator<Item = String>) -> Result<Ours, DiskError> {
    let mut ours = Ours::default();
    for path in paths {
        if let Some(text) = read(root, &path)? {
            ours.0.insert(path, text);
        }
    }
    Ok(ours)
}

/// The text of a file below `root`, if it exists.
pub fn read(root: &Path, path: &str) -> Result<Option<String>, DiskError> {
    match fs::read(root.join(path)) {
        Ok(bytes) => String::from_utf8(bytes)
            .map(Some)
            .map_err(|error| not_utf8(path.into(), &error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            match root.join(path).is_symlink() {
                true => Err(DiskError::Dangling(path.into())),
                false => Ok(None),
            }
        }
        Err(source) => Err(DiskError::Read {
            path: path.into(),
            source,
        }),
    }
}

/// Whether a file exists.
pub fn exists(root: &Path, path: &str) -> bool {
    root.join(path).exists()
}

/// The Rust files of a package, by their paths below `root`. Files that are not UTF-8 are skipped.
pub fn rust_files(root: &Path) -> Result<Ours, DiskError> {
    let mut paths = vec![];
    for folder in ["src", "tests", "examples", "benches"] {
        rust_below(root, folder, &mut paths)?;
    }
    paths.push("build.rs".into());
    let mut ours = Ours::default();
    for path in paths {
        if let Ok(text) = fs::read_to_string(root.join(&path)) {
            ours.0.insert(path, text);
        }
    }
    Ok(ours)
}

fn rust_below(root: &Path, folder: &str, paths: &mut Vec<String>) -> Result<(), DiskError> {
    let failed = |source| DiskError::Read {
        path: folder.into(),
        source,
    };
    let entries = match fs::read_dir(root.join(folder)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(failed)?,
    };
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.file_type().map_err(failed)?.is_dir() {
            rust_below(root, &path, paths)?;
        } else if path.ends_with(".rs") {
            paths.push(path);
        }
    }
    Ok(())
}
