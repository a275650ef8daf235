//! Accessor methods for fields that have a default in the schema, if a literal can express it.
//!
//! ```text
//! impl WidgetSpec {
//!     /// `replicas`, or the default of the schema: `1`.
//!     pub fn replicas(&self) -> i32 {
//!         self.replicas.unwrap_or(1)
//!     }
//! }
//! ```

use serde_json::Value;

use super::{
    graph::{Definition, Field, Shape, Struct, Type, TypeGraph, Variant},
    render::{value, write},
};
use crate::rustfmt::{impl_head, indent, literal, width};

/// The maximum width of a chain of calls on one line (rustfmt's `chain_width`).
const CHAIN_WIDTH: usize = 60;
/// The width of a line inside of a module, so that a type has the same accessors at any nesting.
const NARROW: usize = 96;
/// A default with a longer text has no accessor.
const LONG: usize = 60;
/// Names of derived and blanket traits, which an inherent method would hide, and of methods that clippy reserves for a trait.
const RESERVED: [&str; 25] = [
    "as_mut",
    "as_ref",
    "borrow",
    "borrow_mut",
    "clone",
    "clone_from",
    "clone_into",
    "cmp",
    "default",
    "deref",
    "deserialize",
    "eq",
    "fmt",
    "from",
    "hash",
    "into",
    "json_schema",
    "len",
    "ne",
    "schema_name",
    "serialize",
    "to_owned",
    "try_from",
    "try_into",
    "type_id",
];

/// The inherent impl of a struct, with a blank line before it; empty if no field has an accessor.
pub fn accessors(graph: &TypeGraph, definition: &Definition, shape: &Struct) -> String {
    let accessors: Vec<String> = shape
        .fields
        .iter()
        .filter_map(|field| accessor(graph, field))
        .collect();
    if accessors.is_empty() {
        return String::new();
    }
    let head = impl_head(None, &definition.name);
    format!("\n{head}\n{}}}\n", accessors.join("\n"))
}

/// The name of the accessor of a field, if it has one.
pub fn name(graph: &TypeGraph, field: &Field) -> Option<String> {
    let name = method(&field.ident);
    Reading::of(graph, field).map(|_| name)
}

fn method(ident: &str) -> String {
    if RESERVED.contains(&ident) {
        format!("{ident}_")
    } else {
        ident.to_owned()
    }
}

fn accessor(graph: &TypeGraph, field: &Field) -> Option<String> {
    let reading = Reading::of(graph, field)?;
    let doc = match &field.default {
        Some(default) if !default.to_string().contains('`') => {
            format!(
                "    /// Returns `{}`, or its default in the schema: `{default}`.\n",
                field.ident
            )
        }
        _ => format!(
            "    /// Returns `{}`, or its default in the schema.\n",
            field.ident
        ),
    };
    let name = method(&field.ident);
    let head = format!("    pub fn {name}(&self) -> {} {{\n", reading.type_);
    let head = match head.len() > width() + 1 {
        true => broken_head(&name, &reading.type_),
        false => head,
    };
    let (skip, body) = match chain(&field.ident, &reading.calls) {
        Some(body) => ("", body),
        None => (
            "    #[rustfmt::skip]\n",
            vertical(&field.ident, &reading.calls),
        ),
    };
    Some(doc + skip + &head + &body + "    }\n")
}

/// The signature of a method that does not fit on a line. To place the brace, rustfmt counts the indent of the method twice.
fn broken_head(name: &str, type_: &str) -> String {
    let last = format!("    ) -> {type_}");
    let brace = match last.len() + " {".len() + indent() + 4 > width() {
        true => "\n    {",
        false => " {",
    };
    format!("    pub fn {name}(\n        &self,\n{last}{brace}\n")
}

