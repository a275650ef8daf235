//! Checks the `apiVersion`, `kind` and `metadata` that `x-kubernetes-embedded-resource` requires.

use crate::default::field;
use crate::go::shown;
use crate::path::{child, enter};
use crate::{Reason, Schema, Violation};
use serde_json::{Map, Value};

/// Adds the violations in the `apiVersion`, `kind` and `metadata` of all embedded resources to `violations`.
///
/// In the metadata, only the types and the name are checked.
pub(crate) fn check(
    schema: &Schema,
    value: &Value,
    path: &mut String,
    violations: &mut Vec<Violation>,
) {
    let length = path.len();
    match value {
        Value::Object(map) => {
            if schema.embedded_resource {
                check_resource(map, path, violations);
            }
            for (key, value) in map {
                let Some(field) = field(schema, key) else {
                    continue;
                };
                enter(path, schema, key);
                check(field, value, path, violations);
                path.truncate(length);
            }
        }
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            for (index, item) in items.iter().enumerate() {
                path.push_str(&format!("[{index}]"));
                check(schema, item, path, violations);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

fn check_resource(map: &Map<String, Value>, path: &str, violations: &mut Vec<Violation>) {
    let mut refuse = |key: &str, value: &Value, text: &str| {
        violations.push(Violation::new(
            Reason::Invalid,
            &child(path, key),
            shown(value),
            text,
        ));
    };
    match map.get("apiVersion") {
        None => {}
        Some(Value::String(text)) if text.is_empty() => {
            refuse("apiVersion", &text.as_str().into(), "must not be empty");
        }
        Some(Value::String(text)) if text.matches('/').count() > 1 => {
            let detail = format!("unexpected GroupVersion string: {text}");
            refuse("apiVersion", &text.as_str().into(), &detail);
        }
        Some(Value::String(_)) => {}
        Some(other) => refuse("apiVersion", other, "must be a string"),
    }
    match map.get("kind") {
        None => {}
        Some(kind @ Value::String(text)) => {
            if text.is_empty() {
                refuse("kind", kind, "must not be empty");
            } else if !is_label(&text.to_lowercase()) {
                refuse("kind", kind, KIND);
            }
        }
        Some(other) => refuse("kind", other, "must be a string"),
    }
    match map.get("metadata") {
        None | Some(Value::Null) => {}
        Some(Value::Object(metadata)) => check_metadata(metadata, path, violations),
        Some(other) => refuse("metadata", other, "must be an object"),
    }
    for key in ["apiVersion", "kind"] {
        if !map.contains_key(key) {
            violations.push(Violation::bare(Reason::Required, &child(path, key)));
        }
    }
}

const KIND: &str = "may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case \
    alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character \
    (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

fn is_label(text: &str) -> bool {
    text.len() <= 63
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

fn check_metadata(metadata: &Map<String, Value>, path: &str, violations: &mut Vec<Violation>) {
    let path = child(path, "metadata");
    let mut refuse = |key: &str, value: &Value, text: &str| {
        violations.push(Violation::new(
            Reason::Invalid,
            &child(&path, key),
            shown(value),
            text,
        ));
    };
    for (key, value) in metadata.iter().filter(|(_, value)| !value.is_null()) {
        match (key.as_str(), value) {
            ("name", Value::String(name)) => {
                if let Some(text) = unusable(name) {
                    refuse(key, value, &text);
                }
            }
            ("name" | "generateName" | "namespace", value) if !value.is_string() => {
                refuse(key, value, "must be a string");
            }
            ("labels" | "annotations", value) => {
                let of_text = |map: &Map<_, _>| map.values().all(Value::is_string);
                if !value.as_object().is_some_and(of_text) {
                    refuse(key, value, "must be an object of strings");
                }
            }
            _ => {}
        }
    }
}

/// The reason why a name cannot be a segment of a URL path, if there is one.
fn unusable(name: &str) -> Option<String> {
    if matches!(name, "." | "..") {
        return Some(format!("may not be '{name}'"));
    }
    let bad = ['/', '%'].into_iter().find(|c| name.contains(*c))?;
    Some(format!("may not contain '{bad}'"))
}
