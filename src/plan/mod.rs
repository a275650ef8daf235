//! From the three trees of a project to the list of changes: **base** (generated last), **ours** (on disk), **theirs** (generated now).
//!
//! A plan is a value. Nothing here reads or writes a disk; `disk::apply` is the only act that does.

mod change;
mod keys;
mod make;
mod merge;
mod resolve;
mod tree;

pub use change::{Act, Cause, Change, Conflict, Note, Plan};
pub use make::plan;
pub use resolve::{Resolution, ResolutionError};
pub use tree::{BASE, File, LOCK, Ours, Tree, paths};
