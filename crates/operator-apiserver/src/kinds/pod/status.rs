//! Validates the status of a pod.

use serde_json::{Value, json};

use crate::kinds::rule::address;
use crate::kinds::rule::field::{invalid, list, number, refuse, text};
use crate::model::{Cause, name};

/// Checks an update of a pod's status.
pub(crate) fn check(live: &Value, object: &Value, causes: &mut Vec<Cause>) {
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
    addresses("podIPs", live, status, causes);
    if let Some(first) = list(status, "hostIPs").first() {
        let ip = text(first, "ip");
        if text(status, "hostIP") != ip {
            let why = "must be equal to `hostIP`";
            causes.push(invalid("status.hostIPs[0].ip", format!("{ip:?}"), why));
        }
        addresses("hostIPs", live, status, causes);
    }
}

/// Checks the addresses of a pod or its host: one, or one of each family.
fn addresses(field: &str, live: &Value, status: &Value, causes: &mut Vec<Cause>) {
    fn texts<'a>(status: &'a Value, field: &str) -> Vec<&'a str> {
        list(status, field)
            .iter()
            .map(|item| text(item, "ip"))
            .collect()
    }
    let (before, now) = (texts(&live["status"], field), texts(status, field));
    let path = format!("status.{field}");
    for (at, ip) in now.iter().enumerate() {
        address::legacy(&format!("{path}[{at}]"), ip, &before, causes);
    }
    if now.len() < 2 {
        return;
    }
    let is_dual = address::are_dual(&now);
    if let Err(at) = is_dual {
        let wrong = now[at];
        causes.push(Cause {
            reason: "InternalError",
            message: format!(
                "Internal error: failed to check for dual stack with error:invalid IP[{at}]: {wrong}"
            ),
            field: path.clone(),
        });
    }
    if is_dual != Ok(true) || now.len() > 2 {
        let shown = now.iter().map(|ip| json!({"IP": ip})).collect::<Value>();
        let why = "may specify no more than one IP for each IP family";
        causes.push(invalid(path, shown, why));
    }
}
