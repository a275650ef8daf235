//! Namespaces: their finalizer, label and phase.

use serde_json::{Value, json};

use super::resource::NAMESPACES;
use super::rule::field::invalid;
use super::strategy::{Enqueue, Strategy};
use super::value::set_if_null;
use crate::model::Cause;
use crate::model::metadata::{self, is_deleting};
use crate::model::name::bad_undotted_label;

pub(crate) const NAMESPACE: Strategy = Strategy {
    set_defaults,
    bad_name: bad_undotted_label,
    prepare_for_create,
    prepare_for_update,
    validate: check,
    selectable_fields: Some(&[("status.phase", "")]),
    undeletable: &["default", "kube-public", "kube-system"],
    terminate: Some(|namespace| namespace["status"]["phase"] = "Terminating".into()),
    returns_deleted: true,
    enqueues: &[Enqueue::PodsWithin],
    cells: cells!(core::namespace),
    ..Strategy::of(NAMESPACES)
};

/// Sets the finalizer and the phase of a new namespace.
pub(crate) fn prepare_for_create(object: &mut Value) {
    let own = &mut object["spec"]["finalizers"];
    let mut finalizers: Vec<Value> = own.as_array().cloned().unwrap_or_default();
    if !finalizers.contains(&json!("kubernetes")) {
        finalizers.push("kubernetes".into());
    }
    *own = finalizers.into();
    object["status"] = json!({"phase": "Active"});
}

/// Keeps the finalizers of a namespace, which only its subresource `finalize` changes.
fn prepare_for_update(subresource: Option<&str>, live: &Value, object: &mut Value) {
    if subresource.is_none() {
        object["spec"]["finalizers"] = live["spec"]["finalizers"].clone();
    }
}

/// Sets the label and the phase of a namespace.
fn set_defaults(namespace: &mut Value) {
    let name = metadata::name(namespace).to_owned();
    namespace["metadata"]["labels"]["kubernetes.io/metadata.name"] = name.into();
    set_if_null(&mut namespace["status"]["phase"], "Active");
}

/// Checks that exactly the namespaces that are being deleted have the phase `Terminating`.
fn check(live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    if live.is_none() {
        return;
    }
    let (expected, why) = if is_deleting(object) {
        (
            "Terminating",
            "may only be 'Terminating' if `deletionTimestamp` is not empty",
        )
    } else {
        (
            "Active",
            "may only be 'Active' if `deletionTimestamp` is empty",
        )
    };
    let phase = &object["status"]["phase"];
    if phase != expected {
        causes.push(invalid("status.Phase", phase, why));
    }
}
