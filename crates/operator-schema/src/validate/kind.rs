//! The types of values and their equality, as in the API server.

use crate::go::Num;
use crate::{Schema, number};
use serde_json::Value;

/// The type of a schema, as messages name it.
pub(super) fn types(schema: &Schema) -> &str {
    if schema.int_or_string {
        "integer,string"
    } else {
        schema.type_.as_deref().unwrap_or("")
    }
}

pub(super) fn allows(schema: &Schema, type_: &str) -> bool {
    if schema.int_or_string {
        matches!(type_, "integer" | "string")
    } else {
        schema.type_.as_deref() == Some(type_)
    }
}

/// The type and the format of a value, as the API server's validator names them.
pub(super) fn type_of(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Number(number) => match Num::of(number) {
            Num::Int(_) => ("integer", "int64"),
            Num::Float(_) => ("number", "float64"),
        },
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    }
}

pub(super) fn is_whole(value: &Value) -> bool {
    match value {
        Value::Number(number) => number::is_whole(Num::of(number).as_f64()),
        _ => false,
    }
}

/// Equality for the enum check: the value is first converted to the type of the allowed value, as Go does.
pub(crate) fn is_same(value: &Value, allowed: &Value) -> bool {
    match (value, allowed) {
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Number(value), Value::Number(allowed)) => {
            match (Num::of(value), Num::of(allowed)) {
                (Num::Float(value), Num::Int(allowed)) => value as i64 == allowed,
                (value, Num::Float(allowed)) => value.as_f64() == allowed,
                (value, allowed) => value == allowed,
            }
        }
        (Value::Number(value), Value::String(allowed)) => match Num::of(value) {
            // Go converts an integer to the character with that code point
            Num::Int(code) => {
                let c = u32::try_from(code)
                    .ok()
                    .and_then(char::from_u32)
                    .unwrap_or('\u{fffd}');
                allowed.chars().eq([c])
            }
            Num::Float(_) => false,
        },
        (value, allowed) => value == allowed,
    }
}
