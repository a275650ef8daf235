//! Controllers of any kind: their names, what they share, and their options.

#[path = "../support/mod.rs"]
mod support;

mod each;
mod named;
