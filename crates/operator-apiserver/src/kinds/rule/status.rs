//! The counts in the status of workloads.

use serde_json::Value;

use super::field::{invalid, non_negative, number};
use crate::model::Cause;

/// The counts in the status of a kind.
pub(crate) struct Counts {
    /// The counts that must not be negative.
    all: &'static [&'static str],
    /// The counts that must not exceed `replicas`.
    parts: &'static [&'static str],
    /// How messages name the count of ready replicas, which the available ones must not exceed.
    ready: &'static str,
}

pub(crate) const DEPLOYMENT: Counts = Counts {
    all: &[
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ],
    parts: &["updatedReplicas", "readyReplicas", "availableReplicas"],
    ready: "readyReplicas",
};

pub(crate) const REPLICA_SET: Counts = Counts {
    all: &[
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ],
    parts: &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
    ready: "readyReplicas",
};

pub(crate) const STATEFUL_SET: Counts = Counts {
    all: &[
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ],
    parts: &[
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
    ],
    ready: "status.readyReplicas",
};

pub(crate) const DAEMON_SET: Counts = Counts {
    all: &[
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ],
    parts: &[],
    ready: "",
};

pub(crate) fn check(counts: &Counts, live: &Value, object: &Value, causes: &mut Vec<Cause>) {
    let status = &object["status"];
    non_negative("status", status, counts.all, causes);
    let mut more_than = |field: &str, than: &str, named: &str| {
        let found = number(status, field);
        if found > number(status, than) {
            let why = format!("cannot be greater than {named}");
            causes.push(invalid(format!("status.{field}"), found, why));
        }
    };
    for field in counts.parts {
        more_than(field, "replicas", "status.replicas");
    }
    if !counts.parts.is_empty() {
        more_than("availableReplicas", "readyReplicas", counts.ready);
    }
    let collisions = |object: &Value| object["status"]["collisionCount"].as_i64();
    let was = collisions(live).filter(|_| counts.all.contains(&"collisionCount"));
    if was.is_some_and(|was| collisions(object).is_none_or(|now| now < was)) {
        let now = collisions(object).unwrap_or_default();
        let why = "cannot be decremented";
        causes.push(invalid("status.collisionCount", now, why));
    }
}
