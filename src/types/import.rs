//! The imports of a module, and the private items to which attributes refer.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    graph::{Field, Type, TypeGraph},
    root::Root,
    schema,
    schema_file::SchemaFile,
    supplement::Supplement,
};
use crate::{rust::code::import, types::SchemaMode};

/// The imports that the module uses.
pub fn imports(graph: &TypeGraph, root: &Root, mode: SchemaMode) -> String {
    let maps = graph
        .types()
        .any(|type_| type_.any(&|inner| matches!(inner, Type::Map(_))))
        || graph.structs().any(|shape| shape.keeps_unknown)
        || graph.root_keeps_unknown;
    let mut text = String::new();
    if maps {
        text += "use std::collections::BTreeMap;\n\n";
    }
    text += &foreign(graph, root);
    if matches!(root, Root::Derived(_)) {
        text += "use kube::CustomResource;\n";
    }
    if mode == SchemaMode::Derive {
        text += "use schemars::JsonSchema;\n";
    }
    let serialize = !graph.definitions.is_empty() || matches!(root, Root::Plain(_));
    text + if serialize {
        "use serde::{Deserialize, Serialize};\n"
    } else {
        "use serde::Deserialize;\n"
    }
}

/// The imports from k8s-openapi, one line for each of its modules. A type is written with its path instead if a type of the kind has the
/// same name.
fn foreign(graph: &TypeGraph, root: &Root) -> String {
    let mut paths = BTreeSet::new();
    for type_ in graph.types() {
        let path = match type_.innermost() {
            Type::Quantity => "apimachinery::pkg::api::resource::Quantity",
            Type::IntOrString => "apimachinery::pkg::util::intstr::IntOrString",
            Type::Kubernetes(foreign) if !graph.has_name(foreign.name()) => foreign.path(),
            _ => continue,
        };
        paths.insert(path);
    }
    if matches!(root, Root::Plain(_)) {
        paths.insert(
            "apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition",
        );
    }
    let mut modules: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for path in paths {
        if let Some((module, name)) = path.rsplit_once("::") {
            modules.entry(module).or_default().push(name.to_owned());
        }
    }
    let line =
        |(module, names): (&str, Vec<String>)| import(&format!("k8s_openapi::{module}"), &names);
    modules.into_iter().map(line).collect()
}

/// The items that attributes and impls refer to.
pub fn support(
    graph: &TypeGraph,
    root: &Root,
    mode: SchemaMode,
    supplement: &Supplement,
    file: &mut Option<SchemaFile<'_>>,
) -> String {
    let mut text = String::new();
    if graph.fields().any(Field::keeps_null) {
        text += PRESENT;
    }
    if graph.root_keeps_unknown && matches!(root, Root::Plain(_)) {
        text += UNKNOWN_FIELDS;
    }
    match mode {
        SchemaMode::Derive => text + &schema::support(graph, supplement, file),
        SchemaMode::Embed => text,
    }
}

const PRESENT: &str = "
/// Reads a value that is present, to distinguish `null` from an absent field.
fn present<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: serde::Deserializer<'de>,
{
    T::deserialize(deserializer).map(Some)
}
";

const UNKNOWN_FIELDS: &str = "
/// Reads the remaining fields of an object, without `apiVersion` and `kind`.
fn unknown_fields<'de, D>(deserializer: D) -> Result<BTreeMap<String, serde_json::Value>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    let mut fields = BTreeMap::deserialize(deserializer)?;
    fields.retain(|name: &String, _| name != \"apiVersion\" && name != \"kind\");
    Ok(fields)
}
";
