//! The differences between the schema that schemars derives for a type and the schema in the CRD: as arguments of an attribute, or as parts
//! (see `supplement`).

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    attribute::{Argument, Extension, depth},
    doc::is_plain,
    supplement::{Reason, SchemaPart},
};

/// The attributes of a schema node, and the parts that remain, by pointers from the node.
#[derive(Default)]
pub struct NodeAttributes {
    pub arguments: Vec<Argument>,
    pub extensions: Vec<(String, Extension)>,
    pub parts: Vec<(String, SchemaPart)>,
}

impl NodeAttributes {
    pub fn extend(&mut self, differences: Vec<(String, Value)>) {
        for (keyword, value) in differences {
            match check_expressible(&keyword, &value) {
                Ok(()) => self.extensions.push((keyword, Extension::Json(value))),
                Err(reason) => self.part(&keyword, value, reason),
            }
        }
    }

    pub fn part(&mut self, keyword: &str, value: Value, reason: Reason) {
        self.parts
            .push((format!("/{keyword}"), SchemaPart { value, reason }));
    }

    pub fn arguments(mut self) -> Vec<Argument> {
        if !self.extensions.is_empty() {
            self.extensions.sort_by(|(a, _), (b, _)| a.cmp(b));
            self.arguments.push(Argument::Extend(self.extensions));
        }
        self.arguments
    }
}

/// The keywords to set so that the derived schema becomes the wanted one; the value `null` removes a keyword.
pub fn differences(
    derived: &Map<String, Value>,
    wanted: &Map<String, Value>,
) -> Vec<(String, Value)> {
    let is_derived = |keyword: &str, value: &Value| {
        derived.get(keyword).is_some_and(|derived| {
            derived == value || keyword == "required" && names(derived) == names(value)
        })
    };
    let set = wanted
        .iter()
        .filter(|(keyword, value)| !value.is_null() && !is_derived(keyword, value))
        .map(|(keyword, value)| (keyword.clone(), value.clone()));
    let removed = derived
        .keys()
        .filter(|keyword| *keyword != "description" && !wanted.contains_key(*keyword));
    set.chain(removed.map(|keyword| (keyword.clone(), Value::Null)))
        .collect()
}

fn names(value: &Value) -> HashSet<&str> {
    let names = value.as_array().into_iter().flatten();
    names.filter_map(Value::as_str).collect()
}

/// Adds the differences of lists and maps that are between a field and the type of their items.
pub fn add_nested_differences(
    pointer: String,
    derived: &Value,
    wanted: &Value,
    parts: &mut Vec<(String, SchemaPart)>,
) {
    let (Value::Object(derived), Value::Object(wanted)) = (derived, wanted) else {
        return;
    };
    for (keyword, value) in differences(derived, wanted) {
        let pointer = format!("{pointer}/{keyword}");
        match derived.get(&keyword) {
            Some(derived @ Value::Object(_)) if value.is_object() => {
                add_nested_differences(pointer, derived, &value, parts);
            }
            _ => parts.push((
                pointer,
                SchemaPart {
                    value,
                    reason: Reason::Between,
                },
            )),
        }
    }
}

/// Checks that an attribute can express the value of a keyword: within the limits of `json!`, and with descriptions that unwrapping does
/// not change.
pub fn check_expressible(keyword: &str, value: &Value) -> Result<(), Reason> {
    if !has_plain_texts(keyword, value) {
        return Err(Reason::Text);
    }
    fits_json(value).then_some(()).ok_or(Reason::Long)
}

/// Whether the macro `json!` can read a value.
pub fn fits_json(value: &Value) -> bool {
    const DEPTH: usize = 100;
    depth(value) <= DEPTH
}

/// Whether unwrapping changes none of the descriptions in the value of a keyword.
pub fn has_plain_texts(keyword: &str, value: &Value) -> bool {
    match (keyword, value) {
        ("description", Value::String(text)) => is_plain(text),
        _ => subschemas(keyword, value)
            .into_iter()
            .filter_map(Value::as_object)
            .flatten()
            .all(|(keyword, value)| has_plain_texts(keyword, value)),
    }
}

/// The subschemas that `schemars::transform::transform_subschemas` visits: in these, the generated code unwraps descriptions.
fn subschemas<'a>(keyword: &str, value: &'a Value) -> Vec<&'a Value> {
    match (keyword, value) {
        ("allOf" | "anyOf" | "oneOf" | "prefixItems" | "items", Value::Array(parts)) => {
            parts.iter().collect()
        }
        ("properties" | "patternProperties" | "$defs" | "definitions", Value::Object(named)) => {
            named.values().collect()
        }
        (
            "not"
            | "if"
            | "then"
            | "else"
            | "contains"
            | "items"
            | "additionalItems"
            | "additionalProperties"
            | "propertyNames",
            schema,
        ) => vec![schema],
        _ => vec![],
    }
}
