//! From a project to the tree of files that it implies. Names, types and decisions are made before; templates place prepared values.

mod cargo_lock;
mod controller;
mod fault_test;
mod generated_test;
mod layout;
mod names;
mod registry;
mod sample;
mod status;
mod template;
mod vendor;

pub use controller::example_child;
pub use layout::{RECORD, Rendered, SPECS, render};
pub use sample::{objects, sample};
pub use template::{RenderError, starter};
