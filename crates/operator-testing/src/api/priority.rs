//! [Priority classes]: the two that every cluster has, and what is admitted of others.
//!
//! [Priority classes]: https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/#priorityclass

use std::sync::Arc;

use serde_json::{Value, json};

use crate::api::State;
use crate::api::kind::Kind;
use crate::api::metadata::{self, name};
use crate::api::status::{Failure, Result};
use crate::api::store::Key;

pub(crate) const GROUP: &str = "scheduling.k8s.io";
pub(crate) const PLURAL: &str = "priorityclasses";

/// The names and values of the classes of the system, with what they are for.
pub(crate) const SYSTEM: [(&str, i64, &str); 2] = [
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
];

impl State {
    pub(crate) fn found_priority_classes(&mut self) {
        for (name, value, description) in SYSTEM {
            let key = Key {
                group: GROUP.into(),
                plural: PLURAL.into(),
                namespace: String::new(),
                name: name.into(),
            };
            let class = json!({
                "kind": "PriorityClass",
                "apiVersion": "scheduling.k8s.io/v1",
                "metadata": {"name": name, "generation": 1, "managedFields": [{
                    "manager": "kube-apiserver",
                    "operation": "Update",
                    "apiVersion": "scheduling.k8s.io/v1",
                    "time": metadata::now(),
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:description": {}, "f:preemptionPolicy": {}, "f:value": {}},
                }]},
                "value": value,
                "description": description,
                "preemptionPolicy": "PreemptLowerPriority",
            });
            self.found(key, class);
        }
    }

    /// The class of pods that name none.
    pub(crate) fn default_priority_class(&self) -> Option<Arc<Value>> {
        let classes = self.store.of_kind(GROUP, PLURAL, "").map(|(_, it)| it);
        let defaults = classes.filter(|class| class["globalDefault"] == true);
        defaults
            .min_by_key(|class| class["value"].as_i64())
            .cloned()
    }

    /// Refuses a second default class.
    pub(crate) fn check_default_class(
        &self,
        kind: &Kind,
        is_new: bool,
        object: &Value,
    ) -> Result<()> {
        if !kind.is(GROUP, PLURAL) || object["globalDefault"] != true {
            return Ok(());
        }
        match self.default_priority_class() {
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
}
