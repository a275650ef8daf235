//! Protects claims and volumes as long as [something uses them], and removes them after the last use.
//!
//! [something uses them]: https://kubernetes.io/docs/concepts/storage/persistent-volumes/#storage-object-in-use-protection

use serde_json::Value;

use super::edit::{Actor, edit};
use crate::kinds::claim::PROTECTION as CLAIM;
use crate::kinds::pod::claims;
use crate::kinds::resource::{PODS, VOLUME_CLAIMS, VOLUMES};
use crate::kinds::volume::PROTECTION as VOLUME;
use crate::model::Key;
use crate::model::metadata::{finalizers, is_deleting, remove_finalizer};
use crate::store::{State, Store};

/// Removes the finalizer of a claim or volume that is being deleted, if nothing uses it.
pub(crate) fn unprotect(state: &mut State, key: &Key) {
    let finalizer = match key.resource() {
        VOLUME_CLAIMS => CLAIM,
        VOLUMES => VOLUME,
        _ => return,
    };
    let Some(object) = state.store.find(key) else {
        return;
    };
    if !is_deleting(&object) || !finalizers(&object).contains(&finalizer) {
        return;
    }
    let is_used = match finalizer {
        // the kubelet starts no pod with a claim that is being deleted, so only pods with a node count, including finished ones
        CLAIM => users(&state.store, key).any(|pod| !node(pod).is_empty()),
        _ => object["status"]["phase"] == "Bound",
    };
    if !is_used {
        edit(state, key, Actor::Controllers, |object| {
            remove_finalizer(object, finalizer);
        });
    }
}

/// The pods that use a claim.
pub(crate) fn users<'a>(store: &'a Store, claim: &'a Key) -> impl Iterator<Item = &'a Value> {
    let pods = store.of_kind(PODS, &claim.namespace);
    pods.map(|(_, pod)| &**pod)
        .filter(|pod| claims(pod).any(|name| name == claim.name))
}

fn node(pod: &Value) -> &str {
    pod["spec"]["nodeName"].as_str().unwrap_or_default()
}
