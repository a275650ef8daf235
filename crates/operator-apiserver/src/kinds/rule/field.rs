//! The validation of fields that many kinds share, with the messages of the API server.

use std::fmt::Display;

use serde_json::Value;

use crate::go::sorted;
use crate::model::json::entries;
pub(crate) use crate::model::json::list;
use crate::model::{Cause, name};

pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

/// A number that is not a pointer in Go, so that 0 counts as unset.
pub(crate) fn number(object: &Value, field: &str) -> i64 {
    object[field].as_i64().unwrap_or_default()
}

pub(crate) fn without(object: &Value, fields: &[&str]) -> Value {
    let mut object = object.clone();
    if let Some(found) = object.as_object_mut() {
        found.retain(|name, _| !fields.contains(&name.as_str()));
    }
    object
}

/// Whether a value equals the stored one, in which an empty map or list is missing.
pub(crate) fn is_same(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            old.keys().all(|name| new.contains_key(name))
                && new
                    .iter()
                    .all(|(name, new)| is_same(old.get(name).unwrap_or(&Value::Null), new))
        }
        (Value::Array(old), Value::Array(new)) => {
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| is_same(old, new))
        }
        (Value::Null, Value::Array(items)) => items.is_empty(),
        (Value::Null, Value::Object(fields)) => fields.is_empty(),
        (old, new) => old == new,
    }
}

pub(crate) fn invalid(field: impl Into<String>, found: impl Display, why: impl Display) -> Cause {
    Cause::invalid(field, format!("Invalid value: {found}: {why}"))
}

/// The violation for a duplicate value that is not a string.
pub(crate) fn duplicate(field: impl Into<String>, found: impl Display) -> Cause {
    Cause {
        reason: "FieldValueDuplicate",
        message: format!("Duplicate value: {found}"),
        field: field.into(),
    }
}

pub(crate) fn too_long(field: &str, limit: usize) -> Cause {
    Cause {
        reason: "FieldValueTooLong",
        message: format!("Too long: may not be more than {limit} bytes"),
        field: field.to_owned(),
    }
}

/// The violation for a list with too many items.
pub(crate) fn too_many(field: &str, found: usize, most: usize) -> Cause {
    Cause {
        reason: "FieldValueTooMany",
        message: format!("Too many: {found}: must have at most {most} items"),
        field: field.to_owned(),
    }
}

/// Adds a cause for each violation in a string.
pub(crate) fn refuse(field: &str, found: &str, wrong: Vec<String>, causes: &mut Vec<Cause>) {
    let wrong = wrong.into_iter();
    causes.extend(wrong.map(|why| invalid(field, format!("{found:?}"), why)));
}

/// Checks a required value that must be one of a few.
pub(crate) fn one_of(field: &str, found: &Value, allowed: &[&str], causes: &mut Vec<Cause>) {
    if is_empty(found) {
        causes.push(Cause::required(field, ""));
    } else {
        only(field, found, allowed, causes);
    }
}

/// As [`one_of`], but an empty value counts as an unsupported one.
pub(crate) fn only(field: &str, found: &Value, allowed: &[&str], causes: &mut Vec<Cause>) {
    let found = found.as_str().unwrap_or_default();
    if !allowed.contains(&found) {
        causes.push(unsupported(field, format!("{found:?}"), allowed));
    }
}

pub(crate) fn unsupported(field: &str, found: impl Display, allowed: &[&str]) -> Cause {
    let allowed = allowed.iter().map(|name| format!("{name:?}"));
    let allowed = allowed.collect::<Vec<_>>().join(", ");
    Cause {
        reason: "FieldValueNotSupported",
        message: format!("Unsupported value: {found}: supported values: {allowed}"),
        field: field.to_owned(),
    }
}

/// Checks that numbers in an object are not negative.
pub(crate) fn non_negative(path: &str, object: &Value, fields: &[&str], causes: &mut Vec<Cause>) {
    for field in fields {
        let found = number(object, field);
        if found < 0 {
            let why = "must be greater than or equal to 0";
            causes.push(invalid(format!("{path}.{field}"), found, why));
        }
    }
}

pub(crate) fn between(field: &str, found: i64, least: i64, most: i64, causes: &mut Vec<Cause>) {
    if !(least..=most).contains(&found) {
        let why = format!("must be between {least} and {most}, inclusive");
        causes.push(invalid(field, found, why));
    }
}

/// Checks the number or the name of a port.
pub(crate) fn port(field: &str, found: &Value, causes: &mut Vec<Cause>) {
    match found {
        Value::String(found) => refuse(field, found, bad_port_name(found), causes),
        found => between(field, found.as_i64().unwrap_or_default(), 1, 65535, causes),
    }
}

pub(crate) fn bad_port_name(found: &str) -> Vec<String> {
    let is_letter = |c: char| c.is_ascii_lowercase();
    let fits = |c: char| is_letter(c) || c.is_ascii_digit() || c == '-';
    let wrong = [
        (found.len() > 15, "must be no more than 15 characters"),
        (
            found.is_empty() || !found.chars().all(fits),
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        ),
        (
            !found.contains(is_letter),
            "must contain at least one letter (a-z)",
        ),
        (found.contains("--"), "must not contain consecutive hyphens"),
        (
            found.starts_with('-') || found.ends_with('-'),
            "must not begin or end with a hyphen",
        ),
    ];
    let wrong = wrong.into_iter().filter(|(is_wrong, _)| *is_wrong);
    wrong.map(|(_, why)| why.to_owned()).collect()
}

pub(crate) fn label(field: &str, found: &str, causes: &mut Vec<Cause>) {
    refuse(field, found, name::bad_label(found), causes);
}

/// Checks a required name that must be a DNS label.
pub(crate) fn named(field: &str, found: &str, causes: &mut Vec<Cause>) {
    if found.is_empty() {
        causes.push(Cause::required(field, ""));
    } else {
        label(field, found, causes);
    }
}

pub(crate) fn labels(field: &str, found: &Value, causes: &mut Vec<Cause>) {
    for (key, value) in entries(found) {
        refuse(field, key, name::bad_label_key(key), causes);
        let value = value.as_str().unwrap_or_default();
        refuse(field, value, name::bad_label_value(value), causes);
    }
}

pub(crate) fn annotations(field: &str, found: &Value, causes: &mut Vec<Cause>) {
    for (key, _) in entries(found) {
        let wrong = name::bad_label_key(&key.to_lowercase());
        refuse(field, key, wrong, causes);
    }
}

/// Checks that a field of an object does not change.
pub(crate) fn immutable(
    path: &str,
    (live, object): (&Value, &Value),
    field: &str,
    causes: &mut Vec<Cause>,
) {
    if !is_same(&live[field], &object[field]) {
        let field_path = match path {
            "" => field.to_owned(),
            path => format!("{path}.{field}"),
        };
        let why = "field is immutable";
        causes.push(invalid(field_path, sorted(&object[field]), why));
    }
}
