//! How the objects of a project are shipped: each target is a function from them to files.

pub mod kustomize;
