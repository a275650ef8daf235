//! Prepares a plan before any file changes: writes and syncs the new contents, the old ones for a rollback, and last the journal that lists
//! them. From then on, the changes are completed or rolled back.

use std::{
    collections::BTreeSet,
    fs::File,
    path::{Path, PathBuf},
};

use cap_std::fs::Permissions;

use super::{
    device::Device,
    error::DiskError,
    execute::clear,
    journal::{Direction, Entry, Journal, backup_path, staged_path},
    own::STAGING,
    root::Root,
    step::missing,
};
use crate::{hash::sha256, plan::Plan};

/// A plan that is staged on the disk, with its journal.
pub struct Staged {
    pub journal: Journal,
    pub _lock: File,
}

/// Stages a plan. If that fails, the disk is restored.
pub fn stage(device: &dyn Device, plan: &Plan) -> Result<Staged, DiskError> {
    prepare(device, plan).inspect_err(|_| {
        let _ = clear(device);
    })
}

/// Creates the staging folder with its files and the journal, and syncs them before the rename of the journal commits the plan.
fn prepare(device: &dyn Device, plan: &Plan) -> Result<Staged, DiskError> {
    let root = device.root();
    let folders = missing_folders(root, plan)?;
    let staging = Path::new(STAGING);
    let made = missing(root, staging)?;
    for folder in &made {
        let created = device.create_folder(folder);
        created.map_err(DiskError::at(&root.join(folder)))?;
    }
    let mut files = vec![];
    // the file of the project that each of `files` is staged for, for errors
    let mut about = vec![];
    for (index, change) in plan.changes.iter().enumerate() {
        let path = root.join(&change.path);
        let metadata = root.metadata(&root.target(Path::new(&change.path))?)?;
        let permissions = metadata.map(|metadata| metadata.permissions());
        if permissions.as_ref().is_some_and(Permissions::readonly) {
            return Err(DiskError::ReadOnly(path.display().to_string()));
        }
        let after = (staged_path(index), &change.after);
        let before = (backup_path(index), &change.before);
        for (file, text) in [after, before] {
            let Some(text) = text else { continue };
            let write = device.write(&file, text.as_bytes(), permissions.as_ref());
            write.map_err(DiskError::at(&path))?;
            files.push(file);
            about.push(path.clone());
        }
    }
    let identity = root.identity(staging);
    let identity = identity.map_err(DiskError::at(&root.join(staging)))?;
    let changes = plan.changes.iter().map(Entry::of).collect();
    let journal = Journal::new(identity, folders, changes);
    let draft = staging.join("journal");
    let write = device.write(&draft, journal.to_text().as_bytes(), None);
    write.map_err(DiskError::at(&root.join(&draft)))?;
    let folders = made.iter().filter_map(|folder| folder.parent());
    for path in [&*draft].into_iter().chain(folders).chain([staging]) {
        files.push(path.to_owned());
        about.push(root.join(path));
    }
    device
        .sync(&files)
        .map_err(|(index, source)| DiskError::at(&about[index])(source))?;
    // locked before it is renamed, so that no other command recovers from it
    let lock = root.open_locked(&draft);
    let lock = lock.map_err(DiskError::at(&root.join(&draft)))?;
    let path = Direction::Forward.journal();
    let rename = device.rename(&draft, path);
    rename.map_err(DiskError::at(&root.join(path)))?;
    Ok(Staged {
        journal,
        _lock: lock,
    })
}

/// The folders that the plan's new files need, in the form of the journal.
fn missing_folders(root: &Root, plan: &Plan) -> Result<Vec<String>, DiskError> {
    let mut folders = BTreeSet::new();
    for change in plan.changes.iter().filter(|change| change.after.is_some()) {
        let folder = Path::new(&change.path).parent();
        folders.extend(missing(root, folder.unwrap_or(Path::new("")))?);
    }
    let name = |folder: PathBuf| {
        let parts = folder.iter().map(|part| part.to_string_lossy());
        parts.collect::<Vec<_>>().join("/")
    };
    Ok(folders.into_iter().map(name).collect())
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
