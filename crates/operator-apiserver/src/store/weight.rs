//! The approximate memory that a value takes, in bytes, to limit the log of changes.

use serde_json::{Map, Value};

/// The memory of a map entry: the field's name and value, its hash, and its index entry.
const FIELD: usize = size_of::<String>() + size_of::<Value>() + 2 * size_of::<usize>();

/// The heap memory of a value: the strings, lists and maps in it.
pub(crate) fn weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items
            .iter()
            .map(|item| size_of::<Value>() + weight(item))
            .sum(),
        Value::Object(fields) => of_fields(fields),
    }
}

fn of_fields(fields: &Map<String, Value>) -> usize {
    fields
        .iter()
        .map(|(name, value)| FIELD + name.len() + weight(value))
        .sum()
}
