//! PersistentVolumes.

use serde_json::{Value, json};

use super::pod::fill_source;
use super::value::{fields, protect};
use crate::model::metadata;

/// The finalizer that protects a volume from deletion while it is in use.
pub(crate) const PROTECTION: &str = "kubernetes.io/pv-protection";

/// Sets the defaults of a volume.
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

/// Sets the finalizer that admission adds to a volume, and its initial phase.
pub(crate) fn admit(object: &mut Value) {
    protect(object, PROTECTION);
    object["status"] = json!({"phase": "Pending", "lastPhaseTransitionTime": metadata::now()});
}

/// Sets the time of a phase change, unless the client sets it.
pub(crate) fn date_phase(live: &Value, object: &mut Value) {
    const TIME: &str = "lastPhaseTransitionTime";
    let (before, after) = (&live["status"], &object["status"]);
    if before["phase"] != after["phase"] && (after[TIME].is_null() || after[TIME] == before[TIME]) {
        object["status"][TIME] = metadata::now().into();
    }
}
