//! Reads the CRDs that a command line names: files, folders and standard input.

use std::path::{Path, PathBuf};

use super::{
    error::{DiskError, not_utf8},
    root::{Root, read_named, read_standard_input},
};

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
            folder(&Root::open(Path::new(path))?, Path::new(""), &mut files)?;
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
    path.metadata().map_or(0, |metadata| metadata.len())
}

/// Reads an input.
pub fn input(input: &Input) -> Result<String, DiskError> {
    let (name, bytes) = match &*input.path {
        "-" => ("standard input", read_standard_input()?),
        path => (path, read_named(Path::new(path))?),
    };
    String::from_utf8(bytes).map_err(|error| not_utf8(name.into(), &error))
}

/// The files in a folder and below it. A link that leads out of the folder is an error: somebody else may have made it.
fn folder(root: &Root, below: &Path, files: &mut Vec<PathBuf>) -> Result<(), DiskError> {
    let mut entries = root.entries(below)?;
    entries.sort_by(|(one, _), (other, _)| one.cmp(other));
    for (name, kind) in entries {
        // symbolic links to folders are not followed: they can lead back
        let path = below.join(&name);
        let extension = path.extension().and_then(|extension| extension.to_str());
        let name = name.to_string_lossy();
        if kind.is_dir() {
            // hidden folders such as `.operator` and `.git` contain copies; `target` contains build output
            if !name.starts_with('.') && name != "target" {
                folder(root, &path, files)?;
            }
        } else if matches!(extension, Some("yaml" | "yml" | "json"))
            && root.metadata(&path)?.is_some_and(|it| it.is_file())
        {
            files.push(root.join(path));
        }
    }
    Ok(())
}
