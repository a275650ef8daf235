//! From the schema of a version to the Rust module of its types: lower, share, present as text.
//!
//! Lowering is total: an odd schema gives types and diagnostics. Nothing here does io.

mod allot;
mod doc;
mod facts;
mod feature;
mod graph;
mod import;
mod lower;
mod name;
mod plain;
mod render;
mod root;
mod share;

pub use facts::{Access, ConditionsFacts, KindFacts, StatusFacts};

use crate::{
    crd::{Api, Version},
    diagnostic::Diagnostic,
    project::SchemaMode,
};

/// The types of one version of a kind.
#[derive(Clone, Debug)]
pub struct Module {
    /// Rust, as rustfmt lays it out.
    pub text: String,
    pub facts: KindFacts,
    pub diagnostics: Vec<Diagnostic>,
}

/// Makes the module of a version. In `derive` mode `crd()` comes from attributes, in `embed` mode from the schema inside the module.
pub fn module(api: &Api, version: &Version, mode: SchemaMode) -> Module {
    let mut graph = lower::lower(api, version);
    share::share(&mut graph);
    let root = root::Root::of(api, version, &graph, mode);
    let diagnostics = match mode {
        SchemaMode::Derive => feature::not_carried(version, &graph),
        SchemaMode::Embed => feature::untyped(version, &graph),
    };
    Module {
        text: render::module(&graph, &root, mode),
        facts: KindFacts::of(graph, version),
        diagnostics,
    }
}

#[cfg(test)]
mod tests;
