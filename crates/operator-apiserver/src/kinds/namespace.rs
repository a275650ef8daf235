//! Namespaces: the initial ones of every cluster, the initial objects of each, and their deletion.

use serde_json::{Value, json};

use super::rule::field::invalid;
use super::value::absent;
use crate::model::failure::Cause;
use crate::model::metadata::{self, is_deleting};

/// Sets the finalizer of a new namespace.
pub(crate) fn prepare(object: &mut Value) {
    let own = &mut object["spec"]["finalizers"];
    let mut finalizers: Vec<Value> = own.as_array().cloned().unwrap_or_default();
    if !finalizers.contains(&json!("kubernetes")) {
        finalizers.push("kubernetes".into());
    }
    *own = finalizers.into();
    object["status"] = json!({"phase": "Active"});
}

/// Whether the namespace cannot be deleted.
pub(crate) fn may_not_be_deleted(name: &str) -> bool {
    matches!(name, "default" | "kube-public" | "kube-system")
}

/// Sets the phase of a namespace that is being deleted.
pub(crate) fn terminate(object: &mut Value) {
    object["status"]["phase"] = "Terminating".into();
}

/// Sets the label and the phase of a namespace.
pub(crate) fn fill(namespace: &mut Value) {
    let name = metadata::name(namespace).to_owned();
    namespace["metadata"]["labels"]["kubernetes.io/metadata.name"] = name.into();
    absent(&mut namespace["status"]["phase"], "Active");
}

/// Checks that exactly the namespaces that are being deleted have the phase `Terminating`.
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
