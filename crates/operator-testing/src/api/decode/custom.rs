//! What the decoder of custom objects does besides pruning and defaults.

use operator_schema::{Schema, SchemaOrBool};
use serde_json::Value;

use super::super::go::Undecodable;

/// An object in another one says of what kind it is in texts.
pub(super) fn check_embedded(
    schema: &Schema,
    value: &Value,
    path: &str,
) -> Result<(), Undecodable> {
    let below = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    match value {
        Value::Object(fields) => {
            for name in ["apiVersion", "kind"] {
                if schema.embedded_resource
                    && let Some(value) = fields.get(name).filter(|it| !it.is_string())
                {
                    let path = below(name);
                    let why = format!("{path}: Invalid value: {value}: must be a string");
                    return Err(Undecodable::new(why));
                }
            }
            let element = match &schema.additional_properties {
                Some(SchemaOrBool::Schema(element)) => Some(&**element),
                _ => None,
            };
            fields.iter().try_for_each(|(name, value)| {
                match schema.properties.get(name).or(element) {
                    Some(schema) => check_embedded(schema, value, &below(name)),
                    None => Ok(()),
                }
            })
        }
        Value::Array(items) => match &schema.items {
            Some(schema) => items
                .iter()
                .enumerate()
                .try_for_each(|(at, item)| check_embedded(schema, item, &format!("{path}[{at}]"))),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Go writes a whole number without a fraction.
pub(super) fn round(value: &mut Value, path: &str, lost: &mut Vec<(String, Value)>) {
    match value {
        Value::Array(items) => {
            let items = items.iter_mut().enumerate();
            items.for_each(|(at, item)| round(item, &format!("{path}[{at}]"), lost));
        }
        Value::Object(fields) => {
            let below = |name: &str| match path {
                "" => name.to_owned(),
                path => format!("{path}.{name}"),
            };
            let fields = fields.iter_mut();
            fields.for_each(|(name, value)| round(value, &below(name), lost));
        }
        Value::Number(number) => {
            const EXACT: f64 = 9_007_199_254_740_992.0;
            let whole = number
                .as_f64()
                .filter(|float| number.is_f64() && float.fract() == 0.0);
            if let Some(whole) = whole.filter(|whole| whole.abs() < EXACT) {
                lost.push((path.to_owned(), value.clone()));
                *value = (whole as i64).into();
            }
        }
        _ => {}
    }
}

/// Puts back the nulls of an applied custom object, which only a decoder drops.
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
