//! The ReplicaSet of a Deployment's template, and the number of its revision.

use serde_json::{Map, Value, json};

use super::status::{has_deadline, set_condition};
use super::{COMPONENT, DESIRED, MOST, REVISION, Rollout, annotate, bounds, desired};
use crate::model::Result;
use crate::model::condition::condition;
use crate::model::json::entries;
use crate::model::json::number;
use crate::model::metadata::{name, text};
use crate::workload::actor::{CONTROLLERS, EventText};
use crate::workload::controllers::Controllers;
use crate::workload::field::{annotation, reference};
use crate::workload::template::{HASH, hash};

/// The annotation with the revisions of a ReplicaSet before a rollback.
const HISTORY: &str = "deployment.kubernetes.io/revision-history";

/// The annotations that a ReplicaSet does not copy from its Deployment.
const OWN: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "deprecated.deployment.rollback.to",
    REVISION,
    HISTORY,
    DESIRED,
    MOST,
];

/// Whether the Deployment itself was written.
#[derive(PartialEq)]
pub(super) enum DeploymentState {
    Unchanged,
    /// The write enqueues it again, so this pass ends.
    Changed,
}

impl Controllers<'_> {
    /// Updates the revision of the newest ReplicaSet.
    pub(super) fn note_revision(&mut self, rollout: &mut Rollout) -> Result<DeploymentState> {
        let next = next_revision(rollout);
        let Some(set) = &rollout.new else {
            return Ok(DeploymentState::Unchanged);
        };
        let deployment = &rollout.deployment;
        let mut noted = set.clone();
        inherit_annotations(&mut noted, deployment, next);
        if noted["spec"]["minReadySeconds"] != deployment["spec"]["minReadySeconds"] {
            noted["spec"]["minReadySeconds"] = deployment["spec"]["minReadySeconds"].clone();
        }
        if noted != *set {
            rollout.new = Some(self.write(CONTROLLERS, &noted)?);
            return Ok(DeploymentState::Unchanged);
        }
        let found = format!("Found new replica set {:?}", name(set));
        let revision = annotation(set, REVISION).to_owned();
        let mut noted = deployment.clone();
        if condition(deployment, "Progressing").is_none() && has_deadline(deployment) {
            let known = ("Progressing", "True", "FoundNewReplicaSet", found.as_str());
            set_condition(&mut noted, known);
        }
        self.write_revision(rollout, noted, &revision)
    }

    /// Creates the ReplicaSet of a new template.
    pub(super) fn make_set(&mut self, rollout: &mut Rollout, size: i64) -> Result<DeploymentState> {
        let deployment = &rollout.deployment;
        let revision = next_revision(rollout);
        let collisions = number(&deployment["status"]["collisionCount"]);
        let hash = hash(&deployment["spec"]["template"], collisions);
        let mut template = deployment["spec"]["template"].clone();
        template["metadata"]["labels"][HASH] = hash.as_str().into();
        let mut selector = deployment["spec"]["selector"].clone();
        selector["matchLabels"][HASH] = hash.as_str().into();
        let stem: String = name(deployment).chars().take(252 - hash.len()).collect();
        let mut set = json!({
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": format!("{stem}-{hash}"),
                "namespace": text(deployment, "namespace"),
                "labels": template["metadata"]["labels"],
                "annotations": {},
                "ownerReferences": [reference(deployment)],
            },
            "spec": {"replicas": size, "selector": selector, "template": template},
        });
        let wait = &deployment["spec"]["minReadySeconds"];
        if !wait.is_null() {
            set["spec"]["minReadySeconds"] = wait.clone();
        }
        inherit_annotations(&mut set, deployment, revision);
        annotate(&mut set, deployment);
        let made = match self.make(CONTROLLERS, set) {
            Ok(made) => made,
            Err(failure) if failure.code == 409 => {
                // the name is already in use: with the new collision count, the next pass uses another one
                let mut noted = deployment.clone();
                noted["status"]["collisionCount"] = (collisions + 1).into();
                let status = noted["status"].take();
                self.write_status(CONTROLLERS, deployment, status)?;
                return Ok(DeploymentState::Changed);
            }
            Err(failure) => {
                let set = format!("{stem}-{hash}");
                let text = format!(
                    "Failed to create new replica set {set:?}: {}",
                    failure.message
                );
                let mut noted = deployment.clone();
                if has_deadline(deployment) {
                    let known = (
                        "Progressing",
                        "False",
                        "ReplicaSetCreateError",
                        text.as_str(),
                    );
                    set_condition(&mut noted, known);
                }
                let status = noted["status"].take();
                self.write_status(CONTROLLERS, deployment, status)?;
                let event = EventText::warning("ReplicaSetCreateError", &text);
                self.record_event(COMPONENT, deployment, event);
                return Err(failure);
            }
        };
        if size > 0 {
            self.record_scaling(deployment, &made, 0, size);
        }
        let mut noted = deployment.clone();
        if has_deadline(deployment) {
            let text = format!("Created new replica set {:?}", name(&made));
            let known = ("Progressing", "True", "NewReplicaSetCreated", text.as_str());
            set_condition(&mut noted, known);
        }
        rollout.new = Some(made);
        self.write_revision(rollout, noted, &revision.to_string())
    }

    /// Records the revision and a condition in the Deployment, if they have changed.
    fn write_revision(
        &mut self,
        rollout: &mut Rollout,
        mut noted: Value,
        revision: &str,
    ) -> Result<DeploymentState> {
        if noted["metadata"]["annotations"].is_null() {
            noted["metadata"]["annotations"] = json!({});
        }
        noted["metadata"]["annotations"][REVISION] = revision.into();
        if noted == rollout.deployment {
            return Ok(DeploymentState::Unchanged);
        }
        rollout.deployment = self.write_with_status(CONTROLLERS, &noted)?;
        Ok(DeploymentState::Changed)
    }
}

