//! Converts values for rules: typed by the schema, without unspecified fields, and with names that are CEL identifiers.
//!
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules>

use super::evaluate::converted;
use crate::{Schema, SchemaOrBool};
use kube_cel::cel::Value as Cel;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// The value of `self`; `is_root` adds the fields that all resources have.
pub(super) fn typed(schema: &Schema, value: &Value, is_root: bool) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(value) => Cel::Bool(*value),
        Value::String(text) => string(schema, text),
        Value::Number(number) => match (schema.type_.as_deref(), number.as_i64()) {
            (Some("number"), _) => Cel::Float(number.as_f64().unwrap_or(f64::NAN)),
            (_, Some(int)) => Cel::Int(int),
            // A whole number that was written with a fraction.
            (Some("integer"), None) => Cel::Int(number.as_f64().unwrap_or_default() as i64),
            (_, None) => Cel::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::Array(list) => {
            let none = Schema::default();
            let items = schema.items.as_deref().unwrap_or(&none);
            list.iter()
                .map(|item| typed(items, item, false))
                .collect::<Vec<_>>()
                .into()
        }
        Value::Object(map) => object(schema, map, is_root || schema.embedded_resource),
    }
}

/// Converts a string; some formats have their own type in CEL.
fn string(schema: &Schema, text: &str) -> Cel {
    let conversion = match (schema.type_.as_deref(), schema.format.as_deref()) {
        (Some("string"), Some("date-time")) => "timestamp(x)",
        (Some("string"), Some("date")) => "timestamp(x + 'T00:00:00Z')",
        (Some("string"), Some("duration")) => "duration(x)",
        (Some("string"), Some("byte")) => "base64.decode(x)",
        _ => return text.to_owned().into(),
    };
    let text: Cel = text.to_owned().into();
    converted(conversion, text.clone()).unwrap_or(text)
}

fn object(schema: &Schema, map: &Map<String, Value>, is_resource: bool) -> Cel {
    let mut fields: HashMap<String, Cel> = HashMap::new();
    for (key, value) in map {
        match (schema.properties.get(key), &schema.additional_properties) {
            // rules see a nullable field that is null as absent
            (Some(_), _) if value.is_null() => {}
            (Some(field), _) => {
                if let Some(name) = escaped(key) {
                    fields.insert(name, typed(field, value, false));
                }
            }
            (None, Some(SchemaOrBool::Schema(field))) => {
                fields.insert(key.clone(), typed(field, value, false));
            }
            (None, _) => {}
        }
    }
    if is_resource {
        let text = Schema::default();
        for key in ["apiVersion", "kind"] {
            if let Some(value) = map.get(key) {
                fields.insert(key.to_owned(), typed(&text, value, false));
            }
        }
        let names: HashMap<String, Cel> = map
            .get("metadata")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .filter(|(key, _)| matches!(key.as_str(), "name" | "generateName"))
            .map(|(key, value)| (key.clone(), typed(&text, value, false)))
            .collect();
        fields.insert("metadata".to_owned(), names.into());
    }
    fields.into()
}

/// The JSON value of a schema that rules see as `value`; `None` if the schema has no such values.
pub(super) fn json(schema: &Schema, value: &Cel) -> Option<Value> {
    let type_ = schema.type_.as_deref();
    let takes = |wanted: &str| type_ == Some(wanted) || schema.int_or_string && type_.is_none();
    match value {
        Cel::Bool(value) if type_ == Some("boolean") => Some((*value).into()),
        Cel::Int(number) if takes("integer") || type_ == Some("number") => Some((*number).into()),
        Cel::Float(number) if type_ == Some("number") => crate::number::written(*number),
        Cel::Float(number) if takes("integer") => Some((*number as i64).into()),
        Cel::String(text) if takes("string") => Some(text.as_str().into()),
        Cel::Int(number) if type_ == Some("string") => Some(number.to_string().into()),
        Cel::String(text) if type_ == Some("integer") => text.parse::<i64>().ok().map(Value::from),
        Cel::Duration(_) | Cel::Timestamp(_) | Cel::Opaque(_) if type_ == Some("string") => {
            match converted("string(x)", value.clone())? {
                Cel::String(text) if schema.format.as_deref() == Some("date") => {
                    text.get(..10).map(Value::from)
                }
                Cel::String(text) => Some(text.as_str().into()),
                _ => None,
            }
        }
        Cel::List(items) => {
            let each = schema.items.as_deref()?;
            let items: Option<Vec<_>> = items.iter().map(|it| json(each, it)).collect();
            items.map(Value::from)
        }
        _ => None,
    }
}

/// Reserved words, which cannot be identifiers.
pub(super) const KEYWORDS: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The name of a property in CEL; `None` if rules cannot access it.
pub(super) fn escaped(name: &str) -> Option<String> {
    if KEYWORDS.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let first = name.chars().next()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/');
    if first.is_ascii_digit() || !name.chars().all(is_plain) {
        return None;
    }
    let name = name
        .replace("__", "__underscores__")
        .replace('.', "__dot__");
    Some(name.replace('-', "__dash__").replace('/', "__slash__"))
}

/// The names of types in rules, and the strings that represent them.
pub(super) const TYPES: [(&str, &str); 9] = [
    ("bool", "\0bool"),
    ("bytes", "\0bytes"),
    ("double", "\0double"),
    ("int", "\0int"),
    ("list", "\0list"),
    ("map", "\0map"),
    ("null_type", "\0null_type"),
    ("string", "\0string"),
    ("uint", "\0uint"),
];

/// The string that represents the type of a value.
pub(super) fn type_name(value: &Cel) -> String {
    let name = match value {
        Cel::Bool(_) => "bool",
        Cel::Bytes(_) => "bytes",
        Cel::Float(_) => "double",
        Cel::Int(_) => "int",
        Cel::List(_) => "list",
        Cel::Map(_) => "map",
        Cel::Null => "null_type",
        Cel::String(_) => "string",
        Cel::UInt(_) => "uint",
        _ => "",
    };
    format!("\0{name}")
}
