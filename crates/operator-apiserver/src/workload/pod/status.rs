//! The status of a pod, as a kubelet writes it.

use serde_json::{Value, json};

use super::condition::{condition_of, conditions};
use super::outcome::{Outcome, PodPlan};
use crate::model::condition::is_true;
use crate::model::json::{list, number};
use crate::model::metadata::{now, text};
use crate::workload::field::is_over;

/// The address of the node.
pub(super) const ADDRESS: &str = "10.1.0.1";

/// A status to be written, with an event.
pub(super) struct Report {
    pub status: Value,
    /// Whether the pod has an address.
    pub has_address: bool,
    /// The type, reason and message of an event.
    pub event: Option<(&'static str, &'static str, String)>,
}

/// The state of a pod's containers.
pub(super) enum Containers {
    Creating,
    Unpullable,
    /// Some containers, by name, have variables without a value, and cannot be created.
    Unconfigured(Vec<(String, String)>),
    Running,
    /// They run, but their probes fail.
    NotReady,
    /// They have exited this number of times, and wait for a restart.
    Crashing(i64),
    Ended {
        code: i64,
    },
}

/// The status changes that are written immediately: containers are being created, a readiness gate is true, a running pod is no longer
/// ready.
pub(super) fn at_once(pod: &Value, plan: &PodPlan) -> Option<Report> {
    if is_over(pod) || !pod["spec"]["nodeName"].is_string() {
        return None;
    }
    let containers = list(&pod["status"], "containerStatuses");
    let report = match plan.outcome {
        _ if containers.is_empty() && pod["status"]["phase"] == "Pending" => {
            report(pod, &Containers::Creating)
        }
        Outcome::NotReady if has_ready_containers(pod) => report(pod, &Containers::NotReady),
        _ if has_ready_containers(pod) => report(pod, &Containers::Running),
        _ => return None,
    };
    (report.status != pod["status"]).then_some(report)
}

/// The report of containers that start, according to the outcome.
pub(super) fn started(pod: &Value, plan: &PodPlan) -> Report {
    let restarts = list(&pod["status"], "containerStatuses")
        .first()
        .map_or(0, |container| number(&container["restartCount"]));
    let is_running = pod["status"]["phase"] == "Running";
    match plan.outcome {
        Outcome::Unpullable => {
            let image = &pod["spec"]["containers"][0]["image"];
            let why = format!("Failed to pull image {image}: no such host");
            report_with_event(pod, &Containers::Unpullable, ("Warning", "Failed", why))
        }
        Outcome::Fails if pod["spec"]["restartPolicy"] == "Never" => finished(pod, plan),
        Outcome::Fails => {
            let times = if is_running { restarts + 1 } else { 0 };
            let why = format!(
                "Back-off restarting failed container in pod {}",
                text(pod, "name")
            );
            report_with_event(
                pod,
                &Containers::Crashing(times),
                ("Warning", "BackOff", why),
            )
        }
        Outcome::NotReady => {
            let why = "Readiness probe failed".to_owned();
            report_with_event(pod, &Containers::NotReady, ("Warning", "Unhealthy", why))
        }
        _ => {
            let message = "Started container".to_owned();
            report_with_event(pod, &Containers::Running, ("Normal", "Started", message))
        }
    }
}

/// The report of a pod some of whose containers cannot be created, with the reasons. The others wait.
pub(super) fn unconfigured(pod: &Value, lacking: &[(String, String)]) -> Report {
    let why = lacking.first().map_or("", |(_, why)| why);
    let why = format!("Error: {why}");
    let containers = Containers::Unconfigured(lacking.to_vec());
    report_with_event(pod, &containers, ("Warning", "Failed", why))
}

/// The report of containers that have finished.
pub(super) fn finished(pod: &Value, plan: &PodPlan) -> Report {
    let code = i64::from(plan.outcome == Outcome::Fails);
    report(pod, &Containers::Ended { code })
}

/// The report that the containers of a pod that is being deleted have stopped. `None` if the status already reports it, or if no finalizer
/// keeps the pod.
pub(super) fn stopped(pod: &Value) -> Option<Report> {
    let is_held = !list(&pod["metadata"], "finalizers").is_empty();
    (is_held && !is_over(pod)).then(|| report(pod, &Containers::Ended { code: 0 }))
}

/// The status of a pod that was assigned to a node.
pub(super) fn scheduled(pod: &Value) -> Value {
    let mut status = pod["status"].clone();
    let set = condition_of(pod, "PodScheduled", "True", "", "");
    status["conditions"] = json!([set]);
    status
}

/// The status of a pod without a node.
pub(super) fn unschedulable(pod: &Value, why: &str) -> Value {
    let mut status = pod["status"].clone();
    let set = condition_of(pod, "PodScheduled", "False", "Unschedulable", why);
    status["conditions"] = json!([set]);
    status
}

