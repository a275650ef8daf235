//! The [annotation] of client-side `kubectl apply`: its fields may be taken over by `kubectl apply --server-side`, which keeps it current.
//!
//! [annotation]: https://kubernetes.io/docs/reference/using-api/server-side-apply/#migration-between-client-side-and-server-side-apply

use serde_json::Value;

use super::apply::{Conflict, FieldSet, Node, fields_of};
use super::{json, metadata};

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Whether an apply of this manager minds the annotation.
pub(crate) fn is_minded(manager: &str, live: &Value) -> bool {
    manager == "kubectl" && live["metadata"]["annotations"][ANNOTATION].is_string()
}

/// Whether all that the apply would take was last applied by the client.
pub(crate) fn allows(live: &Value, conflicts: &[Conflict], node: Node<'_>) -> bool {
    let text = live["metadata"]["annotations"][ANNOTATION].as_str();
    let last = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let fields = last.map_or_else(FieldSet::default, |last| fields_of(&last, node));
    conflicts
        .iter()
        .all(|conflict| fields.has_path(&conflict.path))
}

/// Writes what is applied now into the annotation.
pub(crate) fn update(object: &mut Value, applied: &Value) {
    let mut applied = json::sorted(applied);
    metadata::set(&mut applied, "managedFields", Value::Null);
    object["metadata"]["annotations"][ANNOTATION] = format!("{applied}\n").into();
}
