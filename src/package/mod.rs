//! How the objects of an operator are shipped: each target is a function from them to files.

pub mod kustomize;
mod yaml;

pub use yaml::Error;
