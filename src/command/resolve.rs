//! The options that resolve conflicts.

use crate::plan::Resolution;

/// What becomes of files that were edited.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Conflicts")]
pub struct Resolve {
    /// Gives a file of the tool, or all in a folder, to you: it stays as it is from now on
    #[arg(long, value_name = "PATH")]
    adopt: Vec<String>,
    /// Takes a file, or all in a folder, back to what is generated: an edit in it is lost, and a deleted one returns
    #[arg(long, value_name = "PATH")]
    reset: Vec<String>,
    /// Writes what can't be merged with conflict markers into the file, as git does
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
