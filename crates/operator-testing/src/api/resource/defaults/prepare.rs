//! What the strategies of built-in kinds do with an object before it is stored.

use serde_json::{Value, json};

use super::{absent, items};
use crate::api::model::kind::Kind;

/// Brings an object that is new, or replaces `live`, into the form that is stored.
pub(crate) fn prepare(kind: &Kind, live: &Value, object: &mut Value) {
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "persistentvolumeclaims") => sources(&live["spec"], &mut object["spec"]),
        ("", "serviceaccounts") => {
            for secret in items(object, "secrets") {
                keep(secret, &["name"]);
            }
        }
        ("", "services") if object["spec"]["type"] == "ExternalName" => {
            drop_fields(&mut object["spec"], &["internalTrafficPolicy"]);
        }
        ("coordination.k8s.io", "leases") => {
            drop_fields(&mut object["spec"], &["strategy", "preferredHolder"]);
        }
        ("", "pods") => drop_signals(object.pointer_mut("/spec")),
        ("batch", "cronjobs") => {
            drop_signals(object.pointer_mut("/spec/jobTemplate/spec/template/spec"));
        }
        ("apps" | "batch", _) => drop_signals(object.pointer_mut("/spec/template/spec")),
        _ => {}
    }
}

/// What a claim is filled from is said [in two fields]; the older one knows claims and snapshots alone.
///
/// [in two fields]: https://kubernetes.io/docs/concepts/storage/persistent-volumes/#data-source-references
fn sources(live: &Value, spec: &mut Value) {
    let (older, newer) = (&spec["dataSource"], &spec["dataSourceRef"]);
    let group = older["apiGroup"].as_str().unwrap_or_default();
    let is_known = matches!(
        (group, older["kind"].as_str()),
        ("", Some("PersistentVolumeClaim")) | ("snapshot.storage.k8s.io", Some("VolumeSnapshot"))
    );
    let had_one = !live["dataSource"].is_null() || !live["dataSourceRef"].is_null();
    if newer.is_null() && !is_known && !had_one {
        drop_fields(spec, &["dataSource"]);
    }
    let is_elsewhere = |source: &Value| {
        source["namespace"]
            .as_str()
            .is_some_and(|it| !it.is_empty())
    };
    let copied = |source: &Value| {
        json!({
            "apiGroup": source["apiGroup"],
            "kind": source["kind"],
            "name": source["name"],
        })
    };
    if is_elsewhere(&spec["dataSourceRef"]) && live["dataSourceRef"].is_null() {
        drop_fields(spec, &["dataSourceRef"]);
    }
    for (from, to) in [
        ("dataSource", "dataSourceRef"),
        ("dataSourceRef", "dataSource"),
    ] {
        if spec[from].is_object() && !is_elsewhere(&spec[from]) {
            let source = copied(&spec[from]);
            absent(&mut spec[to], source);
        }
    }
    for field in ["dataSource", "dataSourceRef"] {
        if spec[field].is_null() {
            drop_fields(spec, &[field]);
        }
    }
}

/// No server has this yet without being asked for it.
fn drop_signals(spec: Option<&mut Value>) {
    let Some(spec) = spec else {
        return;
    };
    for containers in ["containers", "initContainers"] {
        for container in items(spec, containers) {
            let Some(lifecycle) = container.get_mut("lifecycle") else {
                continue;
            };
            if lifecycle.get("stopSignal").is_none() {
                continue;
            }
            drop_fields(lifecycle, &["stopSignal"]);
            if lifecycle == &json!({}) {
                drop_fields(container, &["lifecycle"]);
            }
        }
    }
}

fn drop_fields(object: &mut Value, names: &[&str]) {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|name, _| !names.contains(&name.as_str()));
    }
}

fn keep(object: &mut Value, names: &[&str]) {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|name, _| names.contains(&name.as_str()));
    }
}
