//! Structural defaulting: what the API server adds to an object, and the nulls that it drops first.

use crate::{Schema, SchemaOrBool};
use serde_json::Value;

/// Sets the defaults of `schema` in `value`, as the API server does on every read and write.
///
/// A `null` where the schema is not nullable gives way to the default, or is dropped if there is none.
/// Defaults inside of defaults are applied too. An object that is absent and has no default stays absent.
///
/// <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#defaulting>
pub fn apply_defaults(schema: &Schema, value: &mut Value) {
    drop_nulls(schema, value);
    set_defaults(schema, value);
}

fn drop_nulls(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(map) => map.retain(|key, value| {
            let Some(field) = field(schema, key) else {
                return true;
            };
            if value.is_null() && !field.nullable && default(field).is_none() {
                return false;
            }
            drop_nulls(field, value);
            true
        }),
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                items.iter_mut().for_each(|item| drop_nulls(schema, item));
            }
        }
        _ => {}
    }
}

fn set_defaults(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (key, field) in &schema.properties {
                let Some(default) = default(field) else {
                    continue;
                };
                if !map.contains_key(key) {
                    map.insert(key.clone(), default.clone());
                }
            }
            for (key, value) in map {
                if let Some(field) = field(schema, key) {
                    set_default(field, value);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                items.iter_mut().for_each(|item| set_default(schema, item));
            }
        }
        _ => {}
    }
}

fn set_default(schema: &Schema, value: &mut Value) {
    if value.is_null()
        && !schema.nullable
        && let Some(default) = default(schema)
    {
        *value = default.clone();
    }
    set_defaults(schema, value);
}

/// The server cannot tell `default: null` from no default.
fn default(schema: &Schema) -> Option<&Value> {
    schema.default.as_ref().filter(|default| !default.is_null())
}

/// The schema of a member: its property, else that of `additionalProperties`.
pub(crate) fn field<'a>(schema: &'a Schema, key: &str) -> Option<&'a Schema> {
    match (schema.properties.get(key), &schema.additional_properties) {
        (Some(field), _) => Some(field),
        (None, Some(SchemaOrBool::Schema(field))) => Some(field),
        (None, _) => None,
    }
}
