//! Finds the folder of a project, and locks it, so that only one command at a time works on it.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{error::DiskError, recover::is_interrupted};

/// The folder of the project that `manifest` (its Cargo.toml) names, or the nearest project in the current folder or above it.
pub fn find_project(manifest: Option<&Path>) -> Result<PathBuf, DiskError> {
    let start = match manifest {
        Some(path) if path.is_dir() => path.to_owned(),
        Some(path) => path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."))
            .to_owned(),
        None => std::env::current_dir().map_err(|source| DiskError::Read {
            path: ".".into(),
            source,
        })?,
    };
    let mut folders = start
        .ancestors()
        .take(if manifest.is_some() { 1 } else { usize::MAX });
    folders
        .find(|folder| is_project(folder) || is_interrupted(folder))
        .map(Path::to_owned)
        .ok_or_else(|| DiskError::NoProject(start.display().to_string()))
}

/// Those of `paths` that git lists as changed and not committed; empty without git.
pub fn uncommitted<'a>(root: &Path, paths: impl Iterator<Item = &'a str>) -> Vec<String> {
    let paths: Vec<&str> = paths.collect();
    if paths.is_empty() {
        return vec![];
    }
    let output = Command::new("git")
        .args(["diff", "--name-only", "--relative", "HEAD", "--"])
        .args(paths)
        .current_dir(root)
        .stderr(Stdio::null())
        .output();
    let text = output.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&text)
        .lines()
        .map(str::to_owned)
        .collect()
}

/// Whether the last commit of git has this text of a file, apart from line endings; false without git or a commit.
pub fn is_committed(root: &Path, path: &str, text: &str) -> bool {
    let output = Command::new("git")
        .args(["show", &format!("HEAD:./{path}")])
        .current_dir(root)
        .stderr(Stdio::null())
        .output();
    output.is_ok_and(|output| {
        let committed = String::from_utf8_lossy(&output.stdout);
        output.status.success() && committed.lines().eq(text.lines())
    })
}

/// Formats a path relative to the current folder.
pub fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
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
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Whether the folder contains a project.
pub fn is_project(path: &Path) -> bool {
    path.join("operator.toml").is_file()
}

/// Rejects a folder with any content other than a git repository without files.
pub fn check_vacant(path: &Path) -> Result<(), DiskError> {
    match fs::read_dir(path) {
        Ok(entries) => {
            // only a folder `.operator` remains after an interrupted command
            let ours = |name: &OsStr| name == ".git" || name == ".operator";
            let vacant = entries.flatten().all(|entry| ours(&entry.file_name()));
            if vacant {
                Ok(())
            } else {
                Err(DiskError::Taken(path.display().to_string()))
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(DiskError::Taken(path.display().to_string()))
        }
        Err(source) => Err(DiskError::Read {
            path: path.display().to_string(),
            source,
        }),
    }
}

/// A project that no other command works on until this is dropped.
#[derive(Debug)]
pub struct Guard {
    _folder: Option<fs::File>,
}

/// Waits until no other command works on the project at `root`, or on a folder that will be created in `root`.
pub fn guard(root: &Path) -> Result<Guard, DiskError> {
    // a folder can't be opened as a file everywhere; where it can't, the comparison before writing remains
    let folder = fs::File::open(root).ok();
    if let Some(folder) = &folder {
        folder.lock().map_err(|source| DiskError::Read {
            path: root.display().to_string(),
            source,
        })?;
    }
    Ok(Guard { _folder: folder })
}
