//! Projects of kinds that no corpus has: odd places of optional, nullable and empty values, and names that templates use.

mod builtin;
#[path = "../cargo/mod.rs"]
mod cargo;
#[path = "../../crates/operator-testing/src/difference.rs"]
mod difference;
mod empty;
mod names;
mod pairwise;
mod project;
mod shapes;
