//! PersistentVolumeClaims.

use serde_json::{Value, json};

use super::resource::VOLUME_CLAIMS;
use super::rule::field::{
    immutable, invalid, is_empty, is_same, list, only, refuse, text, without,
};
use super::rule::selector;
use super::strategy::{Controller, Enqueue, Strategy};
use super::value::{drop_fields, protect, set_if_empty, set_if_null};
use crate::go::quantity;
use crate::model::{Cause, name};

pub(crate) const CLAIM: Strategy = Strategy {
    set_defaults,
    admit,
    drop_disabled_fields: |live, claim| set_sources(&live["spec"], &mut claim["spec"]),
    validate: check,
    returns_deleted: true,
    enqueues: &[Enqueue::WaitingPods],
    controller: Some(Controller::Claim),
    cells: cells!(core::claim),
    ..Strategy::of(VOLUME_CLAIMS)
};

const CHANGE: &str = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";

fn check(live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    spec(&object["spec"], "spec", causes);
    if let Some(live) = live {
        check_change(live, object, causes);
    }
}

/// Checks an update. Of a bound claim, only the size and the VolumeAttributesClass may change.
fn check_change(live: &Value, object: &Value, causes: &mut Vec<Cause>) {
    let (old, new) = (&live["spec"], &object["spec"]);
    let size = |spec: &Value| spec["resources"]["requests"]["storage"].clone();
    let is_bound = object["status"]["phase"] == "Bound";
    let fixed = |spec: &Value| {
        let mut spec = spec.clone();
        if is_empty(&old["volumeName"]) {
            spec = without(&spec, &["volumeName"]);
        }
        if is_bound {
            spec = without(&spec, &["volumeAttributesClassName"]);
        }
        if old["storageClassName"].is_null() {
            spec = without(&spec, &["storageClassName"]);
        }
        if is_bound && spec["resources"]["requests"].is_object() {
            spec["resources"]["requests"]["storage"] = size(old);
        }
        spec
    };
    if !is_same(&fixed(old), &fixed(new)) {
        causes.push(Cause::forbidden("spec", CHANGE));
    }
    let amount = |size: &Value| size.as_str().unwrap_or("0").to_owned();
    let (was, wanted) = (amount(&size(old)), amount(&size(new)));
    let has = amount(&live["status"]["capacity"]["storage"]);
    if quantity::is_more(&was, &wanted) && !quantity::is_more(&wanted, &has) {
        let why = "field can not be less than status.capacity";
        causes.push(Cause::forbidden("spec.resources.requests.storage", why));
    }
    immutable("", (old, new), "volumeMode", causes);
}

/// Checks the spec of a claim at `path`.
pub(crate) fn spec(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    let (modes, field) = (list(spec, "accessModes"), format!("{path}.accessModes"));
    if modes.is_empty() {
        let why = "at least 1 access mode is required";
        causes.push(Cause::required(&field, why));
    }
    selector::terms(&format!("{path}.selector"), &spec["selector"], causes);
    for mode in modes {
        let known = [
            "ReadOnlyMany",
            "ReadWriteMany",
            "ReadWriteOnce",
            "ReadWriteOncePod",
        ];
        only(&field, mode, &known, causes);
    }
    let is_for_one = |mode: &&Value| **mode == "ReadWriteOncePod";
    let alone = modes.iter().filter(is_for_one).count();
    if alone > 0 && alone < modes.len() {
        let why = "may not use ReadWriteOncePod with other access modes";
        causes.push(Cause::forbidden(field, why));
    }
    let storage = &spec["resources"]["requests"]["storage"];
    let field = format!("{path}.resources[storage]");
    match storage.as_str() {
        None => causes.push(Cause::required(field, "")),
        Some(found) if found == "0" || found.starts_with('-') => {
            causes.push(invalid(field, storage, "must be greater than zero"));
        }
        Some(_) => {}
    }
    let class = text(spec, "storageClassName");
    if !class.is_empty() {
        let field = format!("{path}.storageClassName");
        refuse(&field, class, name::bad_subdomain(class), causes);
    }
    if !is_empty(&spec["volumeMode"]) {
        only(
            &format!("{path}.volumeMode"),
            &spec["volumeMode"],
            &["Block", "Filesystem"],
            causes,
        );
    }
    sources(spec, path, causes);
}

/// Checks the data source of a claim.
fn sources(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    for name in ["dataSource", "dataSourceRef"] {
        let (source, path) = (&spec[name], format!("{path}.{name}"));
        if source.is_null() {
            continue;
        }
        for part in ["name", "kind"] {
            if is_empty(&source[part]) {
                causes.push(Cause::required(format!("{path}.{part}"), ""));
            }
        }
        let group = text(source, "apiGroup");
        if !group.is_empty() {
            let field = format!("{path}.apiGroup");
            refuse(&field, group, name::bad_subdomain(group), causes);
        } else if source["kind"] != "PersistentVolumeClaim" {
            let why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
            causes.push(invalid(&path, &source["kind"], why));
        }
    }
    let (older, newer) = (&spec["dataSource"], &spec["dataSourceRef"]);
    let is_other = |part| older[part] != newer[part];
    if older.is_object()
        && newer.is_object()
        && is_empty(&newer["namespace"])
        && ["apiGroup", "kind", "name"].into_iter().any(is_other)
    {
        causes.push(invalid(path, "{}", "must match dataSourceRef"));
    }
}

/// The finalizer that protects a claim from deletion while a pod uses it.
pub(crate) const PROTECTION: &str = "kubernetes.io/pvc-protection";

pub(crate) fn set_defaults(object: &mut Value) {
    set_if_empty(&mut object["spec"], &[("volumeMode", json!("Filesystem"))]);
    set_if_empty(&mut object["status"], &[("phase", json!("Pending"))]);
    for source in ["dataSource", "dataSourceRef"] {
        let source = object["spec"].get_mut(source);
        if let Some(source) = source.and_then(Value::as_object_mut) {
            source.entry("apiGroup").or_insert(Value::Null);
        }
    }
}

/// Sets the finalizer that admission adds to a claim, and its initial phase.
fn admit(object: &mut Value) {
    protect(object, PROTECTION);
    object["status"] = json!({"phase": "Pending"});
}

/// Synchronizes the [two fields] for the data source of a claim; the older one supports only claims and snapshots.
///
/// [two fields]: https://kubernetes.io/docs/concepts/storage/persistent-volumes/#data-source-references
fn set_sources(live: &Value, spec: &mut Value) {
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
            set_if_null(&mut spec[to], source);
        }
    }
    for field in ["dataSource", "dataSourceRef"] {
        if spec[field].is_null() {
            drop_fields(spec, &[field]);
        }
    }
}
