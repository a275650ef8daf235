//! Renders a project to its tree of files. Names, types and decisions are prepared in Rust; templates only place them.
//!
//! rustfmt, clippy and rustc leave the tool's modules alone, by attributes at their top (`src/rust/code.rs`). These would also apply to the
//! modules that a file declares, so the files that declare modules of the user (`mod.rs` of `src/api`, `src/controllers`, `src/webhooks`
//! and
//! `tests/all/support`) have them on single items, and are otherwise written as rustfmt formats them. Files that become the user's are
//! formatted by the user's rustfmt.

mod artifacts;
mod cargo_lock;
mod conversion;
mod fault_test;
mod generated_test;
mod kind_files;
mod layout;
mod packages;
mod registry;
mod sample;
mod webhook_files;
mod workflow;

pub use artifacts::{CRDS, RECORD, Rendered, SCAFFOLD_RECORDS, UserFiles, snapshot_path};
pub use conversion::{Converted, FieldWithoutTarget, KeptField, SpokeAnswers, versions_path};
pub use layout::render;
pub use sample::{NoSample, objects, sample, unevaluated_rules, violations};
