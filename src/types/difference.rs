//! What is between the derived node of a type and the one that the definition has: arguments of an attribute, or parts.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    attribute::{Argument, Extension, depth},
    carry::{Part, Reason},
    doc::{guarded, is_plain},
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
            match is_sayable(&value) {
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

/// Whether the text of an attribute can be the value: within the limits of `json!`, and with descriptions that stay what they are when
/// those of comments are unwrapped.
pub fn is_sayable(value: &Value) -> Result<(), Reason> {
    if !has_plain_texts(value) {
        return Err(Reason::Text);
    }
    fits_json(value).then_some(()).ok_or(Reason::Long)
}

/// Whether the macro `json!` can read a value.
pub fn fits_json(value: &Value) -> bool {
    const DEPTH: usize = 100;
    depth(value) <= DEPTH
}

/// Whether descriptions stay what they are when those of comments are unwrapped.
pub fn has_plain_texts(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.iter().all(|(keyword, value)| match value {
            Value::String(text) => keyword != "description" || is_plain(text),
            value => has_plain_texts(value),
        }),
        Value::Array(items) => items.iter().all(has_plain_texts),
        _ => true,
    }
}

/// With descriptions that are what they were when those of comments are unwrapped.
pub fn with_guarded_texts(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let entries = map.into_iter().map(|(keyword, value)| match value {
                Value::String(text) if keyword == "description" => (keyword, guarded(&text).into()),
                value => (keyword, with_guarded_texts(value)),
            });
            Value::Object(entries.collect())
        }
        Value::Array(items) => items.into_iter().map(with_guarded_texts).collect(),
        value => value,
    }
}
