//! The status of PodDisruptionBudgets: how many of the selected pods are healthy, and how many may be evicted.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::actor::CONTROLLERS;
use super::enqueue::workload_of;
use super::field::{self, controller, is_ready, seconds};
use super::{Controllers, deployment};
use crate::kinds::resource::{PODS, REPLICA_SETS};
use crate::model::Key;
use crate::model::condition::condition;
use crate::model::json::entries;
use crate::model::json::number;
use crate::model::label::selects;
use crate::model::metadata::{is_deleting, name, now, text};

/// How long an evicted pod counts as disrupted, in seconds.
const DISRUPTED: i64 = 120;

impl Controllers<'_> {
    pub(super) fn sync_budget(&mut self, key: &Key) {
        let Some(budget) = self.state.store.find(key) else {
            return;
        };
        let status = match self.budget_status(key, &budget) {
            Ok(status) => status,
            Err(why) => {
                let mut status = budget["status"].clone();
                status["disruptionsAllowed"] = 0.into();
                status["observedGeneration"] = budget["metadata"]["generation"].clone();
                status["conditions"] = allowed(&budget, "False", "SyncFailed", &why);
                status
            }
        };
        // It fails only for a budget that was deleted meanwhile.
        let _written = self.write_status(CONTROLLERS, &budget, status);
    }

    /// The new status of a budget, or why the number of expected pods is unknown.
    fn budget_status(&mut self, key: &Key, budget: &Value) -> Result<Value, String> {
        let selector = &budget["spec"]["selector"];
        let pods = self.state.store.of_kind(PODS, &key.namespace);
        let is_meant =
            |pod: &Value| !selector.is_null() && selects(selector, &pod["metadata"]["labels"]);
        let pods: Vec<Value> = pods
            .filter(|(_, pod)| is_meant(pod))
            .map(|(_, pod)| Value::clone(pod))
            .collect();
        let (expected, desired) = self.expected(budget, &pods)?;
        let mut disrupted = BTreeMap::new();
        for (pod, since) in entries(&budget["status"]["disruptedPods"]) {
            let is_there = pods.iter().any(|it| name(it) == pod && !is_deleting(it));
            let left = seconds(since).unwrap_or_default() + DISRUPTED - field::now();
            if is_there && left > 0 {
                disrupted.insert(pod.clone(), since.clone());
                self.requeue_after(key, Duration::from_secs(left.unsigned_abs()));
            }
        }
        let is_healthy =
            |pod: &&Value| is_ready(pod) && !is_deleting(pod) && !disrupted.contains_key(name(pod));
        let healthy = pods.iter().filter(is_healthy).count();
        let healthy = i64::try_from(healthy).unwrap_or(i64::MAX);
        let disruptions = match expected {
            ..=0 => 0,
            _ => (healthy - desired).max(0),
        };
        let conditions = match disruptions {
            0 => allowed(budget, "False", "InsufficientPods", ""),
            _ => allowed(budget, "True", "SufficientPods", ""),
        };
        let mut status = json!({
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "disruptionsAllowed": disruptions,
            "expectedPods": expected,
            "observedGeneration": budget["metadata"]["generation"],
            "conditions": conditions,
        });
        if !disrupted.is_empty() {
            status["disruptedPods"] = json!(disrupted);
        }
        Ok(status)
    }

    /// The expected number of pods, and the number that must be healthy.
    fn expected(&mut self, budget: &Value, pods: &[Value]) -> Result<(i64, i64), String> {
        let spec = &budget["spec"];
        if let Some(least) = spec["minAvailable"].as_i64() {
            return Ok((i64::try_from(pods.len()).unwrap_or(i64::MAX), least));
        }
        let mut scales: BTreeMap<String, i64> = BTreeMap::new();
        for pod in pods {
            let Some(owner) = controller(pod).cloned() else {
                continue;
            };
            let (uid, scale) = self.scale_of(owner, text(pod, "namespace"))?;
            scales.insert(uid, scale);
        }
        let expected = scales.values().sum();
        let share = |field: &str| deployment::scaled_value(&spec[field], expected, true);
        Ok(if spec["maxUnavailable"].is_null() {
            (expected, share("minAvailable"))
        } else {
            (expected, (expected - share("maxUnavailable")).max(0))
        })
    }

    /// The uid and the replicas of the controller of a pod. If it is the ReplicaSet of a Deployment, those of the Deployment.
    fn scale_of(&mut self, owner: Value, namespace: &str) -> Result<(String, i64), String> {
        let mut owner = owner;
        if let Some(key) =
            workload_of(self.state, &owner, namespace).filter(|it| it.is(REPLICA_SETS))
            && let Some(set) = self.state.store.find(&key)
            && let Some(above) = controller(&set)
        {
            owner = above.clone();
        }
        let object = json!({
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "metadata": {"name": owner["name"], "namespace": namespace},
        });
        let scale = self.read_scale(CONTROLLERS, &object);
        let scale = scale.map_err(|failure| failure.message)?;
        let uid = owner["uid"].as_str().unwrap_or_default().to_owned();
        Ok((uid, number(&scale["spec"]["replicas"])))
    }
}

/// The conditions of a budget: only the one that reports whether disruptions are allowed.
fn allowed(budget: &Value, status: &str, reason: &str, message: &str) -> Value {
    const TYPE: &str = "DisruptionAllowed";
    let known = condition(budget, TYPE).filter(|known| known["status"] == status);
    let since = known.and_then(|known| known["lastTransitionTime"].as_str());
    json!([{
        "type": TYPE,
        "status": status,
        "observedGeneration": budget["metadata"]["generation"],
        "lastTransitionTime": since.map_or_else(now, str::to_owned),
        "reason": reason,
        "message": message,
    }])
}
