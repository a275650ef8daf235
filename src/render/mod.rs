//! From a project to the tree of files that it implies. Names, types and decisions are made before; templates place prepared values.

mod cargo_lock;
mod error;
mod fault_test;
mod generated_test;
mod layout;
mod registry;
mod sample;
mod vendor;

pub use error::RenderError;
pub use layout::{RECORD, Rendered, SPECS, render};
pub use sample::{objects, sample};
