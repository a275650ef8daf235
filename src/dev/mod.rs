//! `cargo operator dev`: the project's operator on an API server, built anew as its code changes, and what happens meanwhile.
//!
//! In: a [`Project`] and [`Where`](Place) it is to run. Out: [`Happening`]s in the order in which they are noticed, until the user ends it.
//! A session reads the project and runs programs, but writes no file of the project.

#![allow(
    clippy::disallowed_methods,
    reason = "a session lives with the clock, files and programs"
)]

mod build;
mod changes;
mod cluster;
mod error;
mod files;
mod folder;
mod happening;
mod listener;
mod loops;
mod objects;
mod process;
mod requests;
mod session;

/// The folder of the kinds' samples, each a file of one object.
const SAMPLES: &str = "manifests/samples";

/// The folder of what samples refer to.
const FIXTURES: &str = "tests/fixtures";

pub use error::DevError;
pub use happening::{Change, Happening};
pub use session::{Place, Project, run};
