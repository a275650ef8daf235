//! The [priority classes] of pods, of which at most one is the default.
//!
//! [priority classes]: https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/#priorityclass

use std::sync::Arc;

use serde_json::Value;

use crate::kinds::resource::PRIORITY_CLASSES;
use crate::model::metadata::name;
use crate::model::{Failure, Kind, Result};
use crate::store::Store;

/// The class of pods that name none. If there are several defaults, the one with the lowest value applies.
pub(crate) fn default_priority_class(store: &Store) -> Option<Arc<Value>> {
    store
        .of_kind(PRIORITY_CLASSES, "")
        .map(|(_, it)| it)
        .filter(|class| class["globalDefault"] == true)
        .min_by_key(|class| class["value"].as_i64())
        .cloned()
}

/// Rejects a second default class.
pub(crate) fn check_default_class(
    store: &Store,
    kind: &Kind,
    is_new: bool,
    object: &Value,
) -> Result<()> {
    if !kind.is(PRIORITY_CLASSES) || object["globalDefault"] != true {
        return Ok(());
    }
    match default_priority_class(store) {
        Some(known) if is_new || name(&known) != name(object) => {
            let (known, name) = (name(&known), name(object));
            let message = format!(
                "{} {name:?} is forbidden: PriorityClass {known} is already marked as default. Only one default can exist",
                kind.qualified()
            );
            Err(Failure::forbidden(kind, name, message))
        }
        _ => Ok(()),
    }
}
