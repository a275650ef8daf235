//! The packages of an operator's objects: each is a function from objects to files.

pub mod kustomize;
mod yaml;

pub use yaml::{Error, text};
