//! The fields that the server sets in a CRD when it is created, changed and deleted.

use serde_json::{Value, json};

use crate::model::condition::set_condition;
use crate::model::metadata::{self, finalizers, is_deleting};

/// The finalizer of a CRD, which the server removes after it has deleted all objects of the CRD.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Sets the defaults of names, conversion and stored versions.
pub(crate) fn set_defaults(object: &mut Value) {
    let kind = object["spec"]["names"]["kind"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    if kind.is_empty() {
        return;
    }
    let names = &mut object["spec"]["names"];
    for (field, value) in [
        ("singular", kind.to_lowercase()),
        ("listKind", format!("{kind}List")),
    ] {
        if names[field].as_str().unwrap_or_default().is_empty() {
            names[field] = value.into();
        }
    }
    if object["spec"]["conversion"].is_null() {
        object["spec"]["conversion"] = json!({"strategy": "None"});
    }
    let stored = object["status"]["storedVersions"].as_array();
    let storage = storage_version(object);
    if stored.is_none_or(Vec::is_empty) && !storage.is_null() {
        object["status"]["storedVersions"] = json!([storage]);
    }
}

/// Sets the initial status of a CRD, before its names are accepted.
pub(crate) fn prepare_for_create(object: &mut Value) {
    let storage = storage_version(object);
    object["status"] = json!({
        "acceptedNames": {"plural": "", "kind": ""},
        "conditions": null,
        "storedVersions": [storage],
    });
}

fn storage_version(object: &Value) -> Value {
    versions(object)
        .iter()
        .find(|version| version["storage"] == true)
        .map(|version| version["name"].clone())
        .unwrap_or_default()
}

/// Records the storage version in `status.storedVersions`.
pub(crate) fn add_stored_version(object: &mut Value) {
    let storage = storage_version(object);
    if let Some(stored) = object["status"]["storedVersions"].as_array_mut()
        && !stored.contains(&storage)
    {
        stored.push(storage);
    }
}

pub(crate) fn versions(crd: &Value) -> &[Value] {
    crd["spec"]["versions"]
        .as_array()
        .map_or(&[], Vec::as_slice)
}

/// Adds the finalizer and the condition of a CRD that is being deleted.
pub(crate) fn terminate(object: &mut Value) {
    if is_deleting(object) {
        return;
    }
    let mut names: Vec<Value> = finalizers(object).into_iter().map(Value::from).collect();
    names.push(CLEANUP.into());
    metadata::set(object, "finalizers", names);
    set_terminating(
        object,
        "True",
        "InstanceDeletionPending",
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    );
}

pub(crate) fn set_terminating(crd: &mut Value, status: &str, reason: &str, message: &str) {
    set_condition(crd, condition("Terminating", status, reason, message));
}

/// A condition of a CRD, whose time `set_condition` sets.
pub(super) fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": type_,
        "status": status,
        "lastTransitionTime": null,
        "reason": reason,
        "message": message,
    })
}
