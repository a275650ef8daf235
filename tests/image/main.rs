//! Container images: what is written, and what a registry gets. Nothing is compiled here; `tests/image/run` does that.

mod command;
mod pushes;
mod registry;
