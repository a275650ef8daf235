//! Files, folders and standard input: the only module that reads or writes them. It decides nothing.

#![allow(clippy::disallowed_methods, reason = "io has its place here")]

mod apply;
mod error;
mod format;
mod input;
mod project;
mod read;
mod scratch;

pub use apply::apply;
pub use error::DiskError;
pub use format::format_rust;
pub use input::{input, inputs};
pub use project::{Guard, check_vacant, find_project, guard, is_project, name, parent};
pub use read::{exists, read, read_tree, rust_files};
pub use scratch::Scratch;
