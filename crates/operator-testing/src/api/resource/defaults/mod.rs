//! The defaults of built-in kinds, after the API server's own [`defaults.go`] of each group.
//!
//! What the OpenAPI document says of defaults is the least of it, so they are written down here, for the kinds that operators make.
//!
//! [`defaults.go`]: https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/core/v1/defaults.go

mod pod;
mod prepare;
mod service;
mod workload;

pub(crate) use self::pod::{begin as begin_pod, tolerate};
pub(crate) use self::prepare::prepare;
pub(crate) use self::workload::{admit_job, count_templates, label_job, without_alpha};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::api::model::kind::Kind;
use crate::api::model::metadata;

/// Fills in what the kind has a default for.
pub(crate) fn fill(kind: &Kind, object: &mut Value) {
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "namespaces") => {
            let name = metadata::name(object).to_owned();
            object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name.into();
            absent(&mut object["status"]["phase"], "Active");
        }
        ("", "secrets") => secret(object),
        ("", "pods") => pod::fill_pod(object),
        ("", "podtemplates") => pod::fill_template(&mut object["template"]),
        ("", "replicationcontrollers") => workload::fill_controller(object),
        ("", "services") => service::fill(object),
        ("", "persistentvolumeclaims") => claim(object),
        ("apps" | "batch", _) => workload::fill(kind, object),
        ("", "persistentvolumes") => volume(object),
        ("", "nodes") => node(object),
        ("scheduling.k8s.io", "priorityclasses") => {
            let preemption = ("preemptionPolicy", json!("PreemptLowerPriority"));
            fields(object, &[preemption]);
        }
        ("networking.k8s.io", "networkpolicies") => network_policy(object),
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => binding(object),
        ("apiextensions.k8s.io", "customresourcedefinitions") => {
            super::crd::fill(object);
        }
        _ => {}
    }
}

/// Sets a value that is null.
fn absent(place: &mut Value, value: impl Into<Value>) {
    if place.is_null() {
        *place = value.into();
    }
}

/// Sets fields that are null or empty.
fn fields(object: &mut Value, defaults: &[(&str, Value)]) {
    for (name, default) in defaults {
        let is_empty = object[*name].is_null() || object[*name] == "";
        if is_empty {
            object[*name] = default.clone();
        }
    }
}

fn items<'a>(object: &'a mut Value, list: &str) -> impl Iterator<Item = &'a mut Value> {
    let items = object.get_mut(list).and_then(Value::as_array_mut);
    items.into_iter().flatten()
}

fn secret(object: &mut Value) {
    fields(object, &[("type", json!("Opaque"))]);
    let texts = object
        .as_object_mut()
        .and_then(|secret| secret.shift_remove("stringData"));
    let texts = texts.as_ref().and_then(Value::as_object);
    for (key, text) in texts.into_iter().flatten() {
        let text = text.as_str().unwrap_or_default();
        object["data"][key.as_str()] = STANDARD.encode(text).into();
    }
}

fn claim(object: &mut Value) {
    fields(&mut object["spec"], &[("volumeMode", json!("Filesystem"))]);
    fields(&mut object["status"], &[("phase", json!("Pending"))]);
    for source in ["dataSource", "dataSourceRef"] {
        let source = object["spec"].get_mut(source);
        if let Some(source) = source.and_then(Value::as_object_mut) {
            source.entry("apiGroup").or_insert(Value::Null);
        }
    }
}

fn volume(object: &mut Value) {
    let spec = &mut object["spec"];
    let defaults = [
        ("persistentVolumeReclaimPolicy", json!("Retain")),
        ("volumeMode", json!("Filesystem")),
    ];
    fields(spec, &defaults);
    pod::fill_source(spec);
    fields(&mut object["status"], &[("phase", json!("Pending"))]);
}

/// What the admission of a volume adds, and how it begins.
pub(crate) fn admit_volume(object: &mut Value) {
    protect(object, "kubernetes.io/pv-protection");
    object["status"] = json!({"phase": "Pending", "lastPhaseTransitionTime": metadata::now()});
}

/// Notes when a volume comes to another phase, unless the client does.
pub(crate) fn date_phase(live: &Value, object: &mut Value) {
    const TIME: &str = "lastPhaseTransitionTime";
    let (before, after) = (&live["status"], &object["status"]);
    if before["phase"] != after["phase"] && (after[TIME].is_null() || after[TIME] == before[TIME]) {
        object["status"][TIME] = metadata::now().into();
    }
}

fn node(object: &mut Value) {
    let spec = &mut object["spec"];
    match (spec["podCIDR"].as_str(), spec["podCIDRs"][0].as_str()) {
        (None | Some(""), Some(first)) => spec["podCIDR"] = first.to_owned().into(),
        (Some(range), first) if !range.is_empty() && first != Some(range) => {
            spec["podCIDRs"] = json!([range]);
        }
        _ => {}
    }
    let status = &mut object["status"];
    let capacity = status["capacity"].clone();
    if !capacity.is_null() {
        absent(&mut status["allocatable"], capacity);
    }
}

/// A node is not ready before a controller says so.
pub(crate) fn admit_node(object: &mut Value) {
    let taint = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
    let taints = &mut object["spec"]["taints"];
    absent(taints, json!([]));
    let is_it = |known: &Value| known["key"] == taint["key"] && known["effect"] == taint["effect"];
    if let Some(taints) = taints.as_array_mut()
        && !taints.iter().any(is_it)
    {
        taints.push(taint);
    }
}

fn protect(object: &mut Value, finalizer: &str) {
    let finalizers = &mut object["metadata"]["finalizers"];
    absent(finalizers, json!([]));
    if let Some(finalizers) = finalizers.as_array_mut()
        && !finalizers.iter().any(|known| known == finalizer)
    {
        finalizers.push(finalizer.into());
    }
}

/// What the admission of a claim adds, and how it begins.
pub(crate) fn admit_claim(object: &mut Value) {
    protect(object, CLAIM);
    object["status"] = json!({"phase": "Pending"});
}

fn network_policy(object: &mut Value) {
    let spec = &mut object["spec"];
    for (rules, _) in [("ingress", "from"), ("egress", "to")] {
        for rule in items(spec, rules) {
            for port in items(rule, "ports") {
                fields(port, &[("protocol", json!("TCP"))]);
            }
        }
    }
    let has_egress = spec["egress"]
        .as_array()
        .is_some_and(|rules| !rules.is_empty());
    absent(
        &mut spec["policyTypes"],
        if has_egress {
            json!(["Ingress", "Egress"])
        } else {
            json!(["Ingress"])
        },
    );
}

fn binding(object: &mut Value) {
    const GROUP: &str = "rbac.authorization.k8s.io";
    fields(&mut object["roleRef"], &[("apiGroup", json!(GROUP))]);
    for subject in items(object, "subjects") {
        if subject["kind"] != "ServiceAccount" {
            fields(subject, &[("apiGroup", json!(GROUP))]);
        }
    }
}

pub(crate) const CLAIM: &str = "kubernetes.io/pvc-protection";
