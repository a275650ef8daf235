//! Reads the current files of a project.

use std::path::Path;

use super::{error::DiskError, root::Root};
use crate::plan::Ours;

/// The texts of those `paths` below `root` that exist.
pub fn read_tree(root: &Root, paths: impl IntoIterator<Item = String>) -> Result<Ours, DiskError> {
    let mut ours = Ours::default();
    for path in paths {
        if let Some(text) = read(root, &path)? {
            ours.0.insert(path, text);
        }
    }
    Ok(ours)
}

/// The text of a file below `root`, if it exists.
pub fn read(root: &Root, path: &str) -> Result<Option<String>, DiskError> {
    root.read(path)
}

/// Whether a file exists.
pub fn exists(root: &Root, path: &str) -> bool {
    !matches!(root.metadata(Path::new(path)), Ok(None))
}

/// The Rust files of a package, by their paths below `root`. Files that are not UTF-8, or cannot be read, are skipped.
pub fn rust_files(root: &Root) -> Result<Ours, DiskError> {
    let mut paths = vec!["build.rs".into()];
    for folder in ["src", "tests", "examples", "benches"] {
        rust_below(root, folder, &mut paths)?;
    }
    let mut ours = Ours::default();
    for path in paths {
        if let Ok(Some(text)) = root.read(&path) {
            ours.0.insert(path, text);
        }
    }
    Ok(ours)
}

fn rust_below(root: &Root, folder: &str, paths: &mut Vec<String>) -> Result<(), DiskError> {
    for (name, kind) in root.entries(Path::new(folder))? {
        let path = format!("{folder}/{}", name.to_string_lossy());
        if kind.is_dir() {
            rust_below(root, &path, paths)?;
        } else if path.ends_with(".rs") {
            paths.push(path);
        }
    }
    Ok(())
}
