//! [Merge patches](https://www.rfc-editor.org/rfc/rfc7386), applied as in the API server's library.

use serde_json::Value;

use crate::go::{ANY_OBJECT, no_value_of};
use crate::model::{Failure, Result};

/// Applies a [merge patch](https://www.rfc-editor.org/rfc/rfc7386).
pub(crate) fn merged(live: &Value, patch: &Value) -> Result<Value> {
    if patch.is_null() {
        return Err(Failure::bad_request("Invalid JSON Patch"));
    }
    if !patch.is_object() {
        let wrong = no_value_of(ANY_OBJECT, patch);
        return Err(Failure::bad_request(format!(
            "error decoding patch: {wrong}"
        )));
    }
    let mut object = live.clone();
    merge(&mut object, patch);
    Ok(object)
}

/// Merges as the Go library does, which also removes null fields of objects in lists.
fn merge(value: &mut Value, patch: &Value) {
    match (value, patch) {
        (Value::Object(fields), Value::Object(patch)) => {
            for (name, patch) in patch {
                match fields.get_mut(name) {
                    _ if patch.is_null() => drop(fields.shift_remove(name)),
                    Some(field) if !field.is_null() => merge(field, patch),
                    _ => drop(fields.insert(name.clone(), pruned(patch))),
                }
            }
        }
        (value @ Value::Object(_), patch) => *value = patch.clone(),
        (value, patch) => *value = pruned(patch),
    }
}

/// The value of a patch for a field that does not exist: without null fields.
fn pruned(patch: &Value) -> Value {
    match patch {
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name.clone(), pruned(value)));
            Value::Object(fields.collect())
        }
        Value::Array(items) => items.iter().map(pruned).collect(),
        other => other.clone(),
    }
}
