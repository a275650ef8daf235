//! Counts finished pods, and finishes the Job.

use serde_json::{Value, json};

use super::{COMPONENT, Pass, TRACKING};
use crate::kinds::resource::{JOBS, PODS};
use crate::model::Result;
use crate::model::json::{list, number};
use crate::model::metadata::{finalizers, now};
use crate::workload::actor::{CONTROLLERS, EventText, key};
use crate::workload::controllers::Controllers;

impl Controllers<'_> {
    /// Counts finished pods and removes their finalizers. If the Job must end and no pod runs any more, finishes it.
    pub(super) fn count_pods(&mut self, pass: Pass, target: Option<Value>) -> Result<()> {
        let mut job = pass.job.clone();
        let mut failed = pass.failed;
        if let Some(target) = &target {
            if target["type"] == "FailureTarget" {
                // a Job that fails counts all pods that have not succeeded as failed
                let stopped = pass
                    .ended
                    .iter()
                    .filter(|pod| pod["status"]["phase"] != "Succeeded");
                let known = number(&pass.job["status"]["failed"]);
                failed = known + i64::try_from(stopped.count()).unwrap_or(i64::MAX);
            }
            let is_known = |known: &Value| known["type"] == target["type"];
            let conditions = list(&job["status"], "conditions");
            if !conditions.iter().any(is_known) {
                let mut conditions = conditions.to_vec();
                conditions.push(target.clone());
                job["status"]["conditions"] = conditions.into();
            }
        }
        let status = &mut job["status"];
        for (field, count) in [
            (
                "active",
                i64::try_from(pass.active.len()).unwrap_or(i64::MAX),
            ),
            ("succeeded", pass.succeeded),
            ("failed", failed),
        ] {
            status[field] = if count > 0 { count.into() } else { Value::Null };
        }
        status["ready"] = pass.ready().into();
        status["terminating"] = pass.terminating.into();
        status["uncountedTerminatedPods"] = json!({});
        if let Some(indexes) = &pass.indexes {
            let shown = indexes.to_string();
            status["completedIndexes"] = if shown.is_empty() {
                Value::Null
            } else {
                shown.into()
            };
        }
        if let Some(status) = status.as_object_mut() {
            status.retain(|_, value| !value.is_null());
        }
        let status = job["status"].clone();
        let Some(stored) = self.state.store.find(&key(JOBS, &job)) else {
            return Ok(());
        };
        let mut job = self.write_status(CONTROLLERS, &stored, status)?;
        for pod in &pass.ended {
            self.remove_tracking_finalizer(pod);
        }
        let Some(target) = target.filter(|_| pass.terminating == 0) else {
            return Ok(());
        };
        let text = |field: &str| target[field].as_str().unwrap_or_default();
        let (reason, message) = (text("reason"), text("message"));
        let has_failed = target["type"] == "FailureTarget";
        let type_ = if has_failed { "Failed" } else { "Complete" };
        let end = condition(type_, "True", reason, message);
        if !has_failed {
            job["status"]["completionTime"] = end["lastTransitionTime"].clone();
        }
        let mut conditions = list(&job["status"], "conditions").to_vec();
        conditions.push(end);
        job["status"]["conditions"] = conditions.into();
        self.write_with_status(CONTROLLERS, &job)?;
        let event = if has_failed {
            EventText::warning(reason, message)
        } else {
            EventText::normal("Completed", "Job completed")
        };
        self.record_event(COMPONENT, &job, event);
        Ok(())
    }

    /// Removes the finalizer of a counted pod.
    fn remove_tracking_finalizer(&mut self, pod: &Value) {
        let key = key(PODS, pod);
        let Some(pod) = self.state.store.find(&key) else {
            return;
        };
        let mut pod = Value::clone(&pod);
        let kept: Vec<Value> = finalizers(&pod)
            .into_iter()
            .filter(|name| *name != TRACKING)
            .map(Value::from)
            .collect();
        pod["metadata"]["finalizers"] = kept.into();
        // the write fails only if the pod was deleted
        let _freed = self.write(CONTROLLERS, &pod);
    }
}

/// A condition of a Job.
pub(super) fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": type_,
        "status": status,
        "lastProbeTime": now(),
        "lastTransitionTime": now(),
        "reason": reason,
        "message": message,
    })
}
