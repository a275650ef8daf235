//! Recovers from an interrupted command before another command reads the project.

use crate::{
    diagnostic::Failure,
    disk::{self, RecoveryMode, Root},
    terminal::Terminal,
};

/// Completes or rolls back the interrupted command at `root`, if any, and reports it. An error in the mode `Refuse`.
pub fn recover(root: &Root, mode: RecoveryMode, terminal: &Terminal) -> Result<(), Failure> {
    if let Some(recovery) = disk::recover(root, mode)? {
        terminal.status(&recovery.to_string());
    }
    Ok(())
}