/// `self.ident.calls`, as the last expression of a method. `None` if rustfmt may give up on it.
fn chain(ident: &str, calls: &[(&str, Option<String>)]) -> Option<String> {
    let call = |(name, argument): &(&str, Option<String>)| {
        format!(".{name}({})", argument.as_deref().unwrap_or_default())
    };
    let inline: String = calls.iter().map(call).collect();
    let inline = format!("self.{ident}{inline}");
    if inline.len() <= CHAIN_WIDTH && 8 + inline.len() <= width() {
        return Some(format!("        {inline}\n"));
    }
    let vertical = vertical(ident, calls);
    if vertical.lines().all(|line| line.len() <= width()) {
        return Some(vertical);
    }
    let (last, before) = calls.split_last()?;
    let (name, Some(argument)) = last else {
        return None;
    };
    // the argument goes on a line of its own: in a block if it is the body of a closure, else with a comma
    let (open, argument, close) = match argument.strip_prefix("|| ") {
        Some(body) => (format!(".{name}(|| {{"), body.to_owned(), "})"),
        None => (format!(".{name}("), format!("{argument},"), ")"),
    };
    let head: String = before.iter().map(call).collect();
    let head = format!("self.{ident}{head}");
    let text = if head.len() + open.len() <= CHAIN_WIDTH {
        format!("        {head}{open}\n            {argument}\n        {close}\n")
    } else {
        let lines: String = before
            .iter()
            .map(|it| format!("            {}\n", call(it)))
            .collect();
        format!(
            "        self.{ident}\n{lines}            {open}\n                {argument}\n            {close}\n"
        )
    };
    text.lines()
        .all(|line| line.len() <= width())
        .then_some(text)
}

/// Puts each call on its own line.
fn vertical(ident: &str, calls: &[(&str, Option<String>)]) -> String {
    let lines: String = calls
        .iter()
        .map(|(name, argument)| {
            let argument = argument.as_deref().unwrap_or_default();
            format!("            .{name}({argument})\n")
        })
        .collect();
    format!("        self.{ident}\n{lines}")
}

/// The return type of an accessor, and the calls on its field.
struct Reading {
    type_: String,
    calls: Vec<(&'static str, Option<String>)>,
}

impl Reading {
    /// `None` if `null` differs from absent, or if no literal can express the default.
    fn of(graph: &TypeGraph, field: &Field) -> Option<Self> {
        let default = field.default.as_ref()?;
        if !field.optional || field.nullable || default.to_string().len() > LONG {
            return None;
        }
        let type_ = value(graph, field).inline();
        let new = |type_: String, calls: &[(&'static str, Option<String>)]| {
            let calls = calls.to_vec();
            // rustfmt does not format code that fits on no line
            ("    ) ->  {".len() + type_.len() <= NARROW).then_some(Self { type_, calls })
        };
        let or = |value: String| ("unwrap_or", Some(value));
        let or_else = |value: String| ("unwrap_or_else", Some(format!("|| {value}")));
        let [clone, as_ref, as_deref, zero] =
            ["clone", "as_ref", "as_deref", "unwrap_or_default"].map(|name| (name, None));
        match (&field.type_, default) {
            (Type::Bool, Value::Bool(value)) => new(type_, &[or(value.to_string())]),
            (Type::I32, Value::Number(number)) => {
                let value = i32::try_from(number.as_i64()?).ok()?;
                new(type_, &[or(value.to_string())])
            }
            (Type::I64, Value::Number(number)) => new(type_, &[or(number.as_i64()?.to_string())]),
            (Type::String, Value::String(text)) if text.is_empty() => {
                new("&str".into(), &[as_deref, zero])
            }
            (Type::String, Value::String(text)) => {
                new("&str".into(), &[as_deref, or(literal(text))])
            }
            (Type::Quantity, Value::String(text)) => {
                let value = format!("Quantity({}.into())", literal(text));
                new(type_, &[clone, or_else(value)])
            }
            (Type::IntOrString, Value::String(text)) => {
                let value = format!("IntOrString::String({}.into())", literal(text));
                new(type_, &[clone, or_else(value)])
            }
            (Type::IntOrString, Value::Number(number)) => {
                let value = i32::try_from(number.as_i64()?).ok()?;
                new(type_, &[clone, or(format!("IntOrString::Int({value})"))])
            }
            (Type::Vec(inner), Value::Array(items)) if items.is_empty() => {
                let item = write(graph, inner).inline();
                new(format!("&[{item}]"), &[as_deref, zero])
            }
            (Type::Map(_), Value::Object(entries)) if entries.is_empty() => {
                new(type_, &[clone, zero])
            }
            (Type::Named(id), default) => match (&graph.resolve(*id).shape, default) {
                (Shape::Enum(variants), Value::String(text)) => {
                    let is_named = |variant: &&Variant| variant.wire == *text;
                    let Variant { ident, .. } = variants.iter().find(is_named)?;
                    let value = format!("&{type_}::{ident}");
                    new(format!("&{type_}"), &[as_ref, or(value)])
                }
                (Shape::Struct(shape), Value::Object(entries))
                    if shape.has_default && entries.is_empty() =>
                {
                    new(type_, &[clone, zero])
                }
                _ => None,
            },
            _ => None,
        }
    }
}
