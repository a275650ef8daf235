//! How writes differ between kinds: the fields that a path may change, the changes that increase the generation, and which updates need a
//! version or can create an object.

use serde_json::Value;

use crate::apply::{FieldSet, Step};
use crate::model::kind::Kind;
use crate::model::metadata;

/// The fields that a write through this path cannot change, and so cannot own.
pub(crate) fn ignored(kind: &Kind, subresource: Option<&str>) -> FieldSet {
    let fields: &[&str] = match subresource {
        None if kind.has_status() => &["status"],
        Some("finalize") => &["status"],
        Some("status") if kind.custom.is_some() => &["metadata", "spec"],
        Some("status") => &["spec"],
        _ => &[],
    };
    let mut set = FieldSet::default();
    for field in fields {
        set.insert(&[Step::field(field)]);
    }
    if subresource == Some("status") && kind.custom.is_none() {
        for field in kept_by_status(kind) {
            set.insert(&[Step::field("metadata"), Step::field(field)]);
        }
    }
    set
}

/// Restores the fields that a write through this path cannot change.
pub(crate) fn restrict(kind: &Kind, subresource: Option<&str>, live: &Value, object: &mut Value) {
    if kind.is("", "namespaces") && subresource.is_none() {
        let finalizers = live["spec"]["finalizers"].clone();
        object["spec"]["finalizers"] = finalizers;
    }
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
            if kind.is("", "pods") {
                object["status"]["qosClass"] = live["status"]["qosClass"].clone();
            }
            for field in kept_by_status(kind) {
                metadata::set(object, field, live["metadata"][field].clone());
            }
        }
        _ => {}
    }
}

/// The metadata of a built-in kind that a write of its status does not change.
fn kept_by_status(kind: &Kind) -> &'static [&'static str] {
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("apps", "deployments") => &["labels"],
        ("", "pods") => &["ownerReferences"],
        ("storage.k8s.io" | "resource.k8s.io", _) | ("networking.k8s.io", "servicecidrs") => {
            &["annotations", "finalizers", "labels", "ownerReferences"]
        }
        _ => &[],
    }
}

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
    // A Deployment's ReplicaSets take over its annotations.
    let annotations = object["metadata"]["annotations"].clone();
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.shift_remove("metadata");
        if kind.has_status() {
            fields.shift_remove("status");
        }
        if kind.is("apps", "deployments") {
            fields.insert("annotations".into(), annotations);
        }
    }
    object
}

/// Whether the status of a new object is stored, because a kubelet registers its node with its status.
pub(crate) fn keeps_status(kind: &Kind) -> bool {
    kind.is("", "nodes")
}

/// Whether a write to an object, or to its subresource, creates a missing object. A write of the status does so only for Services.
pub(crate) fn creates(kind: &Kind, subresource: Option<&str>) -> bool {
    match subresource {
        None => creates_on_update(kind),
        Some(_) => kind.is("", "services"),
    }
}

/// The kinds whose `PUT` creates a missing object.
fn creates_on_update(kind: &Kind) -> bool {
    kind.group == "rbac.authorization.k8s.io"
        || [
            ("coordination.k8s.io", "leases"),
            ("node.k8s.io", "runtimeclasses"),
            ("", "endpoints"),
            ("", "events"),
            ("", "limitranges"),
            ("", "services"),
            ("events.k8s.io", "events"),
        ]
        .contains(&(kind.group.as_str(), kind.plural.as_str()))
}

/// The kinds whose `PUT` must name the version on which it is based.
pub(crate) fn needs_version(kind: &Kind) -> bool {
    kind.custom.is_some()
        || kind.group == "admissionregistration.k8s.io"
        || [
            ("coordination.k8s.io", "leases"),
            ("node.k8s.io", "runtimeclasses"),
            ("policy", "poddisruptionbudgets"),
            ("storage.k8s.io", "csidrivers"),
            ("storage.k8s.io", "csinodes"),
            ("storage.k8s.io", "csistoragecapacities"),
            ("storage.k8s.io", "volumeattachments"),
        ]
        .contains(&(kind.group.as_str(), kind.plural.as_str()))
}
