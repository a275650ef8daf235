//! Generates the Rust module with the types of a version from its schema: lower, share, render.
//!
//! Lowering always succeeds: an unusual schema gives types and diagnostics. No I/O.
//!
//! In `embed` mode, the schema of `crd()` is the CRD's JSON, in a file beside the module or in the module. In `derive` mode it comes from
//! the `JsonSchema` of the types, and is the same. `lower` names types, and `share` merges them, in the same way in both modes, so a change
//! of the mode renames nothing.

mod accessor;
mod attribute;
mod dangling;
mod derived;
mod difference;
mod doc;
mod facts;
mod feature;
mod field_types;
mod function;
mod graph;
mod import;
mod kubernetes;
mod lower;
mod mode;
mod name;
mod plain;
mod render;
mod root;
mod schema;
mod schema_attributes;
mod schema_file;
mod share;
mod size;
mod supplement;
mod unique_name;
mod validation;
mod value_form;
mod value_type;
mod write;

pub use facts::{Access, KindFacts, StatusFacts, Wrapped};
pub use field_types::{Retype, retyped};
pub use mode::{SchemaMode, mode};
pub use value_type::ValueType;

use schema_file::SchemaFile;
use supplement::Supplement;

use crate::{
    crd::{Api, Version},
    diagnostic::Diagnostic,
};

/// The types of one version of a kind.
#[derive(Clone, Debug)]
pub struct Module {
    /// The Rust code.
    pub text: String,
    /// The text of the file beside the module that its code includes, if there is one.
    pub schema_file: Option<String>,
    pub facts: KindFacts,
    pub diagnostics: Vec<Diagnostic>,
    /// JSON pointers to the parts of the schema that no attribute expresses in `derive` mode.
    pub parts: Vec<String>,
}

/// Generates the module of a version, with its schema in the code. In `derive` mode, attributes define the schema of `crd()`; in `embed`
/// mode, the module contains it.
pub fn module(api: &Api, version: &Version, mode: SchemaMode) -> Module {
    generate(api, version, mode, None)
}

/// Like [`module`], but large schemas are in a file of this name beside the module.
pub fn module_with_file(api: &Api, version: &Version, mode: SchemaMode, name: &str) -> Module {
    generate(api, version, mode, Some(SchemaFile::new(name)))
}

/// Generates the module. Schemas that are large go to `file`, if it is given.
fn generate(
    api: &Api,
    version: &Version,
    mode: SchemaMode,
    mut file: Option<SchemaFile<'_>>,
) -> Module {
    let mut graph = lower::lower(api, version);
    let schema =
        serde_json::to_value(&version.schema).expect("a schema that was read can be written");
    let mut nodes = derived::nodes(&graph, &schema);
    let whole = share::share(&mut graph, &mut nodes);
    size::box_large(&mut graph);
    let supplement = match mode {
        SchemaMode::Derive => {
            schema_attributes::set_schema_attributes(&mut graph, &schema, &nodes, &whole)
        }
        SchemaMode::Embed => Supplement::default(),
    };
    let root = root::Root::of(api, version, schema, &graph, mode, &supplement);
    Module {
        text: render::module(&graph, &root, mode, &supplement, &mut file),
        schema_file: file.and_then(SchemaFile::into_text),
        diagnostics: feature::diagnostics(version, &graph, &supplement),
        facts: KindFacts::of(graph, version),
        parts: supplement.parts.into_keys().collect(),
    }
}

#[cfg(test)]
mod tests;