pub(super) fn is_unpullable(pod: &Value) -> bool {
    list(&pod["status"], "containerStatuses")
        .iter()
        .any(|container| container["state"]["waiting"]["reason"] == "ImagePullBackOff")
}

pub(super) fn has_ready_containers(pod: &Value) -> bool {
    is_true(pod, "ContainersReady")
}

fn report_with_event(
    pod: &Value,
    containers: &Containers,
    event: (&'static str, &'static str, String),
) -> Report {
    Report {
        event: Some(event),
        ..report(pod, containers)
    }
}

/// The status of a pod whose containers are in this state.
fn report(pod: &Value, containers: &Containers) -> Report {
    let phase = match containers {
        Containers::Creating | Containers::Unpullable | Containers::Unconfigured(_) => "Pending",
        Containers::Ended { code: 0 } => "Succeeded",
        Containers::Ended { .. } => "Failed",
        _ => "Running",
    };
    let mut status = json!({
        "phase": phase,
        "conditions": conditions(pod, containers),
        "hostIP": ADDRESS,
        "hostIPs": [{"ip": ADDRESS}],
        "startTime": now(),
    });
    let known = &pod["status"];
    for kept in [
        "startTime",
        "podIP",
        "podIPs",
        "qosClass",
        "nominatedNodeName",
    ] {
        if !known[kept].is_null() {
            status[kept] = known[kept].clone();
        }
    }
    status["observedGeneration"] = pod["metadata"]["generation"].clone();
    let ended = Containers::Ended { code: 0 };
    for (specs, statuses) in [
        ("initContainers", "initContainerStatuses"),
        ("containers", "containerStatuses"),
    ] {
        let specs = list(&pod["spec"], specs);
        if specs.is_empty() {
            continue;
        }
        let state = match (statuses, containers) {
            ("containerStatuses", _)
            | (_, Containers::Creating | Containers::Unpullable | Containers::Unconfigured(_)) => {
                containers
            }
            _ => &ended,
        };
        let known = list(known, statuses);
        let reported = specs.iter().map(|spec| {
            let known = known.iter().find(|known| known["name"] == spec["name"]);
            container(spec, known.unwrap_or(&Value::Null), state)
        });
        status[statuses] = reported.collect();
    }
    Report {
        status,
        has_address: !matches!(containers, Containers::Creating | Containers::Unpullable),
        event: None,
    }
}

/// The status of a container; `known` is its previous one.
fn container(spec: &Value, known: &Value, containers: &Containers) -> Value {
    let since = &known["state"]["running"]["startedAt"];
    let since = since.as_str().map_or_else(now, str::to_owned);
    let id = format!("containerd://{}", spec["name"].as_str().unwrap_or_default());
    let ended = |code: i64, started: &str| {
        let reason = if code == 0 { "Completed" } else { "Error" };
        json!({"terminated": {
            "containerID": id,
            "exitCode": code,
            "finishedAt": now(),
            "reason": reason,
            "startedAt": started,
        }})
    };
    let waiting = |reason: &str, message: String| {
        if message.is_empty() {
            json!({"waiting": {"reason": reason}})
        } else {
            json!({"waiting": {"message": message, "reason": reason}})
        }
    };
    let mut restarts = number(&known["restartCount"]);
    let mut last = known["lastState"].clone();
    if last.is_null() {
        last = json!({});
    }
    let state = match containers {
        Containers::Creating => waiting("ContainerCreating", String::new()),
        Containers::Unpullable => {
            let message = format!("Back-off pulling image {}", spec["image"]);
            waiting("ImagePullBackOff", message)
        }
        Containers::Unconfigured(lacking) => {
            let mut lacking = lacking.iter();
            match lacking.find(|(name, _)| spec["name"] == **name) {
                Some((_, why)) => waiting("CreateContainerConfigError", why.clone()),
                None => waiting("ContainerCreating", String::new()),
            }
        }
        Containers::Running | Containers::NotReady => {
            json!({"running": {"startedAt": since}})
        }
        Containers::Crashing(times) => {
            restarts = *times;
            last = ended(1, &since);
            let message = "back-off restarting failed container".to_owned();
            waiting("CrashLoopBackOff", message)
        }
        Containers::Ended { code } => {
            if known["state"]["terminated"].is_object() {
                known["state"].clone()
            } else {
                ended(*code, &since)
            }
        }
    };
    let is_running = matches!(containers, Containers::Running | Containers::NotReady);
    let has_run = !matches!(
        containers,
        Containers::Creating | Containers::Unpullable | Containers::Unconfigured(_)
    );
    let mut status = json!({
        "image": spec["image"],
        "imageID": if has_run { spec["image"].clone() } else { "".into() },
        "lastState": last,
        "name": spec["name"],
        "ready": matches!(containers, Containers::Running),
        "restartCount": restarts,
        "started": is_running,
        "state": state,
    });
    if has_run {
        status["containerID"] = id.into();
    }
    status
}
