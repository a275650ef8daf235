//! Files, folders and standard input: the only module that reads or writes them. It makes no decisions.

#![allow(clippy::disallowed_methods, reason = "io has its place here")]

mod apply;
mod device;
mod error;
mod execute;
mod format;
mod input;
mod install;
mod journal;
mod project;
mod read;
mod recover;
mod scratch;
mod stage;
mod step;
#[cfg(test)]
mod tests;
mod workspace;

pub use apply::apply;
pub use error::DiskError;
pub use format::format_rust;
pub use input::{input, inputs};
pub use install::{checkout_of_program, complete_lock, install_record, relative, runtime_version};
pub use project::{
    Guard, check_vacant, find_project, guard, is_committed, is_project, name, parent, shown,
    uncommitted,
};
pub use read::{exists, read, read_tree, rust_files};
pub use recover::{RecoveryMode, recover};
pub use scratch::Scratch;
pub use workspace::{
    Workspace, join_workspace, kubernetes_versions, leave_workspace, manifests_above, package_in,
};
