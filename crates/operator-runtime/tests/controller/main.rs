//! Controllers of any kind: their names, what they share, and their options.

#[path = "../support/mod.rs"]
mod support;

mod declared;
mod deleted;
mod each;
mod metadata;
mod named;
mod options;
