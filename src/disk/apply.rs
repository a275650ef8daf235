//! Writes a plan to the disk, completely or not at all:
//!
//! 1. `stage` writes and syncs each new text, and each old one for a rollback, in `.operator/new/`, with the permissions of the file.
//!    Renaming the journal to `.operator/journal` commits the changes: from then on they are completed, even after an interruption.
//! 2. `execute` makes each change (`step`): it moves the staged file to its place. After the folders are synced, the journal is deleted.
//! 3. After an error, the journal is renamed to `.operator/journal-back`, and `execute` reverts the changes.
//!
//! After a kill, the tree is entirely old or entirely new once the next command has run. After a power failure, the same holds if the file
//! system keeps what was synced. All operations go through `device`; tests stop after each, lose power there, and make each one fail.

use super::{
    device::Device,
    error::DiskError,
    execute::{clear, execute, sync},
    journal::Direction,
    own::TOOL_FOLDER,
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

/// Makes the changes of a plan in an existing folder. Fails before the first one if a file has changed since the plan was made.
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
    let done = sync(device, vec![TOOL_FOLDER.into()])
        .and_then(|()| execute(device, journal, Direction::Forward, OnEdit::Fail));
    let Err(error) = done else { return Ok(()) };
    let rolled_back =
        reverse(device).and_then(|()| execute(device, journal, Direction::Back, OnEdit::Skip));
    match rolled_back {
        Ok(_) => Err(error),
        Err(_) => Err(DiskError::Unfinished(Box::new(error))),
    }
}
