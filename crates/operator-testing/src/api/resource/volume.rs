//! PersistentVolumes.

use serde_json::{Value, json};

use super::pod::fill_source;
use super::value::{fields, protect};
use crate::api::model::metadata;

/// Protects a volume from deletion while it is in use.
pub(crate) const PROTECTION: &str = "kubernetes.io/pv-protection";

/// Fills in what a volume has a default for.
pub(crate) fn fill(object: &mut Value) {
    let spec = &mut object["spec"];
    let defaults = [
        ("persistentVolumeReclaimPolicy", json!("Retain")),
        ("volumeMode", json!("Filesystem")),
    ];
    fields(spec, &defaults);
    fill_source(spec);
    fields(&mut object["status"], &[("phase", json!("Pending"))]);
}

/// What the admission of a volume adds, and how it begins.
pub(crate) fn admit(object: &mut Value) {
    protect(object, PROTECTION);
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
