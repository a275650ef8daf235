//! Selects how the strategy of a built-in kind prepares an object for storage.

use serde_json::Value;

use super::value::{drop_fields, items, keep};
use super::workload::{daemon_set, stateful_set};
use super::{claim, crd, job, lease, namespace, pod, priority_class, volume};
use crate::model::kind::Kind;
use crate::model::metadata;

/// Prepares a new object before admission.
pub(crate) fn begin(kind: &Kind, object: &mut Value) {
    if kind.is("", "namespaces") {
        namespace::prepare(object);
    }
    if crd::is_crd(kind) {
        crd::prepare(object);
    }
    if kind.is(priority_class::GROUP, priority_class::PLURAL) {
        // It stays so, whatever becomes of the class.
        metadata::set(object, "generation", 1);
    }
    prepare(kind, &Value::Null, object);
}

/// Prepares a new object after admission.
pub(crate) fn complete(kind: &Kind, object: &mut Value) {
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "pods") => pod::begin(object),
        ("batch", "jobs") => job::admit_job(object),
        ("apps", "daemonsets") => daemon_set::count_templates(&Value::Null, object),
        ("apps", "statefulsets") => stateful_set::without_alpha(None, object),
        _ => {}
    }
}

/// Prepares an object that replaces `live`, or changes its subresource.
pub(crate) fn change(kind: &Kind, subresource: Option<&str>, live: &Value, object: &mut Value) {
    if subresource.is_none() {
        if crd::is_crd(kind) {
            crd::note_storage(object);
        }
        prepare(kind, live, object);
    }
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "pods") => pod::tolerate(&mut object["spec"]),
        ("", "persistentvolumes") if subresource == Some("status") => {
            volume::date_phase(live, object);
        }
        ("apps", "daemonsets") => daemon_set::count_templates(live, object),
        ("apps", "statefulsets") => stateful_set::without_alpha(Some(live), object),
        _ => {}
    }
}

/// Converts an object that is new or replaces `live` to its stored form.
fn prepare(kind: &Kind, live: &Value, object: &mut Value) {
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "persistentvolumeclaims") => claim::prepare(&live["spec"], &mut object["spec"]),
        ("", "serviceaccounts") => {
            for secret in items(object, "secrets") {
                keep(secret, &["name"]);
            }
        }
        ("", "services") if object["spec"]["type"] == "ExternalName" => {
            drop_fields(&mut object["spec"], &["internalTrafficPolicy"]);
        }
        ("coordination.k8s.io", "leases") => lease::prepare(object),
        ("", "pods") => pod::drop_signals(object.pointer_mut("/spec")),
        ("batch", "cronjobs") => {
            pod::drop_signals(object.pointer_mut("/spec/jobTemplate/spec/template/spec"));
        }
        ("apps" | "batch", _) => pod::drop_signals(object.pointer_mut("/spec/template/spec")),
        _ => {}
    }
}
