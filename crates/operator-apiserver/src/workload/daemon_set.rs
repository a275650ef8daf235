//! DaemonSets: a pod on each matching node. There is one node, unless the test created others.

use serde_json::{Value, json};

use super::actor::CONTROLLERS;
use super::child::copies;
use super::field::{annotation, available_in, by_age, counts, is_over, is_ready, until_available};
use super::history::{REVISION, hash, revision_of};
use super::pod::{fits, target};
use super::{Controllers, template};
use crate::kinds::resource::{NODES, PODS};
use crate::model::json::{list, number};
use crate::model::metadata::is_deleting;
use crate::model::{Key, Result};

const COMPONENT: &str = "daemonset-controller";
const GENERATION: &str = "deprecated.daemonset.template.generation";

impl Controllers<'_> {
    pub(super) fn sync_daemon_set(&mut self, key: &Key) {
        let Some(set) = self.state.store.find(key) else {
            return;
        };
        // If an object cannot be created, an event reports it, and the next change retries.
        let _done = self.step_daemon_set(key, &set);
    }

    fn step_daemon_set(&mut self, key: &Key, set: &Value) -> Result<()> {
        if is_deleting(set) {
            return Ok(());
        }
        let revisions = self.revise(set)?;
        let update = hash(&revisions[revisions.len() - 1]).to_owned();
        let mut pods = copies(self.claim(set, PODS, |_| true));
        pods.sort_by_cached_key(by_age);
        let wait = number(&set["spec"]["minReadySeconds"]);
        if let Some(time) = until_available(&pods, wait) {
            self.requeue_after(key, time);
        }
        let shape = template::pod(&set["spec"]["template"], set);
        let nodes = self.state.store.of_kind(NODES, "");
        let nodes: Vec<(String, bool)> = nodes
            .map(|(key, node)| (key.name.clone(), fits(node, &shape)))
            .collect();
        let status = status(set, &nodes, &pods, &update);
        let mut failed = Ok(());
        for (node, fits) in &nodes {
            let mut is_taken = false;
            for pod in pods.iter().filter(|pod| target(pod) == Some(node)) {
                let is_wanted = *fits && !is_taken && !is_over(pod);
                if !is_wanted && !is_deleting(pod) {
                    self.drop_pod(COMPONENT, set, pod);
                }
                // A pod that is being deleted still occupies its node.
                is_taken = true;
            }
            if *fits && !is_taken {
                let pod = pod(set, shape.clone(), node, &update);
                if let Err(failure) = self.make_pod(COMPONENT, set, pod) {
                    failed = Err(failure);
                    break;
                }
            }
        }
        if set["spec"]["updateStrategy"]["type"] == "RollingUpdate" {
            self.update_daemons(set, &pods, &update);
        }
        let mut live = vec![update.as_str()];
        live.extend(pods.iter().map(revision_of));
        self.forget_revisions(set, &revisions, &live);
        self.write_status(CONTROLLERS, set, status)?;
        failed
    }

    /// Replaces pods with an old template, at most as many at once as may be unavailable.
    fn update_daemons(&mut self, set: &Value, pods: &[Value], update: &str) {
        let rolling = &set["spec"]["updateStrategy"]["rollingUpdate"];
        let total = i64::try_from(pods.len()).unwrap_or(i64::MAX);
        let share = |field: &str| super::deployment::scaled_value(&rolling[field], total, true);
        let most = share("maxUnavailable").max(share("maxSurge")).max(1);
        let wait = number(&set["spec"]["minReadySeconds"]);
        let (available, unavailable): (Vec<&Value>, Vec<&Value>) = pods
            .iter()
            .partition(|pod| available_in(pod, wait) == Some(0) && !is_deleting(pod));
        let is_old = |pod: &&Value| revision_of(pod) != update && !is_deleting(pod);
        let left = most - i64::try_from(unavailable.len()).unwrap_or(i64::MAX);
        let left = usize::try_from(left).unwrap_or_default();
        let unavailable = unavailable.into_iter().filter(is_old);
        let next = available.into_iter().filter(is_old).take(left);
        for pod in unavailable.chain(next) {
            self.drop_pod(COMPONENT, set, pod);
        }
    }
}

/// The pod of a DaemonSet for a node, with the affinity and the tolerations that the real controller adds.
fn pod(set: &Value, mut pod: Value, node: &str, update: &str) -> Value {
    let labels = &mut pod["metadata"]["labels"];
    labels[REVISION] = update.into();
    labels["pod-template-generation"] = annotation(set, GENERATION).into();
    let spec = &mut pod["spec"];
    let field = json!({"key": "metadata.name", "operator": "In", "values": [node]});
    let required =
        &mut spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    match required["nodeSelectorTerms"].as_array_mut() {
        Some(terms) => terms
            .iter_mut()
            .for_each(|term| term["matchFields"] = json!([field])),
        None => *required = json!({"nodeSelectorTerms": [{"matchFields": [field]}]}),
    }
    let mut tolerations = list(spec, "tolerations").to_vec();
    let mut tolerated = vec![
        ("node.kubernetes.io/not-ready", "NoExecute"),
        ("node.kubernetes.io/unreachable", "NoExecute"),
        ("node.kubernetes.io/disk-pressure", "NoSchedule"),
        ("node.kubernetes.io/memory-pressure", "NoSchedule"),
        ("node.kubernetes.io/pid-pressure", "NoSchedule"),
        ("node.kubernetes.io/unschedulable", "NoSchedule"),
    ];
    if spec["hostNetwork"] == true {
        tolerated.push(("node.kubernetes.io/network-unavailable", "NoSchedule"));
    }
    for (key, effect) in tolerated {
        tolerations.push(json!({"effect": effect, "key": key, "operator": "Exists"}));
    }
    spec["tolerations"] = tolerations.into();
    pod
}

fn status(set: &Value, nodes: &[(String, bool)], pods: &[Value], update: &str) -> Value {
    let wait = number(&set["spec"]["minReadySeconds"]);
    let of = |node: &str| pods.iter().find(|pod| target(pod) == Some(node));
    let wanted = nodes.iter().filter(|(_, fits)| *fits);
    let desired = wanted.clone().count();
    let scheduled: Vec<&Value> = wanted.filter_map(|(node, _)| of(node)).collect();
    let count = |fits: &dyn Fn(&Value) -> bool| -> i64 {
        let pods = scheduled.iter().filter(|pod| fits(pod));
        i64::try_from(pods.count()).unwrap_or(i64::MAX)
    };
    let available = count(&|pod| available_in(pod, wait) == Some(0));
    let desired = i64::try_from(desired).unwrap_or(i64::MAX);
    let elsewhere = nodes
        .iter()
        .filter(|(node, fits)| !fits && of(node).is_some());
    let mut status = counts(&[
        ("observedGeneration", number(&set["metadata"]["generation"])),
        (
            "updatedNumberScheduled",
            count(&|pod| revision_of(pod) == update),
        ),
        ("numberAvailable", available),
        ("numberUnavailable", desired - available),
    ]);
    status.insert("currentNumberScheduled".into(), scheduled.len().into());
    status.insert("desiredNumberScheduled".into(), desired.into());
    status.insert("numberMisscheduled".into(), elsewhere.count().into());
    status.insert("numberReady".into(), count(&is_ready).into());
    for kept in ["collisionCount", "conditions"] {
        let value = &set["status"][kept];
        if !value.is_null() {
            status.insert(kept.into(), value.clone());
        }
    }
    status.into()
}
