//! Deployments, ReplicaSets and DaemonSets.

use serde_json::{Value, json};

use super::rule::{invalid, non_negative, number, unsupported};
use super::selector::{self, Unreadable, Words};
use super::{pod, rollout, status};
use crate::api::model::failure::Cause;

pub(crate) fn deployment(live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    non_negative("spec", spec, &["replicas"], causes);
    alike_pods(spec, causes);
    strategy(&spec["strategy"], causes);
    let counts = [
        "minReadySeconds",
        "revisionHistoryLimit",
        "progressDeadlineSeconds",
    ];
    non_negative("spec", spec, &counts, causes);
    let deadline = spec["progressDeadlineSeconds"].as_i64();
    let least = number(spec, "minReadySeconds");
    if let Some(deadline) = deadline.filter(|found| *found <= least) {
        let why = "must be greater than minReadySeconds";
        causes.push(invalid("spec.progressDeadlineSeconds", deadline, why));
    }
    if let Some(live) = live {
        selector::immutable(live, object, causes);
        status::check(&status::DEPLOYMENT, live, object, causes);
    }
}

pub(crate) fn replica_set(live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    non_negative("spec", spec, &["replicas", "minReadySeconds"], causes);
    alike_pods(spec, causes);
    if let Some(live) = live {
        selector::immutable(live, object, causes);
        status::check(&status::REPLICA_SET, live, object, causes);
    }
}

pub(crate) fn daemon_set(live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    if let Some(live) = live {
        selector::immutable(live, object, causes);
    }
    let before = causes.len();
    selector::terms("spec.selector", &spec["selector"], causes);
    if causes.len() == before {
        selector::matches(spec, causes);
    }
    if selector::is_void(&spec["selector"]) {
        let found = selector::in_order(&spec["selector"]);
        let why = "empty selector is invalid for daemonset";
        causes.push(invalid("spec.selector", found, why));
    }
    pod::template(&spec["template"], "spec.template", causes);
    lasting(spec, "DaemonSet", causes);
    non_negative("spec", spec, &["minReadySeconds"], causes);
    let found = &spec["updateStrategy"];
    match found["type"].as_str() {
        Some("OnDelete") => {}
        Some("RollingUpdate") => {
            rollout::of_daemons(&found["rollingUpdate"], causes);
        }
        _ => {
            let shown = json!({"Type": found["type"], "RollingUpdate": null});
            let known = ["RollingUpdate", "OnDelete"];
            causes.push(unsupported("spec.updateStrategy", shown, &known));
        }
    }
    non_negative("spec", spec, &["revisionHistoryLimit"], causes);
    if let Some(live) = live {
        status::check(&status::DAEMON_SET, live, object, causes);
    }
}

/// Pods of one template, as many as are wanted.
fn alike_pods(spec: &Value, causes: &mut Vec<Cause>) {
    let words = Words {
        empty: Some("deployment"),
        unreadable: Unreadable::Because("invalid label selector"),
    };
    if selector::check(spec, &words, causes) {
        selector::matches(spec, causes);
        pod::template(&spec["template"], "spec.template", causes);
        lasting(spec, "ReplicaSet", causes);
    }
}

/// Pods that are to run for good.
pub(crate) fn lasting(spec: &Value, kind: &str, causes: &mut Vec<Cause>) {
    let pod = &spec["template"]["spec"];
    if pod["restartPolicy"] != "Always" {
        let field = "spec.template.spec.restartPolicy";
        causes.push(unsupported(field, &pod["restartPolicy"], &["Always"]));
    }
    if !pod["activeDeadlineSeconds"].is_null() {
        let field = "spec.template.spec.activeDeadlineSeconds";
        let why = format!("activeDeadlineSeconds in {kind} is not Supported");
        causes.push(Cause::forbidden(field, &why));
    }
}

/// How a deployment comes to its new pods.
fn strategy(strategy: &Value, causes: &mut Vec<Cause>) {
    let rolling = &strategy["rollingUpdate"];
    match strategy["type"].as_str() {
        Some("Recreate") if !rolling.is_null() => {
            let why = "may not be specified when strategy `type` is 'Recreate'";
            causes.push(Cause::forbidden("spec.strategy.rollingUpdate", why));
        }
        Some("Recreate") => {}
        Some("RollingUpdate") => rollout::of_deployment(rolling, causes),
        _ => {
            let rolling = match rolling {
                Value::Null => Value::Null,
                found => json!({
                    "MaxUnavailable": found.get("maxUnavailable").unwrap_or(&json!(0)),
                    "MaxSurge": found.get("maxSurge").unwrap_or(&json!(0)),
                }),
            };
            let shown = json!({"Type": strategy["type"], "RollingUpdate": rolling});
            let known = ["Recreate", "RollingUpdate"];
            causes.push(unsupported("spec.strategy", shown, &known));
        }
    }
}
