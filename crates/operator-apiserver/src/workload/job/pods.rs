//! Creates the pods of a Job: at most as many as may run at once and are still needed.

use serde_json::{Value, json};

use super::index::INDEX;
use super::{COMPONENT, Pass, TRACKING};
use crate::model::json::{list, number};
use crate::model::metadata::{self, is_deleting, name, text};
use crate::model::{Key, Result};
use crate::workload::actor::MOST_PODS;
use crate::workload::field::is_ready;
use crate::workload::pod::backoff;
use crate::workload::{Controllers, template};

impl Controllers<'_> {
    /// Creates missing pods, or deletes surplus ones.
    pub(super) fn manage_pods(&mut self, key: &Key, pass: &mut Pass) -> Result<()> {
        let active = i64::try_from(pass.active.len()).unwrap_or(i64::MAX);
        let wanted = wanted(pass, active);
        if active > wanted {
            pass.active.sort_by_cached_key(|pod| !is_ready(pod));
            for _ in wanted..active {
                if let Some(pod) = pass.active.pop() {
                    self.drop_pod(COMPONENT, &pass.job, &pod);
                    pass.terminating += i64::from(pod["spec"]["nodeName"].is_string());
                }
            }
            return Ok(());
        }
        let mut missing = wanted - active;
        if pass.job["spec"]["podReplacementPolicy"] == "Failed" {
            missing -= pass.terminating;
        }
        if missing <= 0 || self.waits_to_retry(key, pass) {
            return Ok(());
        }
        // one more than the server allows, so that its creation fails and is reported
        let count = usize::try_from(missing)
            .unwrap_or_default()
            .min(MOST_PODS + 1);
        let pods: Vec<Value> = match &pass.indexes {
            Some(indexes) => indexes
                .pending()
                .take(count)
                .map(|index| indexed(&pass.job, index))
                .collect(),
            None => vec![pod(&pass.job); count],
        };
        for pod in pods {
            let made = self.make_pod(COMPONENT, &pass.job, pod)?;
            pass.active.push(made);
        }
        Ok(())
    }

    /// Whether failed pods are not replaced yet, because of the backoff.
    fn waits_to_retry(&mut self, key: &Key, pass: &Pass) -> bool {
        let now = crate::workload::clock::instant();
        let uid = text(&pass.job, "uid");
        let fresh = || (uid.to_owned(), 0, now);
        let retry = self.memory.retries.entry(key.clone()).or_insert_with(fresh);
        if retry.0 != uid {
            *retry = fresh();
        }
        let (_, failed, then) = retry;
        if pass.failed > *failed {
            *failed = pass.failed;
            *then = now + backoff(self.memory.settings.delay, pass.failed - 1);
        }
        let left = then.saturating_duration_since(now);
        if !left.is_zero() {
            self.requeue_after(key, left);
        }
        !left.is_zero()
    }
}

/// The desired number of running pods.
fn wanted(pass: &Pass, active: i64) -> i64 {
    let spec = &pass.job["spec"];
    let parallelism = number(&spec["parallelism"]);
    if spec["suspend"] == true || is_deleting(&pass.job) {
        return 0;
    }
    match spec["completions"].as_i64() {
        Some(completions) => (completions - pass.succeeded).clamp(0, parallelism),
        None if pass.succeeded > 0 => active,
        None => parallelism,
    }
}

fn pod(job: &Value) -> Value {
    let mut pod = template::pod(&job["spec"]["template"], job);
    let mut finalizers = list(&pod["metadata"], "finalizers").to_vec();
    finalizers.push(TRACKING.into());
    metadata::set(&mut pod, "finalizers", finalizers);
    pod
}

/// The pod of an index, which its containers read from the environment.
fn indexed(job: &Value, index: i64) -> Value {
    let mut pod = pod(job);
    let text = index.to_string();
    metadata::set(&mut pod, "generateName", format!("{}-{index}-", name(job)));
    pod["metadata"]["annotations"][INDEX] = text.as_str().into();
    pod["metadata"]["labels"][INDEX] = text.as_str().into();
    pod["spec"]["hostname"] = format!("{}-{index}", name(job)).into();
    let path = format!("metadata.labels['{INDEX}']");
    for containers in ["initContainers", "containers"] {
        let containers = pod["spec"]
            .get_mut(containers)
            .and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let mut variables = list(container, "env").to_vec();
            let source = json!({"fieldRef": {"fieldPath": path}});
            variables.push(json!({"name": "JOB_COMPLETION_INDEX", "valueFrom": source}));
            container["env"] = variables.into();
        }
    }
    pod
}
