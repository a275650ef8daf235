//! PersistentVolumes.

use serde_json::{Value, json};

use super::pod::set_source_defaults;
use super::resource::VOLUMES;
use super::strategy::{Controller, Strategy};
use super::value::{protect, set_if_empty};
use crate::model::metadata;

pub(crate) const VOLUME: Strategy = Strategy {
    set_defaults,
    admit,
    prepare_for_update,
    returns_deleted: true,
    controller: Some(Controller::Volume),
    cells: cells!(cluster::volume),
    ..Strategy::of(VOLUMES)
};

/// The finalizer that protects a volume from deletion while it is in use.
pub(crate) const PROTECTION: &str = "kubernetes.io/pv-protection";

fn set_defaults(object: &mut Value) {
    let spec = &mut object["spec"];
    let defaults = [
        ("persistentVolumeReclaimPolicy", json!("Retain")),
        ("volumeMode", json!("Filesystem")),
    ];
    set_if_empty(spec, &defaults);
    set_source_defaults(spec);
    set_if_empty(&mut object["status"], &[("phase", json!("Pending"))]);
}

/// Sets the finalizer that admission adds to a volume, and its initial phase.
fn admit(object: &mut Value) {
    protect(object, PROTECTION);
    object["status"] = json!({"phase": "Pending", "lastPhaseTransitionTime": metadata::now()});
}

/// Sets the time of a phase change, unless the client sets it.
fn prepare_for_update(subresource: Option<&str>, live: &Value, object: &mut Value) {
    const TIME: &str = "lastPhaseTransitionTime";
    let (before, after) = (&live["status"], &object["status"]);
    let is_new = before["phase"] != after["phase"] && subresource == Some("status");
    if is_new && (after[TIME].is_null() || after[TIME] == before[TIME]) {
        object["status"][TIME] = metadata::now().into();
    }
}
