//! The deletion of a namespace: its objects are deleted first, then the namespace itself.

use serde_json::Value;

use super::collect::Actor;
use crate::kinds::resource::{NAMESPACES, PODS};
use crate::model::key::Key;
use crate::model::metadata::is_deleting;
use crate::store::state::State;
use crate::write::delete::Options;

impl State {
    /// Deletes the objects in namespaces that are being deleted, and removes the empty ones.
    pub(crate) fn sweep_namespaces(&mut self) {
        let ending: Vec<String> = self
            .store
            .of_kind(NAMESPACES, "")
            .filter(|(_, object)| is_deleting(object))
            .map(|(key, _)| key.name.clone())
            .collect();
        for namespace in ending {
            let inside = |state: &Self| -> Vec<Key> {
                let all = state.store.all().map(|(key, _)| key);
                all.filter(|key| key.namespace == namespace)
                    .cloned()
                    .collect()
            };
            let pods_alone = inside(self).iter().any(|key| key.is(PODS));
            for key in inside(self) {
                if pods_alone && !key.is(PODS) {
                    // All else waits for them.
                    continue;
                }
                let deleting = self
                    .store
                    .find(&key)
                    .is_none_or(|object| is_deleting(&object));
                if !deleting && let Some(kind) = self.registry.by_key(&key) {
                    // If the object no longer exists, there is nothing to do.
                    let _gone = self.delete_one(&kind, &key, &Options::now());
                }
            }
            if inside(self).is_empty() {
                self.edit(
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
}
