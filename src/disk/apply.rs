//! Writes a plan to the disk, completely or not at all.

use std::path::Path;

use super::{
    device::{Device, Disk},
    error::DiskError,
    execute::{clear, execute, sync},
    journal::{Direction, STAGING},
    read::read,
    recover::{is_interrupted, reverse},
    stage::stage,
    step::OnEdit,
};
use crate::plan::Plan;

/// Writes a plan. If a step fails, all of it is rolled back; after a kill, `recover` completes it.
pub fn apply(root: &Path, plan: &Plan) -> Result<(), DiskError> {
    apply_on(&Disk, root, plan)
}

pub fn apply_on(device: &dyn Device, root: &Path, plan: &Plan) -> Result<(), DiskError> {
    if plan.changes.is_empty() {
        return Ok(());
    }
    if is_interrupted(root) {
        return Err(DiskError::interrupted(root, None));
    }
    for change in &plan.changes {
        if read(root, &change.path)? != change.before {
            return Err(DiskError::Changed(change.path.clone()));
        }
    }
    clear(device, root).map_err(DiskError::at(&root.join(STAGING)))?;
    let staged = stage(device, root, plan)?;
    let journal = &staged.journal;
    let done = sync(device, vec![root.join(".operator")])
        .and_then(|()| execute(device, root, journal, Direction::Forward, OnEdit::Fail));
    let Err(error) = done else { return Ok(()) };
    let rolled_back = reverse(device, root)
        .and_then(|()| execute(device, root, journal, Direction::Back, OnEdit::Skip));
    if rolled_back.is_err() {
        return Err(DiskError::Unfinished(Box::new(error)));
    }
    for folder in staged.roots.iter().rev() {
        let _ = device.remove_folder(folder);
    }
    Err(error)
}
