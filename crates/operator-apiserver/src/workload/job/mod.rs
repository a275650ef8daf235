//! Jobs: create pods until enough have succeeded or too many have failed. A finalizer keeps each pod until it is counted.

mod ended;
mod index;
mod pods;

use std::time::Duration;

use serde_json::{Value, json};

use self::index::Indexes;
use super::actor::{CONTROLLERS, EventText};
use super::child::copies;
use super::controllers::Controllers;
use super::field::{self, is_active, is_over, is_ready, seconds};
use crate::kinds::resource::PODS;
use crate::model::condition::{condition, is_true};
use crate::model::json::{list, number};
use crate::model::metadata::{is_deleting, now};
use crate::model::{Key, Result};

const COMPONENT: &str = "job-controller";
/// The finalizer of pods that are not counted yet.
const TRACKING: &str = "batch.kubernetes.io/job-tracking";

/// The type, reason and message of a condition.
type Target = (&'static str, &'static str, &'static str);

const LIMIT: Target = (
    "FailureTarget",
    "BackoffLimitExceeded",
    "Job has reached the specified backoff limit",
);
const DEADLINE: Target = (
    "FailureTarget",
    "DeadlineExceeded",
    "Job was active longer than specified deadline",
);
const REACHED: Target = (
    "SuccessCriteriaMet",
    "CompletionsReached",
    "Reached expected number of succeeded pods",
);

/// A Job, during one pass.
struct Pass {
    job: Value,
    /// The running pods.
    active: Vec<Value>,
    /// The finished pods that are not counted yet.
    ended: Vec<Value>,
    terminating: i64,
    succeeded: i64,
    failed: i64,
    indexes: Option<Indexes>,
}

impl Controllers<'_> {
    pub(super) fn sync_job(&mut self, key: &Key) {
        let Some(job) = self.state.store.find(key) else {
            return self.forget(key);
        };
        if is_finished(&job) {
            return self.expire_job(key, &job);
        }
        let manager = job["spec"]["managedBy"].as_str();
        if manager.is_none_or(|manager| manager == "kubernetes.io/job-controller") {
            // If an object cannot be created, an event reports it, and the next change retries.
            let _done = self.step_job(key, Value::clone(&job));
        }
    }

    fn step_job(&mut self, key: &Key, job: Value) -> Result<()> {
        let pods = copies(self.claim(&job, PODS, |_| true));
        let mut pass = Pass::new(job, &pods);
        let is_suspended = pass.job["spec"]["suspend"] == true;
        let status = &mut pass.job["status"];
        if status["startTime"].is_null() && !is_suspended {
            status["startTime"] = now().into();
        }
        let mut result = Ok(());
        let mut target = pass
            .known_target()
            .or_else(|| self.failure(key, &pass, &pods));
        if target.is_some() {
            for pod in std::mem::take(&mut pass.active) {
                self.drop_pod(COMPONENT, &pass.job, &pod);
                pass.terminating += i64::from(pod["spec"]["nodeName"].is_string());
                pass.ended.push(pod);
            }
        } else if !is_deleting(&pass.job) {
            result = self.manage_pods(key, &mut pass);
            if pass.is_complete() {
                target = Some(target_of(REACHED));
            } else {
                self.note_suspension(&mut pass.job);
            }
        }
        self.count_pods(pass, target)?;
        result
    }

    /// The reason why a Job fails, if it does. For a Job with a deadline, schedules the next check.
    fn failure(&mut self, key: &Key, pass: &Pass, pods: &[Value]) -> Option<Value> {
        let spec = &pass.job["spec"];
        let limit = number(&spec["backoffLimit"]);
        if pass.failed > limit || pass.restarts(pods) > (limit - 1).max(0) {
            return Some(target_of(LIMIT));
        }
        let allowed = spec["activeDeadlineSeconds"].as_i64()?;
        let since = seconds(&pass.job["status"]["startTime"])?;
        let left = since + allowed - field::now();
        if spec["suspend"] == true || left > 0 {
            self.requeue_after(key, Duration::from_secs(left.unsigned_abs()));
            return None;
        }
        Some(target_of(DEADLINE))
    }

    /// Sets the condition of a Job that is suspended or resumed.
    fn note_suspension(&mut self, job: &mut Value) {
        let is_suspended = job["spec"]["suspend"] == true;
        let is_known = is_true(job, "Suspended");
        let (status, reason, message) = match (is_suspended, is_known) {
            (true, false) => ("True", "JobSuspended", "Job suspended"),
            (false, true) => ("False", "JobResumed", "Job resumed"),
            _ => return,
        };
        job["status"]["startTime"] = if is_suspended {
            Value::Null
        } else {
            now().into()
        };
        let mut conditions: Vec<Value> = list(&job["status"], "conditions")
            .iter()
            .filter(|condition| condition["type"] != "Suspended")
            .cloned()
            .collect();
        conditions.push(ended::condition("Suspended", status, reason, message));
        job["status"]["conditions"] = conditions.into();
        let event_reason = reason.trim_start_matches("Job");
        self.record_event(COMPONENT, job, EventText::normal(event_reason, message));
    }

    /// Deletes a finished Job after its time to live.
    fn expire_job(&mut self, key: &Key, job: &Value) {
        let Some(kept) = job["spec"]["ttlSecondsAfterFinished"].as_i64() else {
            return;
        };
        let ended = ["Complete", "Failed"]
            .iter()
            .find_map(|type_| condition(job, type_));
        let ended = ended.and_then(|ended| seconds(&ended["lastTransitionTime"]));
        let left = ended.unwrap_or_default() + kept - field::now();
        if left > 0 {
            self.requeue_after(key, Duration::from_secs(left.unsigned_abs()));
        } else if !is_deleting(job) {
            let options = json!({"propagationPolicy": "Foreground"});
            // If the object no longer exists, there is nothing to do.
            let _gone = self.discard(CONTROLLERS, job, &options);
        }
    }
}

