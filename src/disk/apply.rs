//! The one act that writes: a plan becomes the disk's, as a whole or not at all.

use std::path::Path;

use super::{
    carry::{carry, clear, sync},
    device::{Device, Disk},
    error::DiskError,
    journal::{Direction, STAGING},
    read::read,
    recover::{is_interrupted, turn},
    stage::stage,
    step::Edited,
};
use crate::plan::Plan;

/// Writes a plan. A step that fails takes back what was done; after a kill, `recover` ends it.
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
        .and_then(|()| carry(device, root, journal, Direction::Forward, Edited::Refused));
    let Err(error) = done else { return Ok(()) };
    let taken_back = turn(device, root)
        .and_then(|()| carry(device, root, journal, Direction::Back, Edited::Left));
    if taken_back.is_err() {
        return Err(DiskError::Unfinished(Box::new(error)));
    }
    for folder in staged.roots.iter().rev() {
        let _ = device.remove_folder(folder);
    }
    Err(error)
}
