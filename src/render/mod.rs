//! Renders a project to its tree of files. Names, types and decisions are prepared in Rust; templates only place them.

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

pub use artifacts::{RECORD, Rendered, SPECS, STYLES, UserFiles};
pub use conversion::{Converted, Kept, SpokeAnswers, Unplaced};
pub use layout::render;
pub use sample::{NoSample, objects, sample, unevaluated_rules};
