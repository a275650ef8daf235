//! Controllers of any kind: their names, what they share, and their options.

#[path = "../support/mod.rs"]
mod support;

mod deleted;
mod each;
mod named;
mod options;
