//! Pods on their node: a scheduler and a kubelet without containers. A pod is scheduled at once; then it becomes ready, completes and
//! stops, each after its delay, unless an annotation sets another outcome.

mod condition;
mod need;
mod node;
mod outcome;
mod status;
mod step;

pub(super) use self::need::waits_for;
pub(super) use self::node::{fits, target};
pub(super) use self::step::{MissingReference, Step};

use std::time::Duration;

use serde_json::{Value, json};

use self::outcome::{Outcome, PodPlan};
use self::status::Report;
use super::actor::{EventText, KUBELET, SCHEDULER};
use super::controllers::Controllers;
use super::field::{is_over, is_ready};
use crate::model::Key;
use crate::model::json::{list, number};
use crate::model::metadata::{is_deleting, name, text};

/// The maximum delay between two attempts.
const MAX_BACKOFF: Duration = Duration::from_secs(300);

impl Controllers<'_> {
    /// Does the next step of a pod if it is due, or schedules it.
    pub(super) fn run_pod(&mut self, key: &Key, is_due: bool) {
        if !self.memory.settings.has_node {
            return;
        }
        let Some(pod) = self.state.store.find(key) else {
            return self.forget(key);
        };
        let mut pod = Value::clone(&pod);
        let plan = self.plan_of(&pod);
        if !is_deleting(&pod) && !is_over(&pod) && !self.place(&mut pod, &plan) {
            return;
        }
        if let Some(report) = status::at_once(&pod, &plan) {
            self.report_pod(&pod, &report);
            return;
        }
        let step = next(&pod, &plan);
        let Some(step) = step else {
            return self.forget(key);
        };
        let planned = (text(&pod, "uid").to_owned(), step.clone());
        if self.memory.steps.get(key) != Some(&planned) {
            let delay = delay(&step, &plan);
            self.memory.steps.insert(key.clone(), planned);
            self.memory.timers.clear(key);
            self.requeue_after(key, delay);
        } else if is_due {
            // a waiting pod keeps its step, so that it reports only once what it waits for
            if !matches!(step, Step::Wait(_)) {
                self.memory.steps.remove(key);
            }
            self.take_step(&pod, &plan, &step);
        }
    }

    /// Executes a step, and reports it as a kubelet does.
    fn take_step(&mut self, pod: &Value, plan: &PodPlan, step: &Step) {
        let report = match step {
            Step::Stop => {
                self.record_pod_event(pod, EventText::normal("Killing", "Stopping container"));
                if let Some(report) = status::stopped(pod) {
                    self.report_pod(pod, &report);
                }
                let uid = &pod["metadata"]["uid"];
                let options = json!({"gracePeriodSeconds": 0, "preconditions": {"uid": uid}});
                // A pod that no longer exists needs no update.
                let _gone = self.discard(KUBELET, pod, &options);
                return;
            }
            Step::Wait(MissingReference::Volume { name, why }) => {
                let why = format!("MountVolume.SetUp failed for volume {name:?} : {why}");
                self.record_pod_event(pod, EventText::warning("FailedMount", &why));
                return;
            }
            Step::Wait(MissingReference::Variables(lacking)) => status::unconfigured(pod, lacking),
            Step::Start | Step::Restart(_) => status::started(pod, plan),
            Step::Finish => status::finished(pod, plan),
        };
        self.report_pod(pod, &report);
    }

    fn report_pod(&mut self, pod: &Value, report: &Report) {
        let mut status = report.status.clone();
        if report.has_address && status["podIP"].is_null() {
            let address = self.next_address();
            status["podIP"] = address.as_str().into();
            status["podIPs"] = json!([{"ip": address}]);
        }
        // the write fails only if the pod was deleted meanwhile
        let _reported = self.write_status(KUBELET, pod, status);
        if let Some((type_, reason, message)) = &report.event {
            self.record_pod_event(pod, EventText(type_, reason, message));
        }
    }

    fn record_pod_event(&mut self, pod: &Value, event: EventText<'_>) {
        self.record_event("kubelet", pod, event);
    }

    /// Assigns a pod to a node. Returns whether it has one.
    fn place(&mut self, pod: &mut Value, plan: &PodPlan) -> bool {
        if pod["spec"]["nodeName"].is_string() {
            return true;
        }
        let node = match plan.outcome {
            Outcome::Unschedulable => Err(
                "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."
                    .to_owned(),
            ),
            _ => self.find_node(pod),
        };
        match node {
            Ok(node) => {
                let message = format!(
                    "Successfully assigned {}/{} to {node}",
                    text(pod, "namespace"),
                    name(pod)
                );
                *pod = self.bind(pod, &node);
                self.record_event(
                    "default-scheduler",
                    pod,
                    EventText::normal("Scheduled", &message),
                );
                true
            }
            Err(why) => {
                let status = status::unschedulable(pod, &why);
                if status != pod["status"] {
                    let _reported = self.write_status(SCHEDULER, pod, status);
                    self.record_event(
                        "default-scheduler",
                        pod,
                        EventText::warning("FailedScheduling", &why),
                    );
                }
                false
            }
        }
    }
}

/// The next step of a pod on a node.
fn next(pod: &Value, plan: &PodPlan) -> Option<Step> {
    if is_deleting(pod) {
        // The last deletion has no grace period; a finalizer may still keep the pod.
        let is_last = number(&pod["metadata"]["deletionGracePeriodSeconds"]) == 0;
        return (!is_last).then_some(Step::Stop);
    }
    if is_over(pod) {
        return None;
    }
    let restarts = list(&pod["status"], "containerStatuses")
        .first()
        .map_or(0, |container| number(&container["restartCount"]));
    let is_running = pod["status"]["phase"] == "Running";
    let ends = pod["spec"]["restartPolicy"] != "Always";
    match plan.outcome {
        _ if matches!(plan.missing, Some(MissingReference::Volume { .. })) => {
            plan.missing.clone().map(Step::Wait)
        }
        Outcome::Unpullable => (!status::is_unpullable(pod)).then_some(Step::Start),
        _ if plan.missing.is_some() => plan.missing.clone().map(Step::Wait),
        _ if !is_running => Some(Step::Start),
        Outcome::Fails => Some(Step::Restart(restarts)),
        Outcome::NotReady => None,
        Outcome::Ready => (!status::has_ready_containers(pod)).then_some(Step::Start),
        _ if !is_ready(pod) && !status::has_ready_containers(pod) => Some(Step::Start),
        _ => ends.then_some(Step::Finish),
    }
}

fn delay(step: &Step, plan: &PodPlan) -> Duration {
    match step {
        Step::Restart(times) => backoff(plan.delay, *times),
        _ => plan.delay,
    }
}

/// The delay after this number of failures.
pub(super) fn backoff(first: Duration, times: i64) -> Duration {
    // Without a delay, failures would repeat forever within one request.
    let first = first.max(Duration::from_millis(10));
    let times = u32::try_from(times.clamp(0, 20)).unwrap_or_default();
    first
        .saturating_mul(2_u32.saturating_pow(times))
        .min(MAX_BACKOFF)
}
