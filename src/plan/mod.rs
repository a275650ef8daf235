//! Computes the list of changes from the three trees of a project: **base** (generated last), **ours** (on disk), **theirs** (generated
//! now).
//!
//! A plan is a value. Nothing here reads or writes files; only `disk::apply` writes them.

mod cargo_toml;
mod change;
mod lock;
mod make;
mod merge;
mod resolve;
mod tree;

pub use change::{Action, Cause, Change, Conflict, Note, Plan};
pub use lock::{ControllerEntry, Entry, Lock, LockError, Owner, is_inside};
pub use make::plan;
pub use resolve::{Resolution, ResolutionError};
pub use tree::{BASE, File, LOCK, Ours, Tree, paths};
