//! From a request's body to an object of its kind: type checks, pruning and defaults, as the API server's decoder does them.

use operator_schema::{Schema, SchemaOrBool};
use serde_json::{Map, Value};

use super::builtin::{OBJECT_META, builtin, resolve};
use super::json::go_type;
use super::kind::Kind;
use super::status::{Failure, Result};

/// Checks that a body is of the kind that the path says, and fills in what is absent of that.
pub(crate) fn identify(kind: &Kind, object: &mut Value) -> Result<()> {
    let Some(fields) = object.as_object_mut() else {
        return Err(Failure::bad_request(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go value of type struct {{ APIVersion string; Kind string }}",
            go_type(object)
        )));
    };
    for (field, expected, what) in [
        ("apiVersion", kind.api_version(), "API version"),
        ("kind", kind.kind.clone(), "kind"),
    ] {
        match fields
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
        {
            "" if kind.custom.is_some() && field == "kind" => {
                return Err(Failure::bad_request("Object 'Kind' is missing in the body"));
            }
            "" => {
                fields.shift_remove(field);
                fields.shift_insert(0, field.into(), expected.into());
            }
            found if found == expected => {}
            found if kind.custom.is_none() && field == "kind" => {
                let text = format!(
                    "{found} in version {:?} cannot be handled as a {expected}: converting ({}.{found}) to ({}.{expected}): unknown conversion",
                    kind.version,
                    kind.version,
                    go_package(kind),
                );
                return Err(Failure::bad_request(text));
            }
            found => {
                let text = format!(
                    "the {what} in the data ({found}) does not match the expected {what} ({expected})"
                );
                return Err(Failure::bad_request(text));
            }
        }
    }
    Ok(())
}

/// Brings an object into the form that is stored: unknown fields dropped, defaults filled in. Reports the paths that were dropped.
pub(crate) fn settle(kind: &Kind, object: &mut Value) -> Result<Vec<String>> {
    let mut dropped = Vec::new();
    if let (Some(_), Some(metadata), Some(type_)) = (
        &kind.custom,
        object.get_mut("metadata"),
        builtin().types.get(OBJECT_META),
    ) {
        settle_builtin(kind, metadata, type_, "metadata", &mut dropped)?;
    }
    match (&kind.custom, &kind.type_name) {
        (Some(custom), _) => {
            dropped.extend(operator_schema::prune(&custom.schema, object));
            operator_schema::apply_defaults(&custom.schema, object);
        }
        (None, Some(name)) => {
            if let Some(type_) = builtin().types.get(name) {
                settle_builtin(kind, object, type_, "", &mut dropped)?;
                super::zero::fill(type_, object);
            }
            super::defaults::fill(kind, object);
        }
        (None, None) => {}
    }
    Ok(dropped)
}

/// A built-in kind is a Go struct: null is absent, unknown fields are dropped, a wrong type is refused.
fn settle_builtin(
    kind: &Kind,
    value: &mut Value,
    schema: &Schema,
    path: &str,
    dropped: &mut Vec<String>,
) -> Result<()> {
    let target = resolve(schema);
    let wrong = |value: &Value, expected: &str| {
        Err(Failure::bad_request(format!(
            "{} in version {:?} cannot be handled as a {}: json: cannot unmarshal {} into Go struct field {}.{path} of type {expected}",
            kind.kind,
            kind.version,
            kind.kind,
            go_type(value),
            kind.kind,
        )))
    };
    match (target.type_.as_deref(), &mut *value) {
        (_, Value::Null) => Ok(()),
        (Some("object"), Value::Object(fields)) => {
            settle_fields(kind, fields, target, path, dropped)
        }
        (Some("array"), Value::Array(items)) => match &target.items {
            Some(item) => items
                .iter_mut()
                .try_for_each(|value| settle_builtin(kind, value, item, path, dropped)),
            None => Ok(()),
        },
        (Some("object"), other) => wrong(other, "map[string]interface {}"),
        (Some("array"), other) => wrong(other, "[]interface {}"),
        (Some("string"), other) if !other.is_string() => wrong(other, "string"),
        (Some("boolean"), other) if !other.is_boolean() => wrong(other, "bool"),
        (Some("integer"), other) if !other.is_i64() && !other.is_u64() => wrong(other, "int32"),
        _ => Ok(()),
    }
}

fn settle_fields(
    kind: &Kind,
    fields: &mut Map<String, Value>,
    schema: &Schema,
    path: &str,
    dropped: &mut Vec<String>,
) -> Result<()> {
    let place = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    let element = match &schema.additional_properties {
        Some(SchemaOrBool::Schema(element)) => Some(&**element),
        _ => None,
    };
    // Go names the field of the struct, not the key of a map in it.
    let path_of = |name: &str| match element {
        Some(_) => path.to_owned(),
        None => place(name),
    };
    let is_open = schema.properties.is_empty() && element.is_none();
    let mut failure = None;
    fields.retain(|name, value| {
        let Some(property) = schema.properties.get(name).or(element) else {
            if !is_open {
                dropped.push(place(name));
            }
            return is_open;
        };
        if element.is_none() && value.is_null() {
            return false;
        }
        if let Err(found) = settle_builtin(kind, value, property, &path_of(name), dropped) {
            failure.get_or_insert(found);
        }
        element.is_some() || schema.required.contains(name) || !is_left_out(property, value)
    });
    failure.map_or(Ok(()), Err)
}

/// Whether Go leaves the value out: an empty list or map.
fn is_left_out(schema: &Schema, value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => {
            fields.is_empty() && resolve(schema).additional_properties.is_some()
        }
        _ => false,
    }
}

/// The name of the Go package of a built-in kind's internal type.
fn go_package(kind: &Kind) -> &str {
    match kind.group.as_str() {
        "" => "core",
        group => group.split('.').next().unwrap_or_default(),
    }
}
