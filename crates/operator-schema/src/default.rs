//! Structural defaulting: sets defaults in an object after dropping nulls, as the API server does.

use crate::{Schema, SchemaOrBool};
use serde_json::Value;

/// Sets the defaults of `schema` in `value`, as the API server does on every read and write.
///
/// A `null` whose schema is not nullable is replaced by the default, or dropped if there is none. Defaults within defaults are applied too.
/// An absent object without a default stays absent.
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

/// The default of a schema; the API server does not distinguish `default: null` from no default.
fn default(schema: &Schema) -> Option<&Value> {
    schema.default.as_ref().filter(|default| !default.is_null())
}

/// The schema of a member: that of its property, or of `additionalProperties`.
pub(crate) fn field<'a>(schema: &'a Schema, key: &str) -> Option<&'a Schema> {
    match (schema.properties.get(key), &schema.additional_properties) {
        (Some(field), _) => Some(field),
        (None, Some(SchemaOrBool::Schema(field))) => Some(field),
        (None, _) => None,
    }
}
