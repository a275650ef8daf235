//! Which objects a workload controls.

use std::sync::Arc;

use serde_json::Value;

use super::actor::{CONTROLLERS, adopt, release};
use super::controllers::Controllers;
use super::field::{controller, is_controlled_by, reference};
use crate::kinds::resource::Resource;
use crate::model::label::selects;
use crate::model::metadata::{is_deleting, text};

impl Controllers<'_> {
    /// The objects of a kind that a workload controls. It releases objects that it no longer selects, and adopts those that it selects and
    /// nobody controls, if `is_wanted`.
    pub(super) fn claim(
        &mut self,
        owner: &Value,
        resource: Resource,
        is_wanted: impl Fn(&Value) -> bool,
    ) -> Vec<Arc<Value>> {
        let namespace = text(owner, "namespace");
        let all = self.state.store.of_kind(resource, namespace);
        let all: Vec<Arc<Value>> = all
            .filter(|(_, object)| is_controlled_by(object, owner) || controller(object).is_none())
            .map(|(_, object)| object.clone())
            .collect();
        let mut claimed = Vec::new();
        for object in all {
            let is_own = is_controlled_by(&object, owner);
            let is_selected = selects(&owner["spec"]["selector"], &object["metadata"]["labels"]);
            if is_own == is_selected || is_deleting(owner) || !is_wanted(&object) {
                if is_own && is_wanted(&object) {
                    claimed.push(object);
                }
                continue;
            }
            let mut object = Value::clone(&object);
            if is_own {
                release(&mut object, owner);
                // Objects that were deleted meanwhile are skipped.
                let _released = self.write(CONTROLLERS, &object);
            } else if !is_deleting(&object) {
                adopt(&mut object, reference(owner));
                claimed.extend(self.write(CONTROLLERS, &object).map(Arc::new));
            }
        }
        claimed
    }

    /// The objects of a kind that an object controls.
    pub(super) fn controlled(&self, owner: &Value, resource: Resource) -> Vec<Arc<Value>> {
        let namespace = text(owner, "namespace");
        let all = self.state.store.of_kind(resource, namespace);
        all.filter(|(_, object)| is_controlled_by(object, owner))
            .map(|(_, object)| object.clone())
            .collect()
    }
}

/// Copies of objects, which can be changed.
pub(super) fn copies(objects: Vec<Arc<Value>>) -> Vec<Value> {
    objects.into_iter().map(Arc::unwrap_or_clone).collect()
}