/// The maximum replicas of the newest ReplicaSet at this point of the rollout.
pub(super) fn size_of_new(rollout: &Rollout, size: i64) -> i64 {
    let desired = desired(&rollout.deployment);
    if rollout.deployment["spec"]["strategy"]["type"] == "Recreate" {
        return desired;
    }
    let (surge, _) = bounds(&rollout.deployment);
    let room = desired + surge - rollout.total();
    if room > 0 {
        size + room.min(desired - size)
    } else {
        size
    }
}

/// The number after those of the old ReplicaSets.
fn next_revision(rollout: &Rollout) -> i64 {
    let old = rollout
        .old
        .iter()
        .map(|set| annotation(set, REVISION).parse().unwrap_or_default());
    old.max().unwrap_or(0) + 1
}

/// Copies the annotations of the Deployment to a ReplicaSet, and sets its revision.
fn inherit_annotations(set: &mut Value, deployment: &Value, revision: i64) {
    let mut annotations = match set["metadata"]["annotations"].take() {
        Value::Object(annotations) => annotations,
        _ => Map::new(),
    };
    for (name, value) in entries(&deployment["metadata"]["annotations"]) {
        if !OWN.contains(&name.as_str()) {
            annotations.insert(name.clone(), value.clone());
        }
    }
    let known = annotations
        .get(REVISION)
        .and_then(Value::as_str)
        .map(str::to_owned);
    let before: i64 = known
        .as_deref()
        .map_or(Ok(0), str::parse)
        .unwrap_or(i64::MAX);
    if before < revision {
        annotations.insert(REVISION.into(), revision.to_string().into());
        if let Some(known) = known {
            let history = annotations.get(HISTORY).and_then(Value::as_str);
            let history = match history {
                Some(history) if !history.is_empty() => format!("{history},{known}"),
                _ => known,
            };
            annotations.insert(HISTORY.into(), history.into());
        }
    }
    set["metadata"]["annotations"] = annotations.into();
}
