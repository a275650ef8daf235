//! Applies the change of a typed value to the JSON that the value was read from.
//!
//! In: the JSON, and the value written before and after the change. Out: the JSON with only that change, so that what the type does not
//! carry (unknown fields, nulls, another form of a number or a time) stays in every part that did not change.

use serde_json::{Map, Value};

use super::align::align;

/// Changes `raw` as its typed value was changed from `before` to `after`.
pub(crate) fn merge(raw: &Value, before: &Value, after: &Value) -> Value {
    if before == after {
        return raw.clone();
    }
    match (raw, before, after) {
        (Value::Object(raw), Value::Object(before), Value::Object(after)) => {
            Value::Object(merge_fields(raw, before, after))
        }
        // If the type drops or adds items when it reads a list, it is not known which raw item is which, and the list is replaced.
        (Value::Array(raw), Value::Array(before), Value::Array(after))
            if raw.len() == before.len() =>
        {
            let origins = align(before, after);
            let merged = after
                .iter()
                .zip(origins)
                .map(|(item, origin)| match origin {
                    Some(index) => merge(&raw[index], &before[index], item),
                    None => item.clone(),
                });
            Value::Array(merged.collect())
        }
        _ => after.clone(),
    }
}

fn merge_fields(
    raw: &Map<String, Value>,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) -> Map<String, Value> {
    let mut merged = raw.clone();
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        merged.remove(name);
    }
    for (name, new) in after {
        let value = match (raw.get(name), before.get(name)) {
            (_, Some(old)) if old == new => continue,
            (Some(raw), Some(old)) => merge(raw, old, new),
            _ => new.clone(),
        };
        merged.insert(name.clone(), value);
    }
    merged
}

/// Replaces each part of `merged` that the type reads as `read` instead of `wanted`, lists and scalars as a whole.
pub(super) fn repair(merged: &mut Value, read: &Value, wanted: &Value) {
    if read == wanted {
        return;
    }
    let (Value::Object(fields), Value::Object(read), Value::Object(wanted)) =
        (&mut *merged, read, wanted)
    else {
        *merged = wanted.clone();
        return;
    };
    for name in read.keys().filter(|name| !wanted.contains_key(*name)) {
        fields.remove(name);
    }
    for (name, value) in wanted {
        match (fields.get_mut(name), read.get(name)) {
            (_, Some(read)) if read == value => {}
            (Some(field), Some(read)) => repair(field, read, value),
            _ => {
                fields.insert(name.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_changed_is_changed() {
        let raw = json!({"a": 1.0, "b": null, "c": {"x": 1, "unknown": [null]}, "unknown": {"y": 1}, "d": "2020-01-01T00:00:00.0Z"});
        let before = json!({"a": 1, "c": {"x": 1}, "d": "2020-01-01T00:00:00Z", "default": 3});
        let after = json!({"a": 1, "c": {"x": 2}, "d": "2020-01-01T00:00:00Z", "default": 4});
        let merged = merge(&raw, &before, &after);
        assert_eq!(
            merged,
            json!({"a": 1.0, "b": null, "c": {"x": 2, "unknown": [null]}, "unknown": {"y": 1}, "d": "2020-01-01T00:00:00.0Z", "default": 4})
        );
    }

    #[test]
    fn a_field_is_removed_with_all_that_is_in_it() {
        let merged = merge(
            &json!({"a": {"unknown": 1}, "b": 1}),
            &json!({"a": {}}),
            &json!({}),
        );
        assert_eq!(merged, json!({"b": 1}));
    }

    #[test]
    fn lists_that_the_type_shortens_are_replaced() {
        let merged = merge(&json!(["a", "a", "b"]), &json!(["a", "b"]), &json!(["b"]));
        assert_eq!(merged, json!(["b"]));
    }
}
