//! Reads and writes the files of projects, and reads standard input. It makes no decisions. In it, `root` alone opens files, and `program`
//! alone starts programs.

mod apply;
mod device;
mod error;
mod execute;
mod format;
pub mod group;
mod input;
mod install;
mod journal;
mod own;
mod program;
mod project;
mod read;
mod recover;
mod root;
mod scratch;
mod stage;
mod step;
#[cfg(test)]
mod tests;
mod workspace;

pub use apply::apply;
pub use error::DiskError;
pub use format::format_rust;
pub use group::Ended;
pub use input::{input, inputs};
pub use install::{checkout_of_program, complete_lock, install_record, relative, runtime_version};
pub use program::{is_committed, uncommitted};
pub use project::{check_vacant, find_project, is_project, name, parent, shown};
pub use read::{exists, read, read_tree, rust_files};
pub use recover::{RecoveryMode, recover};
pub use root::{Guard, Root, guard};
pub use scratch::Scratch;
pub use workspace::{
    Workspace, join_workspace, kubernetes_versions, leave_workspace, manifests_above, package_in,
};
