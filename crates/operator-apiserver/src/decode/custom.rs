//! The steps of decoding custom objects besides pruning and defaults.

use operator_schema::{Schema, SchemaOrBool};
use serde_json::Value;

use crate::go::Undecodable;

/// Checks that `apiVersion` and `kind` of embedded objects are strings.
pub(super) fn check_embedded(schema: &Schema, value: &Value) -> Result<(), Undecodable> {
    let Some((path, found)) = misnamed(schema, value) else {
        return Ok(());
    };
    let path = path.strip_prefix('.').unwrap_or(&path);
    let why = format!("{path}: Invalid value: {found}: must be a string");
    Err(Undecodable::new(why))
}

/// The first `apiVersion` or `kind` of an embedded object that is not a string, with its path.
fn misnamed<'a>(schema: &Schema, value: &'a Value) -> Option<(String, &'a Value)> {
    match value {
        Value::Object(fields) => {
            for name in ["apiVersion", "kind"] {
                if schema.embedded_resource
                    && let Some(value) = fields.get(name).filter(|it| !it.is_string())
                {
                    return Some((format!(".{name}"), value));
                }
            }
            let element = match &schema.additional_properties {
                Some(SchemaOrBool::Schema(element)) => Some(&**element),
                _ => None,
            };
            fields.iter().find_map(|(name, value)| {
                let schema = schema.properties.get(name).or(element)?;
                let (path, found) = misnamed(schema, value)?;
                Some((format!(".{name}{path}"), found))
            })
        }
        Value::Array(items) => {
            let schema = schema.items.as_ref()?;
            items.iter().enumerate().find_map(|(at, item)| {
                let (path, found) = misnamed(schema, item)?;
                Some((format!("[{at}]{path}"), found))
            })
        }
        _ => None,
    }
}

/// Removes the zero fraction of integers, as Go does. Returns whether there was one.
pub(crate) fn round(value: &mut Value) -> bool {
    match value {
        Value::Array(items) => items.iter_mut().fold(false, |any, item| round(item) | any),
        Value::Object(fields) => fields
            .values_mut()
            .fold(false, |any, value| round(value) | any),
        Value::Number(number) => {
            // 2^63, which no longer fits an `i64`
            const LIMIT: f64 = 9_223_372_036_854_775_808.0;
            let whole = number
                .as_f64()
                .filter(|float| number.is_f64() && float.fract() == 0.0 && float.abs() < LIMIT);
            if let Some(whole) = whole {
                *value = (whole as i64).into();
            }
            whole.is_some()
        }
        _ => false,
    }
}

/// Restores the fractions that [`round`] has removed.
pub(super) fn restore_points(value: &mut Value, sent: &Value) {
    match (value, sent) {
        (Value::Object(fields), Value::Object(sent)) => {
            for (name, value) in fields {
                if let Some(sent) = sent.get(name) {
                    restore_points(value, sent);
                }
            }
        }
        (Value::Array(items), Value::Array(sent)) if items.len() == sent.len() => {
            items
                .iter_mut()
                .zip(sent)
                .for_each(|(item, sent)| restore_points(item, sent));
        }
        (value @ Value::Number(_), Value::Number(number))
            if number.is_f64() && value.as_f64() == number.as_f64() =>
        {
            *value = sent.clone();
        }
        _ => {}
    }
}

/// Restores the nulls of an applied custom object: the real server does not decode it before it is stored, and only decoding drops nulls.
pub(crate) fn keep_nulls(sent: &Value, object: &mut Value) {
    match (sent, object) {
        (Value::Object(sent), Value::Object(object)) => {
            for (name, sent) in sent.iter().filter(|(name, _)| *name != "metadata") {
                match object.get_mut(name) {
                    Some(value) => keep_nulls(sent, value),
                    None if sent.is_null() => drop(object.insert(name.clone(), Value::Null)),
                    None => {}
                }
            }
        }
        (Value::Array(sent), Value::Array(object)) if sent.len() == object.len() => {
            sent.iter()
                .zip(object)
                .for_each(|(sent, value)| keep_nulls(sent, value));
        }
        _ => {}
    }
}
