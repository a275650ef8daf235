//! The library behind `cargo operator`: from a CustomResourceDefinition to the files of a kube-rs operator.
//!
//! The flow is `crd` (read) to `types` (lower, present) to `render` to `plan` to `disk`. Everything is a value until `disk`
//! applies a plan; only `disk` and `terminal` do io, and `dev`, which runs what was made. See `docs/ARCHITECTURE.md`.

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod command;
pub mod crd;
mod dev;
pub mod diagnostic;
mod disk;
pub mod evolution;
mod hash;
pub mod manifests;
pub mod package;
pub mod plan;
pub mod project;
pub mod render;
pub mod rust;
mod rustfmt;
pub mod scaffold;
mod template;
mod terminal;
pub mod types;
pub mod uses;
