//! The deletion of a namespace: its objects are deleted first, then the namespace itself.

use serde_json::Value;

use super::edit::{Actor, edit};
use crate::kinds::resource::{NAMESPACES, PODS};
use crate::model::Key;
use crate::model::metadata::is_deleting;
use crate::store::State;
use crate::write::delete::{Options, delete_one};

/// Deletes the objects in namespaces that are being deleted, and removes the empty ones.
pub(crate) fn sweep_namespaces(state: &mut State) {
    let ending: Vec<String> = state
        .store
        .of_kind(NAMESPACES, "")
        .filter(|(_, object)| is_deleting(object))
        .map(|(key, _)| key.name.clone())
        .collect();
    for namespace in ending {
        let inside = |state: &State| -> Vec<Key> {
            let all = state.store.all().map(|(key, _)| key);
            all.filter(|key| key.namespace == namespace)
                .cloned()
                .collect()
        };
        let has_pods = inside(state).iter().any(|key| key.is(PODS));
        for key in inside(state) {
            if has_pods && !key.is(PODS) {
                // the other objects are deleted once there are no pods
                continue;
            }
            let deleting = state
                .store
                .find(&key)
                .is_none_or(|object| is_deleting(&object));
            if !deleting && let Some(kind) = state.registry.by_key(&key) {
                // If the object no longer exists, there is nothing to do.
                let _gone = delete_one(state, &kind, &key, &Options::now());
            }
        }
        if inside(state).is_empty() {
            edit(
                state,
                &Key::new(NAMESPACES, "", &namespace),
                Actor::Controllers,
                |object| {
                    if let Some(Value::Object(spec)) = object.get_mut("spec") {
                        spec.shift_remove("finalizers");
                    }
                },
            );
        }
    }
}
