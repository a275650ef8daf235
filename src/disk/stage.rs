//! Prepares a plan before any file changes: writes and syncs the new contents, the old ones for a rollback, and last the journal that lists
//! them. From then on, the changes are completed or rolled back.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use super::{
    device::Device,
    error::DiskError,
    execute::clear,
    journal::{self, Direction, Entry, Journal, STAGING, backup_path, staged_path},
};
use crate::{hash::sha256, plan::Plan};

/// A plan that is staged on the disk, with its journal.
pub struct Staged {
    pub journal: Journal,
    /// The folders that were created for the project and above it, outermost first.
    pub roots: Vec<PathBuf>,
    pub _lock: fs::File,
}

/// Stages a plan. If that fails, the disk is restored.
pub fn stage(device: &dyn Device, root: &Path, plan: &Plan) -> Result<Staged, DiskError> {
    let mut made = vec![];
    prepare(device, root, plan, &mut made).inspect_err(|_| {
        let _ = clear(device, root);
        for folder in made.iter().rev().filter(|folder| folder.exists()) {
            let _ = device.remove_folder(folder);
        }
    })
}

fn prepare(
    device: &dyn Device,
    root: &Path,
    plan: &Plan,
    made: &mut Vec<PathBuf>,
) -> Result<Staged, DiskError> {
    let folders = missing_folders(root, plan);
    let staging = root.join(STAGING);
    let roots = missing(root);
    for folder in missing(&staging) {
        device
            .create_folder(&folder)
            .map_err(DiskError::at(&folder))?;
        made.push(folder);
    }
    let mut files = vec![];
    let mut about = vec![];
    for (index, change) in plan.changes.iter().enumerate() {
        let path = root.join(&change.path);
        let permissions = fs::metadata(target(&path)?)
            .ok()
            .map(|metadata| metadata.permissions());
        if permissions.as_ref().is_some_and(fs::Permissions::readonly) {
            return Err(DiskError::ReadOnly(path.display().to_string()));
        }
        let after = (staged_path(root, index), &change.after);
        let before = (backup_path(root, index), &change.before);
        for (file, text) in [after, before] {
            let Some(text) = text else { continue };
            let write = device.write(&file, text.as_bytes());
            write.map_err(DiskError::at(&path))?;
            if let Some(permissions) = permissions.clone() {
                let set = device.set_permissions(&file, permissions);
                set.map_err(DiskError::at(&path))?;
            }
            files.push(file);
            about.push(path.clone());
        }
    }
    let journal = Journal::new(folders, plan.changes.iter().map(Entry::of).collect());
    let draft = staging.join("journal");
    let write = device.write(&draft, journal.to_text().as_bytes());
    write.map_err(DiskError::at(&draft))?;
    files.push(draft.clone());
    about.push(draft.clone());
    for folder in made
        .iter()
        .filter_map(|folder| folder.parent())
        .chain([&*staging])
    {
        let folder = match folder {
            here if here.as_os_str().is_empty() => Path::new("."),
            folder => folder,
        };
        files.push(folder.to_owned());
        about.push(folder.to_owned());
    }
    device
        .sync(&files)
        .map_err(|(index, source)| DiskError::at(&about[index])(source))?;
    // locked before it is renamed, so that no other command recovers from it
    let lock = journal::open_locked(&draft).map_err(DiskError::at(&draft))?;
    let path = root.join(Direction::Forward.journal());
    let rename = device.rename(&draft, &path);
    rename.map_err(DiskError::at(&path))?;
    Ok(Staged {
        journal,
        roots,
        _lock: lock,
    })
}

/// The target of a path: if it is a symbolic link, the file that the link points to is replaced.
pub fn target(path: &Path) -> Result<PathBuf, DiskError> {
    let is_link = || fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
    match fs::canonicalize(path) {
        Ok(path) => Ok(path),
        Err(_) if is_link() => Err(DiskError::Dangling(path.display().to_string())),
        Err(_) => Ok(path.to_owned()),
    }
}

/// The missing folders among a folder and its parents, outermost first.
pub fn missing(folder: &Path) -> Vec<PathBuf> {
    let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    let mut missing: Vec<PathBuf> = folder
        .ancestors()
        .take_while(is_missing)
        .map(Path::to_owned)
        .collect();
    missing.reverse();
    missing
}

/// The folders that the plan's new files need, in the form of the journal.
fn missing_folders(root: &Path, plan: &Plan) -> Vec<String> {
    let written = plan.changes.iter().filter(|change| change.after.is_some());
    let folders = written.flat_map(|change| Path::new(&change.path).ancestors().skip(1));
    let missing: BTreeSet<&Path> = folders
        .filter(|folder| !folder.as_os_str().is_empty() && !root.join(folder).exists())
        .collect();
    let name = |folder: &Path| {
        let parts = folder.iter().map(|part| part.to_string_lossy());
        parts.collect::<Vec<_>>().join("/")
    };
    missing.into_iter().map(name).collect()
}

impl Entry {
    fn of(change: &crate::plan::Change) -> Self {
        let hash = |text: &Option<String>| text.as_ref().map(|text| sha256(text.as_bytes()));
        Self {
            path: change.path.clone(),
            before: hash(&change.before),
            after: hash(&change.after),
        }
    }
}
