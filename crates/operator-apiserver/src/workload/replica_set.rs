//! ReplicaSets: create and replace pods to match their replicas.

use std::sync::Arc;

use serde_json::{Value, json};

use super::actor::CONTROLLERS;
use super::field::{
    annotation, available_in, by_age, counts, is_active, is_over, is_ready, until_available,
};
use super::{Controllers, template};
use crate::kinds::resource::PODS;
use crate::model::condition::condition;
use crate::model::json::{list, number};
use crate::model::label::selects;
use crate::model::metadata::{is_deleting, now, text};
use crate::model::{Failure, Key};

const COMPONENT: &str = "replicaset-controller";

/// The maximum number of pods to create or delete in one pass.
const BURST: usize = 500;

impl Controllers<'_> {
    pub(super) fn sync_replica_set(&mut self, key: &Key) {
        let Some(set) = self.state.store.find(key) else {
            return;
        };
        let pods = self.claim(&set, PODS, is_active);
        let failure = if is_deleting(&set) {
            None
        } else {
            self.scale_pods(&set, &pods).err()
        };
        let owned = self.controlled(&set, PODS);
        let is_leaving = |pod: &&Arc<Value>| is_deleting(pod) && !is_over(pod);
        let terminating = owned.iter().filter(is_leaving).count();
        let wait = number(&set["spec"]["minReadySeconds"]);
        if let Some(time) = until_available(&pods, wait) {
            self.requeue_after(key, time);
        }
        let status = status(&set, &pods, terminating, failure.as_ref());
        // if the write fails, the next change retries it
        let _written = self.write_status(CONTROLLERS, &set, status);
    }

    fn scale_pods(&mut self, set: &Value, pods: &[Arc<Value>]) -> Result<(), Failure> {
        let wanted = usize::try_from(number(&set["spec"]["replicas"])).unwrap_or_default();
        for _ in 0..wanted.saturating_sub(pods.len()).min(BURST) {
            let pod = template::pod(&set["spec"]["template"], set);
            self.make_pod(COMPONENT, set, pod)?;
        }
        let mut pods: Vec<&Value> = pods.iter().map(Arc::as_ref).collect();
        pods.sort_by_cached_key(|pod| deletion_rank(pod));
        for pod in pods
            .iter()
            .take(pods.len().saturating_sub(wanted).min(BURST))
        {
            self.drop_pod(COMPONENT, set, pod);
        }
        Ok(())
    }
}

/// The rank of a pod for deletion: pods that do not run first, then pods that are not ready, then by the deletion cost in their annotation,
/// then the youngest.
fn deletion_rank(pod: &Value) -> (bool, bool, bool, i64, std::cmp::Reverse<(String, String)>) {
    let is_placed = pod["spec"]["nodeName"].is_string();
    let is_running = pod["status"]["phase"] == "Running";
    let cost = annotation(pod, "controller.kubernetes.io/pod-deletion-cost");
    let cost = cost.parse().unwrap_or_default();
    let age = std::cmp::Reverse(by_age(pod));
    (is_placed, is_running, is_ready(pod), cost, age)
}

fn status(
    set: &Value,
    pods: &[Arc<Value>],
    terminating: usize,
    failure: Option<&Failure>,
) -> Value {
    let spec = &set["spec"];
    let count = |fits: &dyn Fn(&Value) -> bool| -> i64 {
        let pods = pods.iter().filter(|pod| fits(pod));
        i64::try_from(pods.count()).unwrap_or(i64::MAX)
    };
    let wait = number(&spec["minReadySeconds"]);
    let labels = json!({"matchLabels": spec["template"]["metadata"]["labels"]});
    let mut status = counts(&[
        (
            "fullyLabeledReplicas",
            count(&|pod| selects(&labels, &pod["metadata"]["labels"])),
        ),
        ("readyReplicas", count(&is_ready)),
        (
            "availableReplicas",
            count(&|pod| available_in(pod, wait) == Some(0)),
        ),
        ("observedGeneration", number(&set["metadata"]["generation"])),
    ]);
    status.insert("replicas".into(), pods.len().into());
    status.insert("terminatingReplicas".into(), terminating.into());
    let known = condition(set, "ReplicaFailure");
    let mut conditions = list(&set["status"], "conditions").to_vec();
    match (failure, known) {
        (Some(failure), None) => conditions.push(json!({
            "type": "ReplicaFailure",
            "status": "True",
            "lastTransitionTime": now(),
            "reason": "FailedCreate",
            "message": failure.message,
        })),
        (None, Some(_)) => conditions.retain(|condition| condition["type"] != "ReplicaFailure"),
        _ => {}
    }
    if !conditions.is_empty() {
        status.insert("conditions".into(), conditions.into());
    }
    status.into()
}

/// The desired replicas of a ReplicaSet.
pub(super) fn replicas(set: &Value) -> i64 {
    number(&set["spec"]["replicas"])
}

/// The sort key for the age of ReplicaSets.
pub(super) fn age(set: &Value) -> (String, u64) {
    let revision = annotation(set, "deployment.kubernetes.io/revision");
    let created = text(set, "creationTimestamp").to_owned();
    // creation times are whole seconds, so the revision decides between equal ones
    (created, revision.parse().unwrap_or_default())
}
