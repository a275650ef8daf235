//! The fields that a path may change, and the changes that increase the generation.

use serde_json::Value;

use super::strategy;
use crate::apply::{FieldSet, PathElement};
use crate::model::{Kind, metadata};

/// The fields that a write through this path cannot change, and so cannot own.
pub(crate) fn reset_fields(kind: &Kind, subresource: Option<&str>) -> FieldSet {
    let fields: &[&str] = match subresource {
        None if kind.has_status() => &["status"],
        Some("finalize") => &["status"],
        Some("status") if kind.custom.is_some() => &["metadata", "spec"],
        Some("status") => &["spec"],
        _ => &[],
    };
    let mut set = FieldSet::default();
    for field in fields {
        set.insert(&[PathElement::field(field)]);
    }
    if subresource == Some("status") && kind.custom.is_none() {
        for field in strategy(kind).kept_by_status {
            set.insert(&[PathElement::field("metadata"), PathElement::field(field)]);
        }
    }
    set
}

/// Restores the fields that a write through this path cannot change.
pub(crate) fn reset(kind: &Kind, subresource: Option<&str>, live: &Value, object: &mut Value) {
    match subresource {
        None if kind.has_status() => put_back(object, live, "status"),
        Some("finalize") => put_back(object, live, "status"),
        Some("status") if kind.custom.is_some() => {
            let status = object.get("status").cloned();
            *object = live.clone();
            match (status, object.as_object_mut()) {
                (Some(status), Some(fields)) => drop(fields.insert("status".into(), status)),
                (None, Some(fields)) => drop(fields.shift_remove("status")),
                _ => {}
            }
        }
        Some("status") => {
            put_back(object, live, "spec");
            for field in strategy(kind).kept_by_status {
                metadata::set(object, field, live["metadata"][field].clone());
            }
        }
        _ => {}
    }
}

/// Restores a field of the live object.
fn put_back(object: &mut Value, live: &Value, field: &str) {
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    match live.get(field) {
        Some(value) => drop(fields.insert(field.to_owned(), value.clone())),
        None => drop(fields.shift_remove(field)),
    }
}

/// The fields whose changes increase the generation.
pub(crate) fn desired(kind: &Kind, object: &Value) -> Value {
    let annotations = object["metadata"]["annotations"].clone();
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.shift_remove("metadata");
        if kind.has_status() {
            fields.shift_remove("status");
        }
        if strategy(kind).counts_annotations {
            fields.insert("annotations".into(), annotations);
        }
    }
    object
}
