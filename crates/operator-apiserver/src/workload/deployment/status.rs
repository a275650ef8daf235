//! The status of a Deployment: counts, and the conditions `Available` and `Progressing`, which `kubectl rollout status` reads.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Rollout, bounds, desired};
use crate::kinds::resource::DEPLOYMENTS;
use crate::model::Result;
use crate::model::condition::condition;
use crate::model::json::{list, number};
use crate::model::metadata::{name, now};
use crate::workload::actor::{CONTROLLERS, key};
use crate::workload::controllers::Controllers;
use crate::workload::field::{self, counts, seconds};

/// The type, status, reason and message of a condition.
type ConditionFields<'a> = (&'a str, &'a str, &'a str, &'a str);

impl Controllers<'_> {
    /// Writes the status without a rollout.
    pub(super) fn report(&mut self, rollout: &Rollout) -> Result<()> {
        let status = status(rollout);
        self.write_status(CONTROLLERS, &rollout.deployment, status)?;
        Ok(())
    }

    /// Writes the status of a rollout, with its progress.
    pub(super) fn report_progress(&mut self, rollout: &Rollout) -> Result<()> {
        let deployment = &rollout.deployment;
        let mut reported = deployment.clone();
        reported["status"] = status(rollout);
        let known = condition(deployment, "Progressing");
        let reason = known.map(|known| &known["reason"]);
        let status = &reported["status"];
        let is_done = status["replicas"] == status["updatedReplicas"]
            && reason.is_some_and(|reason| *reason == "NewReplicaSetAvailable");
        let subject = match &rollout.new {
            Some(set) => format!("ReplicaSet {:?}", name(set)),
            None => format!("Deployment {:?}", name(deployment)),
        };
        let mut text = subject.clone();
        if !has_deadline(deployment) {
            drop_condition(&mut reported, "Progressing");
        } else if is_done {
            // A rollout that is over makes no progress.
        } else if is_complete(deployment, status) {
            text += " has successfully progressed.";
            set_condition(
                &mut reported,
                ("Progressing", "True", "NewReplicaSetAvailable", &text),
            );
        } else if is_progressing(&deployment["status"], status) {
            text += " is progressing.";
            let since = known
                .filter(|known| known["status"] == "True")
                .map(|known| known["lastTransitionTime"].clone());
            // `set_condition` keeps a condition with the same reason, but `lastUpdateTime` must be that of the last progress
            drop_condition(&mut reported, "Progressing");
            set_condition(
                &mut reported,
                ("Progressing", "True", "ReplicaSetUpdated", &text),
            );
            if let Some(since) = since
                && let Some(last) = last_condition(&mut reported)
            {
                last["lastTransitionTime"] = since;
            }
        } else if self.is_late(deployment) {
            text += " has timed out progressing.";
            let late = (
                "Progressing",
                "False",
                "ProgressDeadlineExceeded",
                text.as_str(),
            );
            set_condition(&mut reported, late);
        }
        self.report_failure(rollout, &mut reported);
        let status = reported["status"].take();
        self.write_status(CONTROLLERS, deployment, status)?;
        Ok(())
    }

    /// Copies the condition of a ReplicaSet that cannot create its pods.
    fn report_failure(&self, rollout: &Rollout, reported: &mut Value) {
        let mut sets = rollout.new.iter().chain(&rollout.old);
        match sets.find_map(|set| condition(set, "ReplicaFailure")) {
            Some(failure) => {
                let field = |name: &str| failure[name].as_str().unwrap_or_default();
                let (status, reason, message) =
                    (field("status"), field("reason"), field("message"));
                set_condition(reported, ("ReplicaFailure", status, reason, message));
            }
            None => drop_condition(reported, "ReplicaFailure"),
        }
    }

    /// Whether a rollout has exceeded its progress deadline; otherwise, schedules the next check.
    fn is_late(&mut self, deployment: &Value) -> bool {
        let Some(known) = condition(deployment, "Progressing") else {
            return false;
        };
        match known["reason"].as_str() {
            Some("NewReplicaSetAvailable") => return false,
            Some("ProgressDeadlineExceeded") => return true,
            _ => {}
        }
        let allowed = number(&deployment["spec"]["progressDeadlineSeconds"]);
        let since = seconds(&known["lastUpdateTime"]).unwrap_or_else(field::now);
        let left = since + allowed - field::now();
        if left < 0 {
            return true;
        }
        let later = Duration::from_secs(left.unsigned_abs() + 1);
        let key = key(DEPLOYMENTS, deployment);
        self.requeue_after(&key, later);
        false
    }

    /// Sets the condition of a Deployment that is paused or resumed. Returns whether it has changed.
    pub(super) fn note_pause(&mut self, deployment: &Value) -> Result<bool> {
        let reason = condition(deployment, "Progressing").map(|known| &known["reason"]);
        let is_late = reason.is_some_and(|reason| *reason == "ProgressDeadlineExceeded");
        if !has_deadline(deployment) || is_late {
            return Ok(false);
        }
        let is_noted = reason.is_some_and(|reason| *reason == "DeploymentPaused");
        let known = match (deployment["spec"]["paused"] == true, is_noted) {
            (true, false) => ("DeploymentPaused", "Deployment is paused"),
            (false, true) => ("DeploymentResumed", "Deployment is resumed"),
            _ => return Ok(false),
        };
        let mut noted = deployment.clone();
        set_condition(&mut noted, ("Progressing", "Unknown", known.0, known.1));
        let status = noted["status"].take();
        self.write_status(CONTROLLERS, deployment, status)?;
        Ok(true)
    }
}

