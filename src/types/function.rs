//! The functions of a module that attributes call, for the schemas of foreign types.

use std::collections::HashMap;

use serde_json::Value;

use super::{
    attribute::{Argument, Extension},
    difference::has_plain_texts,
    graph::{Field, Shape, Type, TypeGraph},
    unique_name,
};

/// The names of functions that generated modules define for other purposes.
const OWN: [&str; 7] = [
    "as_defined",
    "closed",
    "in_file",
    "present",
    "put_parts",
    "unknown_fields",
    "unwrapped",
];

/// The names of the functions for all fields with types of k8s-openapi, to which we cannot add attributes, by the paths of the fields.
pub fn names(graph: &TypeGraph) -> HashMap<Vec<String>, String> {
    let structs = graph.definitions.iter().filter_map(|definition| {
        let fields = match &definition.shape {
            Shape::Struct(shape) => shape.fields.as_slice(),
            _ => return None,
        };
        Some((definition.path.as_slice(), fields))
    });
    let root: (&[String], _) = (&[], graph.root.as_slice());
    let mut paths = vec![];
    for (owner, fields) in structs.chain([root]) {
        let is_foreign = |field: &&Field| matches!(field.type_.innermost(), Type::Kubernetes(_));
        let path = |field: &Field| [owner, std::slice::from_ref(&field.wire)].concat();
        paths.extend(fields.iter().filter(is_foreign).map(path));
    }
    let slices: Vec<&[String]> = paths.iter().map(Vec::as_slice).collect();
    let names = unique_name::functions(&graph.root_name, &slices, &OWN.map(str::to_owned).into());
    paths.into_iter().zip(names).collect()
}

/// A keyword that marks a node whose descriptions are already as in the CRD. `crd()` removes it.
const VERBATIM: &str = "x-verbatim";

/// Marks the nodes with a function whose descriptions would be changed by unwrapping. Returns whether there are any.
pub fn mark<'a>(
    arguments: impl Iterator<Item = &'a mut Argument>,
    functions: &[(String, Value)],
) -> bool {
    let values: HashMap<&str, &Value> = functions
        .iter()
        .map(|(name, value)| (name.as_str(), value))
        .collect();
    let would_change = |(keyword, value): &(String, Extension)| match value {
        Extension::Call(name) => !has_plain_texts(keyword, values[name.as_str()]),
        Extension::Json(_) => false,
    };
    let mut has_marked = false;
    for argument in arguments {
        if let Argument::Extend(pairs) = argument
            && pairs.iter().any(would_change)
        {
            pairs.push((VERBATIM.into(), Extension::Json(true.into())));
            has_marked = true;
        }
    }
    has_marked
}
