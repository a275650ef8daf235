//! The one act that writes: a plan becomes the disk's.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{error::DiskError, read::read};
use crate::plan::Plan;

/// Writes a plan. All new texts are on the disk before the first file is replaced; if a step fails, what was done is taken back.
pub fn apply(root: &Path, plan: &Plan) -> Result<(), DiskError> {
    for change in &plan.changes {
        if read(root, &change.path)? != change.before {
            return Err(DiskError::Changed(change.path.clone()));
        }
    }
    // what an interrupted command left
    let _ = fs::remove_dir_all(root.join(STAGING));
    let mut done = Undo::default();
    match write_all(root, plan, &mut done) {
        Ok(()) => Ok(()),
        Err(error) => {
            done.undo();
            Err(error)
        }
    }
}

#[derive(Default)]
struct Undo {
    folders: Vec<PathBuf>,
    temporary: Vec<PathBuf>,
    /// Replaced or removed files with the text they had.
    replaced: Vec<(PathBuf, Option<String>)>,
}

impl Undo {
    /// As far as the disk allows; the first error is the one that is told.
    fn undo(self) {
        for (path, before) in self.replaced.into_iter().rev() {
            let _ = match before {
                Some(text) => {
                    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
                    folder.and_then(|()| fs::write(&path, text))
                }
                None => fs::remove_file(path),
            };
        }
        for path in self.temporary {
            let _ = fs::remove_file(path);
        }
        for path in self.folders.into_iter().rev() {
            let _ = fs::remove_dir(path);
        }
    }
}

fn write_all(root: &Path, plan: &Plan, done: &mut Undo) -> Result<(), DiskError> {
    let mut renames = vec![];
    let staging = root.join(STAGING);
    for (index, change) in plan.changes.iter().enumerate() {
        let failed = |source| DiskError::Write {
            path: root.join(&change.path).display().to_string(),
            source,
        };
        let Some(text) = &change.after else { continue };
        // a symbolic link keeps being one: what it points to is replaced
        let path = root.join(&change.path);
        let is_link = fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink());
        let path = match fs::canonicalize(&path) {
            Ok(path) => path,
            Err(_) if is_link => return Err(DiskError::Dangling(path.display().to_string())),
            Err(_) => path,
        };
        let folder = path.parent().unwrap_or(root).to_owned();
        create_folders(&folder, &mut done.folders).map_err(failed)?;
        // a link may lead to another file system, which nothing can be moved to
        let temporary = if is_link {
            folder.join(format!(".cargo-operator-{}-{index}", std::process::id()))
        } else {
            create_folders(&staging, &mut done.folders).map_err(failed)?;
            staging.join(index.to_string())
        };
        done.temporary.push(temporary.clone());
        fs::write(&temporary, text).map_err(failed)?;
        if let Ok(metadata) = fs::metadata(&path) {
            if metadata.permissions().readonly() {
                return Err(failed(io::ErrorKind::PermissionDenied.into()));
            }
            fs::set_permissions(&temporary, metadata.permissions()).map_err(failed)?;
        }
        renames.push((temporary, path, change.before.clone(), order(&change.path)));
    }
    renames.sort_by_key(|rename| rename.3);
    for (temporary, path, before, _) in renames {
        let name = path.display().to_string();
        fs::rename(temporary, &path).map_err(|source| DiskError::Write { path: name, source })?;
        done.replaced.push((path, before));
    }
    for change in plan.changes.iter().filter(|change| change.after.is_none()) {
        let path = root.join(&change.path);
        fs::remove_file(&path).map_err(|source| DiskError::Write {
            path: path.display().to_string(),
            source,
        })?;
        done.replaced.push((path, change.before.clone()));
        remove_empty(root, &change.path);
    }
    remove_empty(root, &format!("{STAGING}/x"));
    Ok(())
}

/// Where new texts wait until all of them are on the disk.
const STAGING: &str = ".operator/new";

/// What the rest follows from goes first and what tells of it last, so that `regenerate` ends what was interrupted.
fn order(path: &str) -> u8 {
    match path {
        "operator.toml" => 0,
        "operator.lock" => 2,
        _ if path.starts_with("crds/") => 0,
        _ => 1,
    }
}

/// Removes the folders above a removed file that nothing is left in.
fn remove_empty(root: &Path, path: &str) {
    let parents = Path::new(path)
        .ancestors()
        .skip(1)
        .filter(|parent| *parent != "");
    for folder in parents {
        if fs::remove_dir(root.join(folder)).is_err() {
            break;
        }
    }
}

fn create_folders(path: &Path, created: &mut Vec<PathBuf>) -> io::Result<()> {
    let missing: Vec<&Path> = path
        .ancestors()
        .take_while(|folder| !folder.exists())
        .collect();
    for folder in missing.into_iter().rev().filter(|folder| *folder != "") {
        fs::create_dir(folder)?;
        created.push(folder.to_owned());
    }
    Ok(())
}
