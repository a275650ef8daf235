//! Deployments and the like, jobs.

use serde_json::{Value, json};

use super::super::kind::Kind;
use super::super::selector::selects;
use super::super::status::Cause;
use super::{change, is_empty, negative, pod, status};

pub(super) fn check(kind: &Kind, live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    match kind.plural.as_str() {
        "cronjobs" => {
            if is_empty(&spec["schedule"]) {
                causes.push(Cause::required("spec.schedule", ""));
            }
            job(
                &spec["jobTemplate"]["spec"],
                "spec.jobTemplate.spec",
                causes,
            );
        }
        "jobs" => {
            let mut own = Vec::new();
            job(spec, "spec", &mut own);
            let labels = &spec["template"]["metadata"]["labels"];
            if is_empty(&spec["selector"]) {
                own.push(Cause::required("spec.selector", ""));
            }
            if is_empty(&spec["selector"]) || !selects(&spec["selector"], labels) {
                let text =
                    format!("Invalid value: {labels}: `selector` does not match template `labels`");
                own.push(Cause::invalid("spec.template.metadata.labels", text));
            }
            if live.is_some() {
                // An update is looked at twice.
                causes.extend(own.clone());
            }
            causes.extend(own);
            if let Some(live) = live {
                change::job(live, object, causes);
            }
        }
        _ => replicated(kind, live, object, causes),
    }
}

fn job(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    for field in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
    ] {
        negative(&format!("{path}.{field}"), &spec[field], causes);
    }
    let (template, path) = (&spec["template"]["spec"], format!("{path}.template.spec"));
    pod::check(template, &path, causes);
    if template["restartPolicy"] == "Always" {
        let known = "valid values: \"OnFailure\", \"Never\"";
        causes.push(Cause::required(format!("{path}.restartPolicy"), known));
    }
}

fn replicated(kind: &Kind, live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    let is_stateful = kind.plural == "statefulsets";
    if is_stateful {
        policies(spec, causes);
    }
    negative("spec.replicas", &spec["replicas"], causes);
    if is_stateful {
        negative("spec.minReadySeconds", &spec["minReadySeconds"], causes);
    }
    if is_empty(&spec["selector"]) {
        causes.push(Cause::required("spec.selector", ""));
    }
    let labels = &spec["template"]["metadata"]["labels"];
    if is_empty(&spec["selector"]) || !selects(&spec["selector"], labels) {
        let text = format!("Invalid value: {labels}: `selector` does not match template `labels`");
        causes.push(Cause::invalid("spec.template.metadata.labels", text));
    }
    pod::check(&spec["template"]["spec"], "spec.template.spec", causes);
    if kind.plural == "deployments" {
        rollout(spec, causes);
    }
    let Some(live) = live else {
        return;
    };
    if is_stateful {
        change::stateful_set(live, object, causes);
    } else if live["spec"]["selector"] != spec["selector"] {
        let text = format!("Invalid value: {}: field is immutable", spec["selector"]);
        causes.push(Cause::invalid("spec.selector", text));
    }
    status::check(kind, object, causes);
}

fn policies(spec: &Value, causes: &mut Vec<Cause>) {
    let policy = &spec["podManagementPolicy"];
    if !["OrderedReady", "Parallel"]
        .iter()
        .any(|known| policy == known)
    {
        let text = format!("Invalid value: {policy}: must be 'OrderedReady' or 'Parallel'");
        causes.push(Cause::invalid("spec.podManagementPolicy", text));
    }
    let strategy = &spec["updateStrategy"]["type"];
    if !["RollingUpdate", "OnDelete"]
        .iter()
        .any(|known| strategy == known)
    {
        let shown = json!({"Type": strategy, "RollingUpdate": null});
        let text = format!("Invalid value: {shown}: must be 'RollingUpdate' or 'OnDelete'");
        causes.push(Cause::invalid("spec.updateStrategy", text));
    }
    let rolling = &spec["updateStrategy"]["rollingUpdate"];
    if strategy == "OnDelete" && !rolling.is_null() {
        let shown =
            json!({"Partition": rolling["partition"], "MaxUnavailable": rolling["maxUnavailable"]});
        let text =
            format!("Invalid value: {shown}: only allowed for updateStrategy 'RollingUpdate'");
        causes.push(Cause::invalid("spec.updateStrategy.rollingUpdate", text));
    }
}

/// How a deployment comes to its new pods.
fn rollout(spec: &Value, causes: &mut Vec<Cause>) {
    let strategy = &spec["strategy"];
    if !["Recreate", "RollingUpdate"]
        .iter()
        .any(|known| strategy["type"] == **known)
    {
        let shown = json!({"Type": strategy["type"], "RollingUpdate": null});
        let text = format!(
            "Unsupported value: {shown}: supported values: \"Recreate\", \"RollingUpdate\""
        );
        causes.push(Cause::unsupported("spec.strategy", text));
    }
    if strategy["type"] == "Recreate" && !strategy["rollingUpdate"].is_null() {
        let why = "may not be specified when strategy `type` is 'Recreate'";
        causes.push(Cause::forbidden("spec.strategy.rollingUpdate", why));
    }
    for field in [
        "minReadySeconds",
        "revisionHistoryLimit",
        "progressDeadlineSeconds",
    ] {
        negative(&format!("spec.{field}"), &spec[field], causes);
    }
    let seconds = |field: &str| spec[field].as_i64();
    let least = seconds("minReadySeconds").unwrap_or_default();
    if let Some(deadline) = seconds("progressDeadlineSeconds").filter(|found| *found <= least) {
        let text = format!("Invalid value: {deadline}: must be greater than minReadySeconds");
        causes.push(Cause::invalid("spec.progressDeadlineSeconds", text));
    }
}
