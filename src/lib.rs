//! The library of `cargo operator`: generates the files of a kube-rs operator from CustomResourceDefinitions.
//!
//! The stages are `crd` (read), `types` (lower, render), `render`, `plan` and `disk`. They pass values; no file changes before `disk`
//! applies the plan. I/O is only in `disk` and `terminal`, and in `dev`, `image` and `uninstall`, which run, build and remove the generated
//! operator. See `docs/ARCHITECTURE.md`.

#![cfg_attr(
    not(test),
    warn(
        clippy::disallowed_macros,
        clippy::disallowed_methods,
        clippy::iter_over_hash_type,
        clippy::too_many_lines,
        clippy::unwrap_used
    )
)]

mod advice;
pub mod cli;
pub mod config;
pub mod conversion;
pub mod crd;
mod dev;
pub mod diagnostic;
mod disk;
pub mod evolution;
mod hash;
pub mod image;
mod manifests;
pub mod operator;
mod package;
pub mod plan;
pub mod render;
pub mod rust;
pub mod scaffold;
mod template;
mod terminal;
pub mod types;
mod uninstall;
mod user_code;
mod workspace;
