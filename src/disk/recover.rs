//! What the next command does about one that was interrupted, before it reads anything.

use std::{fmt, path::Path};

use super::{
    carry::{carry, clear, is_empty, sync},
    device::{Device, Disk},
    error::DiskError,
    journal::{Direction, Journal, STAGING},
    step::Edited,
};

/// What a command may do about one that was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mend {
    /// It only looks: the interruption is its error.
    Tell,
    Finish,
    /// It makes a project anew: another that was making it is taken back; of any other nothing is done.
    TakeBack,
}

/// What was done about a command that was interrupted.
#[derive(Debug, PartialEq, Eq)]
pub enum Mended {
    Finished {
        files: usize,
        left: Vec<String>,
    },
    TakenBack {
        files: usize,
        left: Vec<String>,
    },
    /// It had changed nothing yet.
    Cleared,
}

/// Ends what a command began at `root`; to be called under its guard.
pub fn recover(root: &Path, mend: Mend) -> Result<Option<Mended>, DiskError> {
    recover_on(&Disk, root, mend)
}

pub fn recover_on(
    device: &dyn Device,
    root: &Path,
    mend: Mend,
) -> Result<Option<Mended>, DiskError> {
    let failed = |error| DiskError::Recovery(Box::new(error));
    let Some(found) = Journal::find(root)? else {
        let is_left = root.join(STAGING).exists() || is_empty(&root.join(".operator"));
        if mend != Mend::Finish || !is_left {
            return Ok(None);
        }
        let cleared = clear(device, root).map_err(DiskError::at(&root.join(STAGING)));
        return cleared.map(|()| Some(Mended::Cleared)).map_err(failed);
    };
    let mut direction = found.direction;
    match mend {
        Mend::Tell => return Err(DiskError::interrupted(root, Some(&found.journal))),
        Mend::TakeBack if !found.journal.makes_project() => return Ok(None),
        Mend::TakeBack if direction == Direction::Forward => {
            turn(device, root).map_err(failed)?;
            direction = Direction::Back;
        }
        Mend::TakeBack | Mend::Finish => {}
    }
    let carried = carry(device, root, &found.journal, direction, Edited::Left).map_err(failed)?;
    let (files, left) = (carried.files, carried.left);
    Ok(Some(match direction {
        Direction::Forward => Mended::Finished { files, left },
        Direction::Back => Mended::TakenBack { files, left },
    }))
}

/// Whether a command was interrupted at `root`, or is at work there.
pub fn is_interrupted(root: &Path) -> bool {
    let mut directions = [Direction::Forward, Direction::Back].into_iter();
    directions.any(|direction| root.join(direction.journal()).exists())
}

/// From here on, the changes are taken back.
pub fn turn(device: &dyn Device, root: &Path) -> Result<(), DiskError> {
    let [from, to] = [Direction::Forward, Direction::Back].map(|way| root.join(way.journal()));
    device.rename(&from, &to).map_err(DiskError::at(&to))?;
    sync(device, vec![root.join(".operator")])
}

impl fmt::Display for Mended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (done, files, left) = match self {
            Self::Finished { files, left } => ("finished", files, left),
            Self::TakenBack { files, left } => ("took back", files, left),
            Self::Cleared => return f.write_str("removed the leftovers of an interrupted command"),
        };
        let noun = if *files == 1 { "file" } else { "files" };
        write!(f, "{done} a command that was interrupted: {files} {noun}")?;
        for path in left {
            write!(
                f,
                "\nnote: {path} is not changed, because it was edited meanwhile"
            )?;
        }
        Ok(())
    }
}
