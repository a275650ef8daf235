//! The counts in the status of workloads.

use serde_json::Value;

use super::super::kind::Kind;
use super::super::status::Cause;
use super::negative;

pub(super) fn check(kind: &Kind, object: &Value, causes: &mut Vec<Cause>) {
    let status = &object["status"];
    let (counts, parts, ready): (&[&str], &[&str], &str) = match kind.plural.as_str() {
        "deployments" => (
            &[
                "observedGeneration",
                "replicas",
                "updatedReplicas",
                "readyReplicas",
                "availableReplicas",
                "unavailableReplicas",
            ],
            &["updatedReplicas", "readyReplicas", "availableReplicas"],
            "readyReplicas",
        ),
        "statefulsets" => (
            &[
                "replicas",
                "readyReplicas",
                "currentReplicas",
                "updatedReplicas",
                "availableReplicas",
                "observedGeneration",
            ],
            &[
                "readyReplicas",
                "currentReplicas",
                "updatedReplicas",
                "availableReplicas",
            ],
            "status.readyReplicas",
        ),
        _ => return,
    };
    for field in counts {
        negative(&format!("status.{field}"), &status[*field], causes);
    }
    let count = |field: &str| status[field].as_i64().unwrap_or_default();
    let mut more_than = |field: &str, than: &str, named: &str| {
        if count(field) > count(than) {
            let text = format!(
                "Invalid value: {}: cannot be greater than {named}",
                count(field)
            );
            causes.push(Cause::invalid(format!("status.{field}"), text));
        }
    };
    for field in parts {
        more_than(field, "replicas", "status.replicas");
    }
    more_than("availableReplicas", "readyReplicas", ready);
}
