//! Namespaces: the initial ones of every cluster, the initial objects of each, and their deletion.

use serde_json::{Value, json};

use super::rule::field::invalid;
use super::value::absent;
use crate::api::model::failure::Cause;
use crate::api::model::metadata::{self, is_deleting};

/// What the server adds to a new namespace.
pub(crate) fn prepare(object: &mut Value) {
    let own = &mut object["spec"]["finalizers"];
    let mut finalizers: Vec<Value> = own.as_array().cloned().unwrap_or_default();
    if !finalizers.contains(&json!("kubernetes")) {
        finalizers.push("kubernetes".into());
    }
    *own = finalizers.into();
    object["status"] = json!({"phase": "Active"});
}

/// Whether the server never lets go of the namespace.
pub(crate) fn may_not_be_deleted(name: &str) -> bool {
    matches!(name, "default" | "kube-public" | "kube-system")
}

/// What a `DELETE` adds to a namespace.
pub(crate) fn terminate(object: &mut Value) {
    object["status"]["phase"] = "Terminating".into();
}

/// Fills in the label and the phase of a namespace.
pub(crate) fn fill(namespace: &mut Value) {
    let name = metadata::name(namespace).to_owned();
    namespace["metadata"]["labels"]["kubernetes.io/metadata.name"] = name.into();
    absent(&mut namespace["status"]["phase"], "Active");
}

/// The phase of a namespace that is being deleted, and of no other, is `Terminating`.
pub(crate) fn check(live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    if live.is_none() {
        return;
    }
    let (expected, why) = match is_deleting(object) {
        true => (
            "Terminating",
            "may only be 'Terminating' if `deletionTimestamp` is not empty",
        ),
        false => (
            "Active",
            "may only be 'Active' if `deletionTimestamp` is empty",
        ),
    };
    let phase = &object["status"]["phase"];
    if phase != expected {
        causes.push(invalid("status.Phase", phase, why));
    }
}
