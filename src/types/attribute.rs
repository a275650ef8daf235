//! The arguments of a `#[schemars(...)]` attribute, and their text.
//!
//! ```text
//! #[schemars(length(min = 1), extend("x-kubernetes-list-type" = "set"))]
//! ```

use serde_json::{Number, Value};

use super::graph::Type;
use crate::rust::code::{attribute, bracketed, literal, meta};

/// An argument of the attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Uses the schema of another type.
    With(Type),
    /// Uses the schema without the `Option`, for a required field.
    Required,
    Description(String),
    Range(Bounds),
    Length(Bounds),
    Pattern(String),
    /// The arguments for the items.
    Inner(Vec<Argument>),
    /// Removes the variant for unknown values from the schema.
    Closed,
    /// Sets keywords. `null` removes one, which is unambiguous because reading a CRD drops `null`.
    Extend(Vec<(String, Extension)>),
}

/// The value of a keyword in `extend`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extension {
    Json(Value),
    /// Uses the return value of a function in the module.
    Call(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    pub min: Option<Number>,
    pub max: Option<Number>,
}

/// Formats the attribute, with a line feed after it; empty without arguments.
pub fn schemars(arguments: &[Argument], write: &impl Fn(&Type) -> String) -> String {
    attribute("schemars", &texts(arguments, write))
}

fn texts(arguments: &[Argument], write: &impl Fn(&Type) -> String) -> Vec<String> {
    arguments.iter().map(|it| it.text(write)).collect()
}

impl Argument {
    fn text(&self, write: &impl Fn(&Type) -> String) -> String {
        let leaf = |name: &str, value: &str| format!("{name} = {}", literal(value));
        match self {
            Self::With(type_) => leaf("with", &write(type_)),
            Self::Required => "required".into(),
            Self::Closed => "transform = closed".into(),
            Self::Description(text) => leaf("description", text),
            Self::Range(bounds) => meta("range", &bounds.texts()),
            Self::Length(bounds) => meta("length", &bounds.texts()),
            Self::Pattern(pattern) => meta("regex", &[leaf("pattern", pattern)]),
            Self::Inner(arguments) => meta("inner", &texts(arguments, write)),
            Self::Extend(pairs) => {
                let pair = |(keyword, value): &(String, Extension)| {
                    let value = match value {
                        Extension::Json(value) => json(value),
                        Extension::Call(function) => format!("{function}()"),
                    };
                    format!("{} = {value}", literal(keyword))
                };
                meta("extend", &pairs.iter().map(pair).collect::<Vec<_>>())
            }
        }
    }
}

impl Bounds {
    fn texts(&self) -> Vec<String> {
        let bounds = [("min", &self.min), ("max", &self.max)];
        let bound = |(name, bound): (&str, &Option<Number>)| {
            let bound = number(bound.as_ref()?);
            Some(format!("{name} = {bound}"))
        };
        bounds.into_iter().filter_map(bound).collect()
    }
}

/// Formats a value as the macro `json!` reads it.
pub fn json(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(value) => value.to_string(),
        Value::Number(value) => number(value),
        Value::String(value) => literal(value),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(json).collect();
            bracketed("[", &items, "]")
        }
        Value::Object(entries) => {
            let entry =
                |(key, value): (&String, &Value)| format!("{}: {}", literal(key), json(value));
            let entries: Vec<String> = entries.iter().map(entry).collect();
            bracketed("{", &entries, "}")
        }
    }
}

/// A literal of a type that can hold the value.
fn number(number: &Number) -> String {
    match (number.as_i64(), number.as_u64(), number.as_f64()) {
        (Some(value), _, _) if i32::try_from(value).is_ok() => value.to_string(),
        (Some(value), _, _) => format!("{value}i64"),
        (_, Some(value), _) => format!("{value}u64"),
        (_, _, Some(value)) => format!("{value:?}"),
        _ => number.to_string(),
    }
}

/// The depth of the recursion of `json!` for a value; the compiler allows 128. The macro recurses for each item, and several times for each
/// entry of an object.
pub fn depth(value: &Value) -> usize {
    let is_simple = |value: &Value| matches!(value, Value::String(_) | Value::Number(_));
    match value {
        Value::Array(items) => {
            let own: usize = items
                .iter()
                .map(|item| 2 - usize::from(is_simple(item)))
                .sum();
            own + items.iter().map(depth).max().unwrap_or(0)
        }
        Value::Object(entries) => {
            4 * entries.len() + entries.values().map(depth).max().unwrap_or(0)
        }
        _ => 1,
    }
}
