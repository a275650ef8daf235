//! The zero values in the JSON of a built-in kind: Go always writes structs and required fields.

use operator_schema::Schema;
use serde_json::{Map, Value, json};

use super::{omits, reference};
use crate::model::builtin::{OBJECT_META, builtin, resolve};

/// The fields with a time that Go always writes: a struct, and not a pointer to one.
const TIMES: [&str; 12] = [
    "deprecatedFirstTimestamp",
    "eventTime",
    "deprecatedLastTimestamp",
    "finishedAt",
    "firstTimestamp",
    "lastHeartbeatTime",
    "lastObservedTime",
    "lastProbeTime",
    "lastTimestamp",
    "lastTransitionTime",
    "lastUpdateTime",
    "startedAt",
];

/// An object without any values, as the API server sees it before a create.
pub(crate) fn object(type_name: &str) -> Value {
    let mut object = json!({});
    if let Some(type_) = builtin().types.get(type_name) {
        fill_object(type_name, type_, &mut object);
    }
    object
}

/// Fills in the values that an object of a type always has.
pub(crate) fn fill_object(type_name: &str, type_: &Schema, object: &mut Value) {
    fill(type_name, type_, object);
    // Go always writes `rules`, which the OpenAPI document does not show
    let is_role = ["rbac.v1.Role", "rbac.v1.ClusterRole"]
        .iter()
        .any(|name| type_name.ends_with(name));
    if let (true, Some(fields)) = (is_role, object.as_object_mut()) {
        fields.entry("rules").or_insert(Value::Null);
    }
}

/// Fills in zero values in all structs of a value.
fn fill(owner: &str, schema: &Schema, value: &mut Value) {
    let target = resolve(schema);
    let owner = reference(schema).unwrap_or(owner);
    match value {
        Value::Object(fields) if !target.properties.is_empty() => {
            fill_fields(owner, target, fields);
        }
        Value::Object(fields) => {
            if let Some(operator_schema::SchemaOrBool::Schema(element)) =
                &target.additional_properties
            {
                fields
                    .values_mut()
                    .for_each(|value| fill(owner, element, value));
            }
        }
        Value::Array(items) => {
            if let Some(item) = &target.items {
                items.iter_mut().for_each(|value| fill(owner, item, value));
            }
        }
        _ => {}
    }
}

/// Fills in the fields of a struct that Go always writes.
fn fill_fields(owner: &str, schema: &Schema, fields: &mut Map<String, Value>) {
    for (name, property) in &schema.properties {
        // the OpenAPI document does not show that these times are structs, too
        let is_struct = property.default.is_some() || TIMES.contains(&name.as_str());
        if let Some(value) = fields.get_mut(name) {
            fill(owner, property, value);
        } else if is_struct && is_metadata(property) {
            fields.insert(name.clone(), json!({}));
        } else if (is_struct || schema.required.contains(name))
            && let Some(value) = zero(owner, property, is_struct)
            && !omits(owner, name, &value)
        {
            fields.insert(name.clone(), value);
        }
    }
}

fn is_metadata(schema: &Schema) -> bool {
    schema
        .unknown
        .get("$ref")
        .is_some_and(|name| name == OBJECT_META)
}

/// The zero value of a field, as Go writes it.
fn zero(owner: &str, property: &Schema, is_struct: bool) -> Option<Value> {
    let target = resolve(property);
    Some(match target.type_.as_deref() {
        Some("object") if is_struct => {
            let mut value = json!({});
            fill(reference(property).unwrap_or(owner), target, &mut value);
            value
        }
        _ if property
            .default
            .as_ref()
            .is_some_and(|default| !default.is_object()) =>
        {
            property.default.clone()?
        }
        Some("integer" | "number") => json!(0),
        Some("boolean") => json!(false),
        // the zero value of a time is encoded as null
        Some("string") if is_struct => Value::Null,
        Some("string") => json!(""),
        None if target.format.as_deref() == Some("int-or-string") => json!(0),
        _ => Value::Null,
    })
}
