//! What a module has around its types: the imports it needs, and the private items that attributes refer to.

use super::{
    carry::Carried,
    graph::{Field, Type, TypeGraph},
    root::Root,
    schema,
};
use crate::project::SchemaMode;

/// Only what the module uses.
pub fn imports(graph: &TypeGraph, root: &Root, mode: SchemaMode) -> String {
    let uses = |wanted: &Type| {
        graph
            .types()
            .any(|type_| type_.any(&|found| found == wanted))
    };
    let maps = graph
        .types()
        .any(|type_| type_.any(&|found| matches!(found, Type::Map(_))))
        || graph.structs().any(|found| found.keeps_unknown)
        || graph.root_keeps_unknown;
    let mut text = String::new();
    if maps {
        text += "use std::collections::BTreeMap;\n\n";
    }
    if matches!(root, Root::Plain(_)) {
        text += "use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;\n";
    }
    let mut api = vec![];
    if uses(&Type::Quantity) {
        api.push("api::resource::Quantity");
    }
    if uses(&Type::Condition) {
        api.push("apis::meta::v1::Condition");
    }
    if uses(&Type::IntOrString) {
        api.push("util::intstr::IntOrString");
    }
    text += &match api.as_slice() {
        [] => String::new(),
        [one] => format!("use k8s_openapi::apimachinery::pkg::{one};\n"),
        many => {
            let names = many.join(", ");
            let line = format!("use k8s_openapi::apimachinery::pkg::{{{names}}};\n");
            if line.len() <= 101 {
                line
            } else {
                line.replace(&names, &format!("\n    {names},\n"))
            }
        }
    };
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

/// What attributes and impls refer to, where any does.
pub fn support(graph: &TypeGraph, root: &Root, carried: &Carried) -> String {
    let mut text = String::new();
    if graph.fields().any(Field::keeps_null) {
        text += PRESENT;
    }
    if graph.root_keeps_unknown && matches!(root, Root::Plain(_)) {
        text += UNKNOWN_FIELDS;
    }
    text + &schema::support(graph, carried)
}

const PRESENT: &str = "
/// Reads what is there, so that `null` and an absent field stay two things.
fn present<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: serde::Deserializer<'de>,
{
    T::deserialize(deserializer).map(Some)
}
";

const UNKNOWN_FIELDS: &str = "
/// Reads what is left of an object; its type knows `apiVersion` and `kind`.
fn unknown_fields<'de, D>(deserializer: D) -> Result<BTreeMap<String, serde_json::Value>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    let mut fields = BTreeMap::deserialize(deserializer)?;
    fields.retain(|name: &String, _| name != \"apiVersion\" && name != \"kind\");
    Ok(fields)
}
";
