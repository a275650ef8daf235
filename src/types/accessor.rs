//! Accessor methods for fields that have a default in the schema, if a literal can express it. The field itself stays an `Option`, so that
//! an object is written as it was read.
//!
//! ```text
//! impl WidgetSpec {
//!     /// Returns `replicas`, or its default in the schema: `1`.
//!     pub fn replicas(&self) -> i32 {
//!         self.replicas.unwrap_or(1)
//!     }
//! }
//! ```

use serde_json::Value;

use super::{
    graph::{Definition, Field, Shape, Struct, Type, TypeGraph, Variant},
    write::{value, write},
};
use crate::{
    diagnostic::is_unprintable,
    rust::code::{chain, indented, joined, literal},
};

/// The maximum length of a default as JSON; a longer one has no accessor.
const LONG: usize = 60;
/// Methods of derived and blanket traits, which an inherent method would hide, and names that clippy reserves for methods of traits.
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
    let accessors = indented(&accessors.join("\n"));
    format!("\nimpl {} {{\n{accessors}}}\n", definition.name)
}

/// The name of the accessor of a field, if it has one.
pub fn name(graph: &TypeGraph, field: &Field) -> Option<String> {
    let name = method(&field.ident);
    Accessor::of(graph, field).map(|_| name)
}

fn method(ident: &str) -> String {
    if RESERVED.contains(&ident) {
        format!("{ident}_")
    } else {
        ident.to_owned()
    }
}

/// The code of the accessor of a field, if it has one.
fn accessor(graph: &TypeGraph, field: &Field) -> Option<String> {
    let parts = Accessor::of(graph, field)?;
    let is_code = |text: &str| !text.contains(|c| c == '`' || is_unprintable(c));
    let doc = match &field.default {
        Some(default) if is_code(&default.to_string()) => {
            format!(
                "/// Returns `{}`, or its default in the schema: `{default}`.\n",
                field.ident
            )
        }
        _ => format!(
            "/// Returns `{}`, or its default in the schema.\n",
            field.ident
        ),
    };
    let name = method(&field.ident);
    let call = |(name, argument): &(&str, Option<String>)| {
        format!(".{name}({})", argument.as_deref().unwrap_or_default())
    };
    let calls: Vec<String> = parts.calls.iter().map(call).collect();
    let body = indented(&chain(&format!("self.{}", field.ident), &calls));
    let head = joined(
        &format!("pub fn {name}(&self)"),
        &format!("-> {} {{", parts.type_),
    );
    Some(format!("{doc}{head}\n{body}\n}}\n"))
}

/// The return type of an accessor, and the calls on its field.
struct Accessor {
    type_: String,
    calls: Vec<(&'static str, Option<String>)>,
}

impl Accessor {
    /// `None` if `null` differs from absent, or if no literal can express the default.
    fn of(graph: &TypeGraph, field: &Field) -> Option<Self> {
        let default = field.default.as_ref()?;
        if !field.optional || field.nullable || default.to_string().len() > LONG {
            return None;
        }
        let type_ = value(graph, field);
        let new = |type_: String, calls: &[(&'static str, Option<String>)]| {
            let calls = calls.to_vec();
            Some(Self { type_, calls })
        };
        let or = |value: String| ("unwrap_or", Some(value));
        let or_else = |value: String| ("unwrap_or_else", Some(format!("|| {value}")));
        let [clone, as_ref, as_deref, or_default] =
            ["clone", "as_ref", "as_deref", "unwrap_or_default"].map(|name| (name, None));
        match (&field.type_, default) {
            (Type::Bool, Value::Bool(value)) => new(type_, &[or(value.to_string())]),
            (Type::I32, Value::Number(number)) => {
                let value = i32::try_from(number.as_i64()?).ok()?;
                new(type_, &[or(value.to_string())])
            }
            (Type::I64, Value::Number(number)) => new(type_, &[or(number.as_i64()?.to_string())]),
            (Type::String, Value::String(text)) if text.is_empty() => {
                new("&str".into(), &[as_deref, or_default])
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
                let item = write(graph, inner);
                new(format!("&[{item}]"), &[as_deref, or_default])
            }
            (Type::Map(_), Value::Object(entries)) if entries.is_empty() => {
                new(type_, &[clone, or_default])
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
                    new(type_, &[clone, or_default])
                }
                _ => None,
            },
            _ => None,
        }
    }
}
