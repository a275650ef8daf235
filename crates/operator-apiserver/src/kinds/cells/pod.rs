//! The rows of Pods, with a summary of the states of their containers, such as `CrashLoopBackOff`.

use serde_json::{Value, json};

use super::age;
use crate::model::condition::{condition, is_true};
use crate::model::json::items;
use crate::model::metadata::{is_deleting, text};

/// The condition of a row that marks a finished pod.
pub(crate) fn end(object: &Value) -> Option<Value> {
    let phase = object["status"]["phase"].as_str()?;
    let is_pod = object["kind"] == "Pod" && object["apiVersion"] == "v1";
    let message = match phase {
        "Succeeded" if is_pod => "The pod has completed successfully.",
        "Failed" if is_pod => "The pod failed.",
        _ => return None,
    };
    Some(json!({"type": "Completed", "status": "True", "reason": phase, "message": message}))
}

pub(crate) fn pod(object: &Value) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let state = State::of(object);
    let restarts = match &state.last_restart {
        Some(last) if state.restarts != 0 => {
            let ago = age::since(&json!(last));
            format!("{} ({ago} ago)", state.restarts)
        }
        _ => state.restarts.to_string(),
    };
    let or_none = |value: &Value| match value.as_str().unwrap_or_default() {
        "" => "<none>".to_owned(),
        text => text.to_owned(),
    };
    vec![
        text(object, "name").into(),
        format!("{}/{}", state.ready, state.containers).into(),
        state.word.into(),
        restarts.into(),
        age::since(&object["metadata"]["creationTimestamp"]).into(),
        or_none(&status["podIPs"][0]["ip"]).into(),
        or_none(&spec["nodeName"]).into(),
        or_none(&status["nominatedNodeName"]).into(),
        gates(object).into(),
    ]
}

/// How many readiness gates are true: `1/2`.
fn gates(pod: &Value) -> String {
    let gates: Vec<&Value> = items(&pod["spec"]["readinessGates"]).collect();
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let open = gates.iter().filter(|gate| {
        let type_ = gate["conditionType"].as_str().unwrap_or_default();
        is_true(pod, type_)
    });
    format!("{}/{}", open.count(), gates.len())
}

/// The summary of the statuses of a pod's containers.
struct State {
    containers: usize,
    ready: usize,
    restarts: i64,
    /// The last termination of a restarted container.
    last_restart: Option<String>,
    word: String,
}

impl State {
    fn of(pod: &Value) -> Self {
        let (spec, status) = (&pod["spec"], &pod["status"]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let gated = condition(pod, "PodScheduled")
            .is_some_and(|condition| condition["reason"] == "SchedulingGated");
        let word = match (gated, text(&status["reason"])) {
            (true, _) => "SchedulingGated".to_owned(),
            (false, reason) if reason.is_empty() => text(&status["phase"]),
            (false, reason) => reason,
        };
        let sidecars = items(&spec["initContainers"])
            .filter(|c| is_sidecar(c))
            .count();
        let mut state = Self {
            containers: items(&spec["containers"]).count() + sidecars,
            ready: 0,
            restarts: 0,
            last_restart: None,
            word,
        };
        if state.initialize(spec, status) || is_true(pod, "Initialized") {
            state.run(pod);
        }
        if is_deleting(pod) {
            if status["reason"] == "NodeLost" {
                state.word = "Unknown".to_owned();
            } else if status["phase"] != "Failed" && status["phase"] != "Succeeded" {
                state.word = "Terminating".to_owned();
            }
        }
        state
    }

    /// Adds the init containers. Returns whether all are done.
    fn initialize(&mut self, spec: &Value, status: &Value) -> bool {
        let total = items(&spec["initContainers"]).count();
        for (at, container) in items(&status["initContainerStatuses"]).enumerate() {
            self.count_restarts(container);
            let (ended, waiting) = (
                &container["state"]["terminated"],
                &container["state"]["waiting"],
            );
            if ended["exitCode"] == 0 {
                continue;
            }
            if container["started"] == true && is_sidecar(init(spec, container)) {
                self.ready += usize::from(container["ready"] == true);
                continue;
            }
            self.word = match waiting["reason"].as_str().unwrap_or_default() {
                _ if !ended.is_null() => format!("Init:{}", reason(ended)),
                "" | "PodInitializing" => format!("Init:{at}/{total}"),
                reason => format!("Init:{reason}"),
            };
            return false;
        }
        true
    }

    /// Adds the containers of an initialized pod. Of the init containers, only sidecars count.
    fn run(&mut self, pod: &Value) {
        let (spec, status) = (&pod["spec"], &pod["status"]);
        (self.restarts, self.last_restart) = (0, None);
        let sidecars = items(&status["initContainerStatuses"]);
        for sidecar in sidecars.filter(|container| is_sidecar(init(spec, container))) {
            self.count_restarts(sidecar);
        }
        let (mut is_running, mut error) = (false, None);
        let containers: Vec<&Value> = items(&status["containerStatuses"]).collect();
        for container in containers.into_iter().rev() {
            self.count_restarts(container);
            let state = &container["state"];
            let waiting = state["waiting"]["reason"].as_str().unwrap_or_default();
            let ended = &state["terminated"];
            if !waiting.is_empty() {
                self.word = waiting.to_owned();
            } else if !ended.is_null() {
                self.word = reason(ended);
                if ended["exitCode"] != 0 {
                    error = Some(self.word.clone());
                }
            } else if container["ready"] == true && !state["running"].is_null() {
                is_running = true;
                self.ready += 1;
            }
        }
        if self.word == "Completed" {
            let is_ready = is_true(pod, "Ready");
            match error {
                _ if is_running && is_ready => self.word = "Running".to_owned(),
                Some(error) => self.word = error,
                None if is_running => self.word = "NotReady".to_owned(),
                None => {}
            }
        }
    }

    fn count_restarts(&mut self, container: &Value) {
        self.restarts += container["restartCount"].as_i64().unwrap_or_default();
        if let Some(end) = container["lastState"]["terminated"]["finishedAt"].as_str() {
            // times of the same format can be compared as strings
            self.last_restart = self.last_restart.take().max(Some(end.to_owned()));
        }
    }
}

/// The container of the spec to which the status of an init container belongs.
fn init<'a>(spec: &'a Value, status: &Value) -> &'a Value {
    items(&spec["initContainers"])
        .find(|container| container["name"] == status["name"])
        .unwrap_or(&Value::Null)
}

/// Whether an init container is a [sidecar](https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/).
fn is_sidecar(container: &Value) -> bool {
    container["restartPolicy"] == "Always"
}

fn reason(ended: &Value) -> String {
    match (ended["reason"].as_str(), ended["signal"].as_i64()) {
        (Some(reason), _) if !reason.is_empty() => reason.to_owned(),
        (_, Some(signal)) if signal != 0 => format!("Signal:{signal}"),
        _ => format!(
            "ExitCode:{}",
            ended["exitCode"].as_i64().unwrap_or_default()
        ),
    }
}
