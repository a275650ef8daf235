//! Validates the values at the paths of the scale subresource in a custom object.

use serde_json::Value;

use crate::go;
use crate::model::Cause;
use crate::model::kind::Scale;

/// The violations at the paths of the scale subresource in a custom object.
pub(crate) fn violations(object: &Value, scale: &Scale) -> Vec<Cause> {
    let mut causes: Vec<Cause> = [&scale.spec_replicas_path, &scale.status_replicas_path]
        .into_iter()
        .filter_map(|path| number_violation(object, path))
        .collect();
    if let Some(path) = &scale.label_selector_path {
        let wrong = match find(object, path) {
            Ok(Some(value)) if !value.is_string() => Some(mistyped(path, value, "string")),
            Ok(_) => None,
            Err(wrong) => Some(wrong),
        };
        let cause = |wrong| Cause::invalid(path, format!("Invalid value: \"\": {wrong}"));
        causes.extend(wrong.map(cause));
    }
    causes
}

/// The violation of a number of replicas, which must be a non-negative `i32`.
fn number_violation(object: &Value, path: &str) -> Option<Cause> {
    let (shown, wrong) = match find(object, path) {
        Err(wrong) => (0, wrong),
        Ok(value) => match (value?, value?.as_i64()) {
            (_, Some(number)) if number < 0 => (number, "should be a non-negative integer".into()),
            (_, Some(number)) if number > i64::from(i32::MAX) => {
                let wrong = format!("should be less than or equal to {}", i32::MAX);
                (number, wrong)
            }
            (_, Some(_)) => return None,
            (other, None) => (0, mistyped(path, other, "int64")),
        },
    };
    let text = format!("Invalid value: {shown}: {wrong}");
    Some(Cause::invalid(path, text))
}

/// The value at a path, or an error if a part of the path is not an object.
fn find<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let mut value = object;
    let mut way = String::new();
    for part in path.trim_start_matches('.').split('.') {
        way.push('.');
        way.push_str(part);
        value = match value {
            Value::Null => return Ok(None),
            Value::Object(fields) => match fields.get(part) {
                Some(value) => value,
                None => return Ok(None),
            },
            other => return Err(mistyped(&way, other, "map[string]interface{}")),
        };
    }
    Ok(Some(value))
}

fn mistyped(path: &str, value: &Value, expected: &str) -> String {
    let (shown, type_) = (go::printed(value), go::type_of(value));
    format!("{path} accessor error: {shown} is of the type {type_}, expected {expected}")
}
