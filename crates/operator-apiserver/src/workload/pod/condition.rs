//! The conditions of a pod, in the order in which a kubelet writes them.

use serde_json::{Value, json};

use super::status::Containers;
use crate::model::condition::condition;
use crate::model::json::list;
use crate::model::metadata::now;

pub(super) fn conditions(pod: &Value, containers: &Containers) -> Value {
    let names: Vec<&str> = list(&pod["spec"], "containers")
        .iter()
        .filter_map(|spec| spec["name"].as_str())
        .collect();
    let unready = format!("containers with unready status: [{}]", names.join(" "));
    let is_started = !matches!(
        containers,
        Containers::Creating | Containers::Unpullable | Containers::Unconfigured(_)
    );
    let (ready, reason, message) = match containers {
        Containers::Running => ("True", "", ""),
        Containers::Ended { code: 0 } => ("False", "PodCompleted", ""),
        Containers::Ended { .. } => ("False", "PodFailed", ""),
        _ => ("False", "ContainersNotReady", unready.as_str()),
    };
    let closed: Vec<String> = list(&pod["spec"], "readinessGates")
        .iter()
        .filter(|gate| {
            let type_ = gate["conditionType"].as_str().unwrap_or_default();
            condition(pod, type_).is_none_or(|gate| gate["status"] != "True")
        })
        .map(|gate| {
            let type_ = &gate["conditionType"];
            format!("corresponding condition of pod readiness gate {type_} does not exist.")
        })
        .collect();
    let gate = closed.join(", ");
    let whole = match (ready, closed.is_empty()) {
        ("True", false) => ("False", "ReadinessGatesNotReady", gate.as_str()),
        _ => (ready, reason, message),
    };
    let sandbox = match containers {
        Containers::Creating | Containers::Ended { .. } => "False",
        _ => "True",
    };
    let initialized = if is_started || list(&pod["spec"], "initContainers").is_empty() {
        ("True", "", "")
    } else {
        (
            "False",
            "ContainersNotInitialized",
            "containers with incomplete status",
        )
    };
    let own = [
        ("PodReadyToStartContainers", (sandbox, "", "")),
        ("Initialized", initialized),
        ("Ready", whole),
        ("ContainersReady", (ready, reason, message)),
        ("PodScheduled", ("True", "", "")),
    ];
    let is_own = |condition: &&Value| own.iter().any(|(type_, _)| condition["type"] == *type_);
    let others = list(&pod["status"], "conditions")
        .iter()
        .filter(|condition| !is_own(condition))
        .cloned();
    own.iter()
        .map(|(type_, (status, reason, message))| condition_of(pod, type_, status, reason, message))
        .chain(others)
        .collect()
}

/// A condition of a pod, with the time of its last change.
pub(super) fn condition_of(
    pod: &Value,
    type_: &str,
    status: &str,
    reason: &str,
    message: &str,
) -> Value {
    let known = condition(pod, type_).filter(|known| known["status"] == status);
    let since = known
        .and_then(|known| known["lastTransitionTime"].as_str())
        .map_or_else(now, str::to_owned);
    let mut condition = json!({
        "lastProbeTime": null,
        "lastTransitionTime": since,
        "observedGeneration": pod["metadata"]["generation"],
        "status": status,
        "type": type_,
    });
    for (field, value) in [("reason", reason), ("message", message)] {
        if !value.is_empty() {
            condition[field] = value.into();
        }
    }
    condition
}
