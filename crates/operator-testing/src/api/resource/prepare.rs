//! What the strategies of built-in kinds do with an object before it is stored.

use serde_json::Value;

use super::value::{drop_fields, items, keep};
use super::{claim, lease, pod};
use crate::api::model::kind::Kind;

/// Brings an object that is new, or replaces `live`, into the form that is stored.
pub(crate) fn prepare(kind: &Kind, live: &Value, object: &mut Value) {
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
