//! Reads the CRDs that a command line names: files, folders and standard input.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use super::error::{DiskError, not_utf8};

/// A file with CRDs.
pub struct Input {
    /// The path as the user gave it; `-` for standard input.
    pub path: String,
    /// Whether the file must contain a CRD; not required for a file that was found in a folder.
    pub named: bool,
    /// The size in bytes; 0 for standard input, whose size is unknown.
    pub size: u64,
}

/// Lists the files, the YAML and JSON files in folders and below them, and `-`, in the given order; files in folders are sorted by name.
pub fn inputs(paths: &[String]) -> Result<Vec<Input>, DiskError> {
    let mut inputs = vec![];
    for path in paths {
        if path != "-" && Path::new(path).is_dir() {
            let mut files = vec![];
            folder(Path::new(path), &mut files)?;
            if files.is_empty() {
                return Err(DiskError::Empty(path.clone()));
            }
            let input = |file: PathBuf| Input {
                path: file.display().to_string(),
                named: false,
                size: size(&file),
            };
            inputs.extend(files.into_iter().map(input));
        } else if path == "-" || Path::new(path).exists() {
            inputs.push(Input {
                path: path.clone(),
                named: true,
                size: size(Path::new(path)),
            });
        } else if path.contains("://") {
            return Err(DiskError::Url(path.clone()));
        } else {
            return Err(DiskError::Missing(path.clone()));
        }
    }
    Ok(inputs)
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Reads an input.
pub fn input(input: &Input) -> Result<String, DiskError> {
    if input.path != "-" {
        return text(Path::new(&input.path));
    }
    let mut bytes = vec![];
    let read = io::stdin().lock().read_to_end(&mut bytes);
    read.map_err(|source| DiskError::Read {
        path: "standard input".into(),
        source,
    })?;
    String::from_utf8(bytes).map_err(|error| not_utf8("standard input".into(), &error))
}

fn folder(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), DiskError> {
    let failed = |source| DiskError::Read {
        path: path.display().to_string(),
        source,
    };
    let mut entries: Vec<fs::DirEntry> = fs::read_dir(path)
        .map_err(failed)?
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        // symbolic links to folders are not followed: they can lead back
        let kind = entry.file_type().map_err(failed)?;
        let path = entry.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if kind.is_dir() {
            // hidden folders such as `.operator` and `.git` contain copies; `target` contains build output
            if !name.starts_with('.') && name != "target" {
                folder(&path, files)?;
            }
        } else if matches!(extension, Some("yaml" | "yml" | "json")) && path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

fn text(path: &Path) -> Result<String, DiskError> {
    let name = || path.display().to_string();
    let bytes = fs::read(path).map_err(|source| DiskError::Read {
        path: name(),
        source,
    })?;
    String::from_utf8(bytes).map_err(|error| not_utf8(name(), &error))
}
