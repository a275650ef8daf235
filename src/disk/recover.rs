//! Completes or rolls back an interrupted command, before the next command reads the project.
//!
//! A command that writes completes the changes in the direction of the journal, and prints each file; one that only reads fails. A journal
//! names its staging folder by the time at which it was created, so one that came with a repository is refused.

use std::{fmt, path::Path};

use super::{
    device::Device,
    error::DiskError,
    execute::{Executed, clear, execute, sync},
    journal::{Direction, Journal},
    own::{STAGING, TOOL_FOLDER},
    project::is_project,
    root::Root,
    step::OnEdit,
};

/// What a command does about an interrupted one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryMode {
    /// Writes nothing: returns [`DiskError::Interrupted`].
    Refuse,
    /// Completes the changes, or the rollback that had begun.
    Finish,
    /// Rolls back an interrupted command that was creating the project; ignores any other.
    RollBack,
}

/// The result of a recovery.
#[derive(Debug, PartialEq, Eq)]
pub enum Recovery {
    Finished(Executed),
    RolledBack(Executed),
    /// The interrupted command had not changed anything; its staged files were removed.
    Cleared,
}

/// Recovers from an interrupted command at `root`. The caller holds the guard of the folder.
pub fn recover(root: &Root, mode: RecoveryMode) -> Result<Option<Recovery>, DiskError> {
    recover_on(root, mode)
}

pub fn recover_on(device: &dyn Device, mode: RecoveryMode) -> Result<Option<Recovery>, DiskError> {
    let root = device.root();
    let failed = |error| DiskError::Recovery(Box::new(error));
    let Some(pending) = Journal::find(root)? else {
        let has_leftovers = root.has(STAGING) || root.is_empty(Path::new(TOOL_FOLDER));
        if mode != RecoveryMode::Finish || !has_leftovers {
            return Ok(None);
        }
        let cleared = clear(device).map(|()| Some(Recovery::Cleared));
        return cleared.map_err(failed);
    };
    let mut direction = pending.direction;
    match mode {
        RecoveryMode::Refuse => return Err(interrupted(root, Some(&pending.journal))),
        RecoveryMode::RollBack if !pending.journal.makes_project() => return Ok(None),
        RecoveryMode::RollBack if direction == Direction::Forward => {
            reverse(device).map_err(failed)?;
            direction = Direction::Back;
        }
        RecoveryMode::RollBack | RecoveryMode::Finish => {}
    }
    let executed = execute(device, &pending.journal, direction, OnEdit::Skip).map_err(failed)?;
    Ok(Some(match direction {
        Direction::Forward => Recovery::Finished(executed),
        Direction::Back => Recovery::RolledBack(executed),
    }))
}

/// Marks the journal so that its changes are rolled back from now on.
pub fn reverse(device: &dyn Device) -> Result<(), DiskError> {
    let [from, to] = [Direction::Forward, Direction::Back].map(Direction::journal);
    let renamed = device.rename(from, to);
    renamed.map_err(DiskError::at(&device.root().join(to)))?;
    sync(device, vec![TOOL_FOLDER.into()])
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (done, Executed { files, skipped }) = match self {
            Self::Finished(executed) => ("finished", executed),
            Self::RolledBack(executed) => ("took back", executed),
            Self::Cleared => return f.write_str("removed the leftovers of an interrupted command"),
        };
        let (count, noun) = (files.len(), if files.len() == 1 { "file" } else { "files" });
        write!(f, "{done} a command that was interrupted: {count} {noun}")?;
        for (action, path) in files {
            write!(f, "\n{action} {path}")?;
        }
        for path in skipped {
            write!(
                f,
                "\nnote: {path} is not changed, because it was edited meanwhile"
            )?;
        }
        Ok(())
    }
}

/// The error of a read-only command after another command was interrupted.
pub fn interrupted(root: &Root, journal: Option<&Journal>) -> DiskError {
    let of_project = is_project(root.path()) || journal.is_some_and(Journal::makes_project);
    DiskError::Interrupted {
        path: root.path().display().to_string(),
        help: if of_project {
            "complete it with `cargo operator regenerate`"
        } else {
            "run the command again without --check, --diff and --dry-run"
        },
    }
}
