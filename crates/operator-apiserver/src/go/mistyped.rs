//! The errors of Go's decoders for values of the wrong type, with Go's names of types.

use operator_schema::{Schema, SchemaOrBool};
use serde_json::Value;

use super::time;
use crate::model::builtin::resolve;

/// The errors for a value that does not have its Go type.
pub(crate) struct Undecodable {
    /// The message of the JSON decoder.
    pub decoded: String,
    /// The message of strategic merge patches and applies, which convert values.
    pub converted: String,
}

impl Undecodable {
    /// The same message for both.
    pub fn new(why: String) -> Self {
        Self {
            converted: why.clone(),
            decoded: why,
        }
    }

    /// A value in `field` of the struct `owner`, for which the schema requires another type.
    pub fn of(value: &Value, schema: &Schema, owner: &str, field: &str) -> Self {
        let decoded = format!(
            "json: cannot unmarshal {} into Go struct field {owner}.{field} of type {}",
            match resolve(schema).type_.as_deref() {
                Some("integer") => described(value),
                _ => json_type(value).to_owned(),
            },
            name(schema)
        );
        let target = resolve(schema);
        // these types have their own `UnmarshalJSON`, which decodes into a value of this type
        let own = match last_word(schema) {
            Some("Time" | "MicroTime") => Some("string"),
            Some("IntOrString") => Some("int32"),
            _ => None,
        };
        if let Some(own) = own {
            let converted = no_value_of(own, value);
            return Self { decoded, converted };
        }
        let (kind, type_) = kind_and_type(value);
        let converted = match target.type_.as_deref() {
            Some("object") if target.additional_properties.is_some() => {
                format!("cannot restore map from {kind}")
            }
            Some("object") => format!("cannot restore struct from: {kind}"),
            Some("array") => format!("cannot restore slice from {kind}"),
            // `[]byte` is a string only in JSON
            Some("string") if target.format.as_deref() == Some("byte") => {
                format!("cannot restore slice from {kind}")
            }
            // Go's reflection could convert these numbers to other numbers and strings; the converter refuses it with its own message
            Some("integer" | "number" | "string") if is_convertible(value, target) => {
                format!("cannot convert {type_} to {}", name(schema))
            }
            _ => format!("unrecognized type: {}", name(schema)),
        };
        Self { decoded, converted }
    }
}

/// The message of the JSON decoder for a value that is not of a Go type.
pub(crate) fn no_value_of(type_: &str, found: &Value) -> String {
    let found = json_type(found);
    format!("json: cannot unmarshal {found} into Go value of type {type_}")
}

/// The Go type of an object of any kind.
pub(crate) const ANY_OBJECT: &str = "map[string]interface {}";

/// How the decoder names a value that does not fit an integer type: a number with its digits.
pub(crate) fn described(value: &Value) -> String {
    match value {
        Value::Number(number) => format!("number {number}"),
        other => json_type(other).to_owned(),
    }
}

/// The kind and the type of the Go value for a JSON value.
fn kind_and_type(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("invalid", "nil"),
        Value::Bool(_) => ("bool", "bool"),
        Value::Number(number) if number.is_f64() => ("float64", "float64"),
        Value::Number(_) => ("int64", "int64"),
        Value::String(_) => ("string", "string"),
        Value::Array(_) => ("slice", "[]interface {}"),
        Value::Object(_) => ("map", "map[string]interface {}"),
    }
}

/// The type of the Go value for a JSON value.
pub(crate) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        value => kind_and_type(value).1,
    }
}

/// Whether Go's reflection can convert the value to the type.
fn is_convertible(value: &Value, target: &Schema) -> bool {
    let is_text = target.type_.as_deref() == Some("string");
    value.is_number() && !(is_text && value.is_f64())
}

/// The full name of the built-in type to which a schema refers.
pub(crate) fn reference(schema: &Schema) -> Option<&str> {
    schema.unknown.get("$ref")?.as_str()
}

/// The last segment of this name.
pub(crate) fn last_word(schema: &Schema) -> Option<&str> {
    reference(schema)?.rsplit('.').next()
}

/// The name of the Go type of a schema.
fn name(schema: &Schema) -> String {
    let target = resolve(schema);
    match (target.type_.as_deref(), last_word(schema)) {
        (Some("object"), Some(name)) => format!("v1.{name}"),
        (Some("object"), None) => match &target.additional_properties {
            Some(SchemaOrBool::Schema(element)) => format!("map[string]{}", name(element)),
            _ => "map[string]interface {}".to_owned(),
        },
        (Some("array"), _) => {
            let item = target.items.as_deref().map(name);
            format!("[]{}", item.unwrap_or_default())
        }
        (Some("boolean"), _) => "bool".to_owned(),
        (Some("integer"), _) if target.format.as_deref() == Some("int64") => "int64".to_owned(),
        (Some("integer"), _) => "int32".to_owned(),
        (Some(other), _) => other.to_owned(),
        (None, Some("IntOrString")) => "int32".to_owned(),
        (None, _) => String::new(),
    }
}

/// The precision of a time type.
pub(crate) fn time_precision(schema: &Schema) -> Option<time::Precision> {
    match last_word(schema)? {
        "Time" => Some(time::Precision::Seconds),
        "MicroTime" => Some(time::Precision::Micros),
        _ => None,
    }
}

/// The type of a JSON value, as Go's decoder names it.
pub(crate) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
