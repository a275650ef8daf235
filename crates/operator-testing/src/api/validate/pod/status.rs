//! The status of a pod.

use serde_json::Value;

use super::super::super::name;
use super::super::super::status::Cause;
use super::super::rule::{invalid, list, number, refuse, text};

pub(super) fn check(live: &Value, object: &Value, causes: &mut Vec<Cause>) {
    let status = &object["status"];
    for (at, condition) in list(status, "conditions").iter().enumerate() {
        let path = format!("status.conditions[{at}]");
        let why = "must be a non-negative integer";
        let generation = number(condition, "observedGeneration");
        if generation < 0 {
            causes.push(invalid(
                format!("{path}.observedGeneration"),
                generation,
                why,
            ));
        }
        let kind = text(condition, "type");
        if !["PodScheduled", "Ready", "Initialized"].contains(&kind) {
            refuse(
                &format!("{path}.Type"),
                kind,
                name::bad_label_key(kind),
                causes,
            );
        }
    }
    let generation = number(status, "observedGeneration");
    if generation < 0 {
        let why = "must be a non-negative integer";
        causes.push(invalid("status.observedGeneration", generation, why));
    }
    let policy = text(&object["spec"], "restartPolicy");
    let before = list(&live["status"], "containerStatuses");
    for (at, container) in before.iter().enumerate() {
        let end = &container["state"]["terminated"];
        let is_final = policy == "Never" || policy == "OnFailure" && number(end, "exitCode") == 0;
        let begins =
            |now: &Value| now["name"] == container["name"] && now["state"]["terminated"].is_null();
        let mut now = list(status, "containerStatuses").iter();
        if !end.is_null() && is_final && now.any(begins) {
            let field = format!("status.containerStatuses[{at}].state");
            let why = "may not be transitioned to non-terminated state";
            causes.push(Cause::forbidden(field, why));
        }
    }
}
