//! Bounds and patterns, which have their own schemars arguments.

use serde_json::{Number, Value};

use super::attribute::{Argument, Bounds};

/// Removes the bounds and the pattern of a value of this type from `keywords`, and returns the arguments that express them.
pub fn take(type_: &str, keywords: &mut Vec<(String, Value)>) -> Vec<Argument> {
    let mut arguments = vec![];
    let mut bounds = |min: &str, max: &str, argument: fn(Bounds) -> Argument| {
        let (min, max) = (number(keywords, min), number(keywords, max));
        (min.is_some() || max.is_some()).then(|| argument(Bounds { min, max }))
    };
    match type_ {
        "integer" | "number" => {
            arguments.extend(bounds("minimum", "maximum", Argument::Range));
        }
        "array" => arguments.extend(bounds("minItems", "maxItems", Argument::Length)),
        "string" => {
            arguments.extend(bounds("minLength", "maxLength", Argument::Length));
            let at = keywords
                .iter()
                .position(|(other, value)| other == "pattern" && value.is_string());
            if let Some((_, Value::String(pattern))) = at.map(|at| keywords.remove(at)) {
                arguments.push(Argument::Pattern(pattern));
            }
        }
        _ => {}
    }
    arguments
}

fn number(keywords: &mut Vec<(String, Value)>, keyword: &str) -> Option<Number> {
    let at = keywords
        .iter()
        .position(|(other, value)| other == keyword && value.is_number())?;
    match keywords.remove(at).1 {
        Value::Number(number) => Some(number),
        _ => None,
    }
}

/// The arguments of `inner`, if they express all differences of the items.
pub fn inner(keyword: &str, derived: &Value, wanted: &Value) -> Option<Vec<Argument>> {
    let (derived, wanted) = (derived.as_object()?, wanted.as_object()?);
    let is_kept = derived
        .iter()
        .all(|(keyword, value)| wanted.get(keyword) == Some(value));
    let type_ = wanted.get("type")?.as_str()?;
    let mut more = wanted
        .iter()
        .filter(|(keyword, _)| !derived.contains_key(*keyword))
        .map(|(keyword, value)| (keyword.clone(), value.clone()))
        .collect();
    let arguments = take(type_, &mut more);
    (keyword == "items" && is_kept && more.is_empty()).then_some(arguments)
}
