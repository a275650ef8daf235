//! What a command does, before it reads anything, about one that was interrupted.

use std::path::Path;

use super::{failure::Failure, view::View};
use crate::{
    disk::{self, Mend},
    terminal::Terminal,
};

/// Ends what a command began at `root`, and says so; an error for a command that only looks.
pub fn mend(root: &Path, mend: Mend, terminal: &Terminal) -> Result<(), Failure> {
    if let Some(mended) = disk::recover(root, mend)? {
        terminal.tell(&mended.to_string());
    }
    Ok(())
}

impl View {
    pub fn mend(&self) -> Mend {
        if self.writes() {
            Mend::Finish
        } else {
            Mend::Tell
        }
    }
}
