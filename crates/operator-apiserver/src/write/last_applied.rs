//! The [annotation] of client-side `kubectl apply`. `kubectl apply --server-side` may take over the fields in it, and keeps it current.
//!
//! [annotation]: https://kubernetes.io/docs/reference/using-api/server-side-apply/#migration-between-client-side-and-server-side-apply

use serde_json::Value;

use crate::apply::{Comparison, Conflict, FieldSet, Repeats, Writer, fields_of, validate_typed};
use crate::go;
use crate::kinds::rule::metadata::{ANNOTATIONS_LIMIT, annotations_size};
use crate::model::metadata;

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The conflicts of an apply that the annotation does not resolve: all except those of fields that the client applied last and that have
/// not changed since.
pub(crate) fn disallowed(
    writer: &Writer<'_>,
    live: &Value,
    conflicts: Vec<Conflict>,
) -> Vec<Conflict> {
    let settled = match writer.id.name.as_str() {
        "kubectl" => last_applied(writer, live).unwrap_or_default(),
        _ => FieldSet::default(),
    };
    let is_open = |conflict: &Conflict| !settled.has_path(&conflict.path);
    conflicts.into_iter().filter(is_open).collect()
}

/// The fields of the annotation that still have the values that were applied.
fn last_applied(writer: &Writer<'_>, live: &Value) -> Option<FieldSet> {
    let text = live["metadata"]["annotations"][ANNOTATION].as_str()?;
    let last: Value = serde_json::from_str(text).ok()?;
    let is_of_kind = last["kind"] == live["kind"] && last["apiVersion"] == writer.api_version;
    if !is_of_kind || validate_typed(&last, writer.node, Repeats::Refused).is_some() {
        return None;
    }
    let changes = Comparison::between(&last, live, writer.node);
    let fields = fields_of(&last, writer.node).difference(&changes.written());
    Some(fields.difference(&changes.removed))
}

/// Writes the applied object to the annotation, if the object has the annotation and it does not become too large.
pub(crate) fn update(writer: &Writer<'_>, object: &mut Value, applied: &Value) {
    let found = object["metadata"]["annotations"][ANNOTATION].as_str();
    if writer.id.name != "kubectl" || found.is_none_or(str::is_empty) {
        return;
    }
    let mut applied = go::sorted(applied);
    metadata::set(&mut applied, "managedFields", Value::Null);
    if let Some(Value::Object(annotations)) = applied.pointer_mut("/metadata/annotations") {
        annotations.shift_remove(ANNOTATION);
    }
    let annotations = &mut object["metadata"]["annotations"];
    annotations[ANNOTATION] = format!("{applied}\n").into();
    if annotations_size(annotations) > ANNOTATIONS_LIMIT
        && let Some(annotations) = annotations.as_object_mut()
    {
        annotations.shift_remove(ANNOTATION);
    }
}
