//! Completes or rolls back an interrupted command, before the next command reads the project.

use std::{fmt, path::Path};

use super::{
    device::{Device, Disk},
    error::DiskError,
    execute::{clear, execute, is_empty, sync},
    journal::{Direction, Journal, STAGING},
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

/// The result of a recovery. `skipped` lists the files that were edited since the interruption; they are not changed.
#[derive(Debug, PartialEq, Eq)]
pub enum Recovery {
    Finished {
        files: usize,
        skipped: Vec<String>,
    },
    RolledBack {
        files: usize,
        skipped: Vec<String>,
    },
    /// The interrupted command had not changed anything; its staged files were removed.
    Cleared,
}

/// Recovers from an interrupted command at `root`. The caller holds the guard of the folder.
pub fn recover(root: &Path, mode: RecoveryMode) -> Result<Option<Recovery>, DiskError> {
    recover_on(&Disk, root, mode)
}

pub fn recover_on(
    device: &dyn Device,
    root: &Path,
    mode: RecoveryMode,
) -> Result<Option<Recovery>, DiskError> {
    let failed = |error| DiskError::Recovery(Box::new(error));
    let Some(pending) = Journal::find(root)? else {
        let has_leftovers = root.join(STAGING).exists() || is_empty(&root.join(".operator"));
        if mode != RecoveryMode::Finish || !has_leftovers {
            return Ok(None);
        }
        let cleared = clear(device, root).map_err(DiskError::at(&root.join(STAGING)));
        return cleared.map(|()| Some(Recovery::Cleared)).map_err(failed);
    };
    let mut direction = pending.direction;
    match mode {
        RecoveryMode::Refuse => return Err(DiskError::interrupted(root, Some(&pending.journal))),
        RecoveryMode::RollBack if !pending.journal.makes_project() => return Ok(None),
        RecoveryMode::RollBack if direction == Direction::Forward => {
            reverse(device, root).map_err(failed)?;
            direction = Direction::Back;
        }
        RecoveryMode::RollBack | RecoveryMode::Finish => {}
    }
    let executed =
        execute(device, root, &pending.journal, direction, OnEdit::Skip).map_err(failed)?;
    let (files, skipped) = (executed.files, executed.skipped);
    Ok(Some(match direction {
        Direction::Forward => Recovery::Finished { files, skipped },
        Direction::Back => Recovery::RolledBack { files, skipped },
    }))
}

/// Whether a command was interrupted at `root`, or is running there.
pub fn is_interrupted(root: &Path) -> bool {
    let mut directions = [Direction::Forward, Direction::Back].into_iter();
    directions.any(|direction| root.join(direction.journal()).exists())
}

/// Marks the journal so that its changes are rolled back from now on.
pub fn reverse(device: &dyn Device, root: &Path) -> Result<(), DiskError> {
    let [from, to] = [Direction::Forward, Direction::Back].map(|way| root.join(way.journal()));
    device.rename(&from, &to).map_err(DiskError::at(&to))?;
    sync(device, vec![root.join(".operator")])
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (done, files, skipped) = match self {
            Self::Finished { files, skipped } => ("finished", files, skipped),
            Self::RolledBack { files, skipped } => ("took back", files, skipped),
            Self::Cleared => return f.write_str("removed the leftovers of an interrupted command"),
        };
        let noun = if *files == 1 { "file" } else { "files" };
        write!(f, "{done} a command that was interrupted: {files} {noun}")?;
        for path in skipped {
            write!(
                f,
                "\nnote: {path} is not changed, because it was edited meanwhile"
            )?;
        }
        Ok(())
    }
}
