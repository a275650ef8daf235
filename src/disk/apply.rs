//! Writes a plan to the disk, completely or not at all.

use super::{
    device::Device,
    error::DiskError,
    execute::{clear, execute, sync},
    journal::Direction,
    own::OWN,
    recover::{interrupted, reverse},
    root::Root,
    stage::stage,
    step::OnEdit,
};
use crate::plan::Plan;

/// Writes a plan. If a step fails, all of it is rolled back; after a kill, `recover` completes it.
pub fn apply(root: &Root, plan: &Plan) -> Result<(), DiskError> {
    apply_on(root, plan)
}

pub fn apply_on(device: &dyn Device, plan: &Plan) -> Result<(), DiskError> {
    if plan.changes.is_empty() {
        return Ok(());
    }
    let created = device.root().create()?;
    write(device, plan).inspect_err(|_| Root::remove_created(&created))
}

fn write(device: &dyn Device, plan: &Plan) -> Result<(), DiskError> {
    let root = device.root();
    if Direction::pending(root).is_some() {
        return Err(interrupted(root, None));
    }
    for change in &plan.changes {
        if root.read(&change.path)? != change.before {
            return Err(DiskError::Changed(change.path.clone()));
        }
    }
    clear(device)?;
    let staged = stage(device, plan)?;
    let journal = &staged.journal;
    let done = sync(device, vec![OWN.into()])
        .and_then(|()| execute(device, journal, Direction::Forward, OnEdit::Fail));
    let Err(error) = done else { return Ok(()) };
    let rolled_back =
        reverse(device).and_then(|()| execute(device, journal, Direction::Back, OnEdit::Skip));
    match rolled_back {
        Ok(_) => Err(error),
        Err(_) => Err(DiskError::Unfinished(Box::new(error))),
    }
}
