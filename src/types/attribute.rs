//! The arguments of a `#[schemars(...)]` attribute, and their text.
//!
//! ```text
//! #[schemars(length(min = 1), extend("x-kubernetes-list-type" = "set"))]
//! ```

use serde_json::{Number, Value};

use super::graph::Type;
use crate::rustfmt::{Meta, deep_attribute, literal, width};

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

/// Formats the attribute at an indent, with a line feed after it; empty without arguments.
pub fn schemars(indent: usize, arguments: &[Argument], write: &impl Fn(&Type) -> String) -> String {
    let meta = |argument: &Argument| argument.meta(indent + 4, write);
    match arguments {
        [] => String::new(),
        // rustfmt does not format attributes with an `extend`
        [Argument::Extend(pairs)] => {
            let extend = extend(indent, pairs, "#[schemars()]".len());
            format!("{}#[schemars({extend})]\n", " ".repeat(indent))
        }
        _ => deep_attribute(indent, "schemars", arguments.iter().map(meta).collect()),
    }
}

impl Argument {
    fn meta(&self, indent: usize, write: &impl Fn(&Type) -> String) -> Meta {
        let leaf = |name: &str, value: &str| Meta::Leaf(format!("{name} = {}", literal(value)));
        match self {
            Self::With(type_) => leaf("with", &write(type_)),
            Self::Required => Meta::Leaf("required".into()),
            Self::Closed => Meta::Leaf("transform = closed".into()),
            Self::Description(text) => leaf("description", text),
            Self::Range(bounds) => Meta::List("range", bounds.metas()),
            Self::Length(bounds) => Meta::List("length", bounds.metas()),
            Self::Pattern(pattern) => Meta::List("regex", vec![leaf("pattern", pattern)]),
            Self::Inner(arguments) => {
                let metas = arguments
                    .iter()
                    .map(|argument| argument.meta(indent, write));
                Meta::List("inner", metas.collect())
            }
            Self::Extend(pairs) => Meta::Leaf(extend(indent, pairs, 0)),
        }
    }
}

impl Bounds {
    fn metas(&self) -> Vec<Meta> {
        let bounds = [("min", &self.min), ("max", &self.max)];
        let bound = |(name, bound): (&str, &Option<Number>)| {
            let bound = number(bound.as_ref()?);
            Some(Meta::Leaf(format!("{name} = {bound}")))
        };
        bounds.into_iter().filter_map(bound).collect()
    }
}

fn extend(indent: usize, pairs: &[(String, Extension)], before: usize) -> String {
    let most = width().saturating_sub(indent + before + "extend())]".len());
    let mut inline = String::new();
    for (index, (keyword, value)) in pairs.iter().enumerate() {
        inline += if index == 0 { "" } else { ", " };
        inline += &literal(keyword);
        inline += " = ";
        match value {
            Extension::Json(value) => put_inline(&mut inline, value, most),
            Extension::Call(function) => inline += &format!("{function}()"),
        }
    }
    if inline.len() <= most {
        return format!("extend({inline})");
    }
    let pad = " ".repeat(indent + 4);
    let lines: Vec<String> = pairs
        .iter()
        .map(|(keyword, value)| {
            let head = format!("{pad}{} = ", literal(keyword));
            let value = match value {
                Extension::Json(value) => json(value, indent + 4, head.len()),
                Extension::Call(function) => format!("{function}()"),
            };
            head + &value
        })
        .collect();
    format!("extend(\n{}\n{})", lines.join(",\n"), " ".repeat(indent))
}

/// Formats a value as the macro `json!` reads it, after `before` columns of a line at an indent.
pub fn json(value: &Value, indent: usize, before: usize) -> String {
    let most = width().saturating_sub(before);
    let mut inline = String::new();
    put_inline(&mut inline, value, most);
    if inline.len() < most {
        return inline;
    }
    let pad = " ".repeat(indent + 4);
    let end = " ".repeat(indent);
    match value {
        Value::Array(items) => {
            let lines: Vec<String> = items
                .iter()
                .map(|item| pad.clone() + &json(item, indent + 4, indent + 4))
                .collect();
            format!("[\n{}\n{end}]", lines.join(",\n"))
        }
        Value::Object(entries) => {
            let lines: Vec<String> = entries
                .iter()
                .map(|(key, value)| {
                    let head = format!("{pad}{}: ", literal(key));
                    let value = json(value, indent + 4, head.len());
                    head + &value
                })
                .collect();
            format!("{{\n{}\n{end}}}", lines.join(",\n"))
        }
        _ => inline,
    }
}

/// Appends a value to `text` on one line. Stops after `most` bytes, because a longer value is broken into lines instead.
fn put_inline(text: &mut String, value: &Value, most: usize) {
    match value {
        Value::Null => *text += "null",
        Value::Bool(value) => *text += if *value { "true" } else { "false" },
        Value::Number(value) => *text += &number(value),
        Value::String(value) => *text += &literal(value),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if text.len() > most {
                    return;
                }
                *text += if index == 0 { "" } else { ", " };
                put_inline(text, item, most);
            }
            text.push(']');
        }
        Value::Object(entries) => {
            text.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                if text.len() > most {
                    return;
                }
                *text += if index == 0 { "" } else { ", " };
                *text += &literal(key);
                *text += ": ";
                put_inline(text, value, most);
            }
            text.push('}');
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

/// The depth of the recursion of `json!` for a value; the compiler allows 128.
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
