//! The options that resolve conflicts.

use crate::plan::Resolution;

/// How to handle edited files.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Conflicts")]
pub struct Resolve {
    /// Take ownership of a generated file, or of all files in a folder: the tool no longer changes them
    #[arg(long, value_name = "PATH")]
    adopt: Vec<String>,
    /// Replace a file, or all files in a folder, with the generated text: edits are lost, and deleted files are restored
    #[arg(long, value_name = "PATH")]
    reset: Vec<String>,
    /// Write conflict markers into files that cannot be merged, as git does
    #[arg(long)]
    write_conflicts: bool,
}

impl From<Resolve> for Resolution {
    fn from(resolve: Resolve) -> Self {
        let plain = |path: String| {
            let path = path.strip_prefix("./").unwrap_or(&path);
            path.trim_end_matches('/').to_owned()
        };
        Self {
            adopt: resolve.adopt.into_iter().map(plain).collect(),
            reset: resolve.reset.into_iter().map(plain).collect(),
            write_conflicts: resolve.write_conflicts,
        }
    }
}