impl Pass {
    fn new(job: Value, pods: &[Value]) -> Self {
        let replaces = job["spec"]["podReplacementPolicy"] != "Failed";
        let has_ended = |pod: &&Value| is_over(pod) || replaces && is_deleting(pod);
        let is_tracked =
            |pod: &&Value| list(&pod["metadata"], "finalizers").contains(&TRACKING.into());
        let ended: Vec<Value> = pods
            .iter()
            .filter(has_ended)
            .filter(is_tracked)
            .cloned()
            .collect();
        let count = |fits: &dyn Fn(&Value) -> bool, pods: &[Value]| -> i64 {
            let pods = pods.iter().filter(|pod| fits(pod));
            i64::try_from(pods.count()).unwrap_or(i64::MAX)
        };
        let has_succeeded = |pod: &Value| pod["status"]["phase"] == "Succeeded";
        let succeeded = count(&has_succeeded, &ended);
        let failed = count(&|pod| !has_succeeded(pod), &ended);
        let indexes = Indexes::of(&job, pods);
        let known = number(&job["status"]["succeeded"]);
        Self {
            active: pods.iter().filter(|pod| is_active(pod)).cloned().collect(),
            terminating: count(&|pod| is_deleting(pod) && !is_over(pod), pods),
            succeeded: indexes.as_ref().map_or(known + succeeded, Indexes::count),
            failed: number(&job["status"]["failed"]) + failed,
            ended,
            indexes,
            job,
        }
    }

    /// The outcome of the Job, if it was decided in an earlier pass.
    fn known_target(&self) -> Option<Value> {
        ["SuccessCriteriaMet", "FailureTarget"]
            .into_iter()
            .filter_map(|type_| condition(&self.job, type_))
            .find(|target| target["status"] == "True")
            .cloned()
    }

    /// The number of container restarts in running pods, if they count.
    fn restarts(&self, pods: &[Value]) -> i64 {
        if self.job["spec"]["template"]["spec"]["restartPolicy"] != "OnFailure" {
            return 0;
        }
        pods.iter()
            .filter(|pod| !is_over(pod))
            .flat_map(|pod| list(&pod["status"], "containerStatuses"))
            .map(|container| number(&container["restartCount"]))
            .sum()
    }

    fn is_complete(&self) -> bool {
        let wanted = self.job["spec"]["completions"].as_i64();
        self.active.is_empty() && self.succeeded >= wanted.unwrap_or(1)
    }

    fn ready(&self) -> usize {
        self.active.iter().filter(|pod| is_ready(pod)).count()
    }
}

/// The condition with the decided outcome of a Job.
fn target_of((type_, reason, message): Target) -> Value {
    ended::condition(type_, "True", reason, message)
}

pub(super) fn is_finished(job: &Value) -> bool {
    has_ended(job, "Complete") || has_ended(job, "Failed")
}

pub(super) fn has_ended(job: &Value, how: &str) -> bool {
    is_true(job, how)
}
