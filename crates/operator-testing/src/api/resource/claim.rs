//! PersistentVolumeClaims.

use serde_json::Value;

/// The claims that a pod wants.
pub(crate) fn claims(pod: &Value) -> impl Iterator<Item = &str> {
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    volumes.filter_map(|volume| volume["persistentVolumeClaim"]["claimName"].as_str())
}