fn status(rollout: &Rollout) -> Value {
    let deployment = &rollout.deployment;
    let sum = |field: &str| -> i64 {
        let sets = rollout.sets();
        sets.map(|set| number(&set["status"][field])).sum()
    };
    let available = sum("availableReplicas");
    let new = rollout.new.as_ref();
    let mut status = counts(&[
        (
            "observedGeneration",
            number(&deployment["metadata"]["generation"]),
        ),
        ("replicas", sum("replicas")),
        (
            "updatedReplicas",
            new.map_or(0, |set| number(&set["status"]["replicas"])),
        ),
        ("readyReplicas", sum("readyReplicas")),
        ("availableReplicas", available),
        ("unavailableReplicas", (rollout.total() - available).max(0)),
    ]);
    let is_counted = |set: &Value| {
        let status = &set["status"];
        !status["terminatingReplicas"].is_null() || number(&status["observedGeneration"]) == 0
    };
    if rollout.sets().all(is_counted) {
        status.insert(
            "terminatingReplicas".into(),
            sum("terminatingReplicas").into(),
        );
    }
    for kept in ["collisionCount", "conditions"] {
        let value = &deployment["status"][kept];
        if !value.is_null() {
            status.insert(kept.into(), value.clone());
        }
    }
    let mut reported = json!({"status": status});
    let (_, fewer) = bounds(deployment);
    let known = if available >= desired(deployment) - fewer {
        (
            "True",
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.",
        )
    } else {
        (
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        )
    };
    set_condition(&mut reported, ("Available", known.0, known.1, known.2));
    reported["status"].take()
}

/// Whether all pods have the newest template, and are available.
pub(super) fn is_complete(deployment: &Value, status: &Value) -> bool {
    let desired = desired(deployment);
    ["updatedReplicas", "replicas", "availableReplicas"]
        .iter()
        .all(|field| number(&status[*field]) == desired)
        && number(&status["observedGeneration"]) >= number(&deployment["metadata"]["generation"])
}

/// Whether a rollout has come closer to its end.
fn is_progressing(before: &Value, after: &Value) -> bool {
    let old = |status: &Value| number(&status["replicas"]) - number(&status["updatedReplicas"]);
    let grows = |field: &str| number(&after[field]) > number(&before[field]);
    grows("updatedReplicas")
        || old(after) < old(before)
        || grows("readyReplicas")
        || grows("availableReplicas")
}

/// Whether a Deployment has a progress deadline; the maximum of its type means none.
pub(super) fn has_deadline(deployment: &Value) -> bool {
    let deadline = &deployment["spec"]["progressDeadlineSeconds"];
    deadline
        .as_i64()
        .is_some_and(|deadline| deadline != i64::from(i32::MAX))
}

/// Sets a condition, unless it already has this status and reason.
pub(super) fn set_condition(
    object: &mut Value,
    (type_, status, reason, message): ConditionFields<'_>,
) {
    let known = condition(object, type_).cloned();
    let mut since = now();
    if let Some(known) = known.filter(|known| known["status"] == status) {
        if known["reason"] == reason {
            return;
        }
        if let Some(time) = known["lastTransitionTime"].as_str() {
            time.clone_into(&mut since);
        }
    }
    let mut conditions = list(&object["status"], "conditions").to_vec();
    conditions.retain(|condition| condition["type"] != type_);
    conditions.push(json!({
        "type": type_,
        "status": status,
        "lastUpdateTime": now(),
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }));
    object["status"]["conditions"] = conditions.into();
}

fn drop_condition(object: &mut Value, type_: &str) {
    if let Some(Value::Array(conditions)) = object["status"].get_mut("conditions") {
        conditions.retain(|condition| condition["type"] != type_);
        if conditions.is_empty()
            && let Some(status) = object["status"].as_object_mut()
        {
            status.shift_remove("conditions");
        }
    }
}

fn last_condition(object: &mut Value) -> Option<&mut Value> {
    let conditions = object["status"].get_mut("conditions")?;
    conditions.as_array_mut()?.last_mut()
}
