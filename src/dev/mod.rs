//! `cargo operator dev`: runs the project's operator on an API server, and rebuilds it when its code changes.
//!
//! In: a [`Project`] and [`Options`]. Out: [`DevEvent`]s in the order in which they are observed, until the user ends the session. A
//! session reads the project and runs programs, but writes no file of the project. The API server is one of these programs
//! (`crates/operator-testing/src/dev/`); it observes requests and objects.

#![allow(
    clippy::disallowed_methods,
    reason = "a session lives with the clock, files and programs"
)]

mod build;
mod context;
mod error;
mod event;
mod files;
mod folder;
mod hot_loop;
mod listener;
mod process;
mod server;
mod session;

pub use context::current_context;
pub use error::DevError;
pub use event::DevEvent;
pub use session::{Options, Project, run};
