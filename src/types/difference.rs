//! What is between the derived node of a type and the one that the definition has: arguments of an attribute, or parts.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    attribute::{Argument, Extension, depth},
    carry::{Part, Reason},
    doc::is_plain,
};

/// Arguments of an attribute, and the parts that remain, by pointers from their node.
#[derive(Default)]
pub struct Found {
    pub arguments: Vec<Argument>,
    pub extensions: Vec<(String, Extension)>,
    pub parts: Vec<(String, Part)>,
}

impl Found {
    pub fn extend(&mut self, differences: Vec<(String, Value)>) {
        for (keyword, value) in differences {
            match is_sayable(&keyword, &value) {
                Ok(()) => self.extensions.push((keyword, Extension::Json(value))),
                Err(reason) => self.part(&keyword, value, reason),
            }
        }
    }

    pub fn part(&mut self, keyword: &str, value: Value, reason: Reason) {
        self.parts
            .push((format!("/{keyword}"), Part { value, reason }));
    }

    pub fn arguments(mut self) -> Vec<Argument> {
        if !self.extensions.is_empty() {
            self.extensions.sort_by(|(a, _), (b, _)| a.cmp(b));
            self.arguments.push(Argument::Extend(self.extensions));
        }
        self.arguments
    }
}

/// Keywords to set, and with `null` those to take away.
pub fn differences(
    derived: &Map<String, Value>,
    wanted: &Map<String, Value>,
) -> Vec<(String, Value)> {
    let is_said = |keyword: &str, value: &Value| {
        derived.get(keyword).is_some_and(|derived| {
            derived == value || keyword == "required" && names(derived) == names(value)
        })
    };
    let set = wanted
        .iter()
        .filter(|(keyword, value)| !value.is_null() && !is_said(keyword, value));
    let set = set.map(|(keyword, value)| (keyword.clone(), value.clone()));
    let gone = derived
        .keys()
        .filter(|keyword| *keyword != "description" && !wanted.contains_key(*keyword));
    set.chain(gone.map(|keyword| (keyword.clone(), Value::Null)))
        .collect()
}

fn names(value: &Value) -> HashSet<&str> {
    let names = value.as_array().into_iter().flatten();
    names.filter_map(Value::as_str).collect()
}

/// The keywords of lists and maps between a field and a definition inside them.
pub fn between(pointer: String, derived: &Value, wanted: &Value, parts: &mut Vec<(String, Part)>) {
    let (Value::Object(derived), Value::Object(wanted)) = (derived, wanted) else {
        return;
    };
    for (keyword, value) in differences(derived, wanted) {
        let pointer = format!("{pointer}/{keyword}");
        match derived.get(&keyword) {
            Some(derived @ Value::Object(_)) if value.is_object() => {
                between(pointer, derived, &value, parts);
            }
            _ => parts.push((
                pointer,
                Part {
                    value,
                    reason: Reason::Between,
                },
            )),
        }
    }
}

/// Whether the text of an attribute can be the value of a keyword: within the limits of `json!`, and with descriptions that stay what they
/// are when those of comments are unwrapped.
pub fn is_sayable(keyword: &str, value: &Value) -> Result<(), Reason> {
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

/// Whether descriptions in the value of a keyword stay what they are when those of comments are unwrapped.
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

/// Those to which `schemars::transform::transform_subschemas` goes, and with it the function that unwraps.
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
