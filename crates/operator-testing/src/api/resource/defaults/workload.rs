//! Deployments and the like, jobs.

use serde_json::{Value, json};

use super::pod::fill_template;
use super::{absent, fields, items};
use crate::api::model::kind::Kind;
use crate::api::model::metadata::{self, text};

/// How many templates a DaemonSet has had.
const TEMPLATES: &str = "deprecated.daemonset.template.generation";

pub(crate) fn fill(kind: &Kind, object: &mut Value) {
    if !object["spec"].is_object() {
        return;
    }
    if kind.plural == "daemonsets" {
        let annotations = &mut object["metadata"]["annotations"];
        absent(&mut annotations[TEMPLATES], "0");
    }
    let spec = &mut object["spec"];
    fill_template(&mut spec["template"]);
    match kind.plural.as_str() {
        "deployments" => deployment(spec),
        "replicasets" => absent(&mut spec["replicas"], 1),
        "statefulsets" => stateful_set(spec),
        "daemonsets" => {
            fields(spec, &[("revisionHistoryLimit", json!(10))]);
            let strategy = &mut spec["updateStrategy"];
            fields(strategy, &[("type", json!("RollingUpdate"))]);
            if strategy["type"] == "RollingUpdate" {
                let rolling = [("maxSurge", json!(0)), ("maxUnavailable", json!(1))];
                fields(&mut strategy["rollingUpdate"], &rolling);
            } else if strategy["rollingUpdate"].is_object() {
                // As numbers without a default are stored.
                let rolling = [("maxSurge", json!(0)), ("maxUnavailable", json!(0))];
                fields(&mut strategy["rollingUpdate"], &rolling);
            }
        }
        "jobs" => {
            job(spec);
            label_job(object);
            return;
        }
        "cronjobs" => {
            job_template(&mut spec["jobTemplate"]["spec"]);
            let defaults = [
                ("concurrencyPolicy", json!("Allow")),
                ("suspend", json!(false)),
                ("successfulJobsHistoryLimit", json!(3)),
                ("failedJobsHistoryLimit", json!(1)),
            ];
            fields(spec, &defaults);
        }
        _ => {}
    }
    if kind.plural == "cronjobs"
        && let Some(spec) = spec.as_object_mut()
    {
        spec.shift_remove("template");
    }
}

/// A ReplicationController, which has the labels of its pods, and selects by them.
pub(crate) fn fill_controller(object: &mut Value) {
    if !object["spec"].is_object() {
        return;
    }
    let labels = object["spec"]["template"]["metadata"]["labels"].clone();
    if labels.as_object().is_some_and(|labels| !labels.is_empty()) {
        absent(&mut object["metadata"]["labels"], labels.clone());
        absent(&mut object["spec"]["selector"], labels);
    }
    absent(&mut object["spec"]["replicas"], 1);
    fill_template(&mut object["spec"]["template"]);
}

fn deployment(spec: &mut Value) {
    let defaults = [
        ("replicas", json!(1)),
        ("revisionHistoryLimit", json!(10)),
        ("progressDeadlineSeconds", json!(600)),
    ];
    fields(spec, &defaults);
    let strategy = &mut spec["strategy"];
    fields(strategy, &[("type", json!("RollingUpdate"))]);
    if strategy["type"] == "RollingUpdate" {
        let rolling = [("maxSurge", json!("25%")), ("maxUnavailable", json!("25%"))];
        fields(&mut strategy["rollingUpdate"], &rolling);
    }
}

fn stateful_set(spec: &mut Value) {
    let defaults = [
        ("podManagementPolicy", json!("OrderedReady")),
        ("replicas", json!(1)),
        ("revisionHistoryLimit", json!(10)),
    ];
    fields(spec, &defaults);
    let retention = [
        ("whenDeleted", json!("Retain")),
        ("whenScaled", json!("Retain")),
    ];
    fields(
        &mut spec["persistentVolumeClaimRetentionPolicy"],
        &retention,
    );
    let strategy = &mut spec["updateStrategy"];
    fields(strategy, &[("type", json!("RollingUpdate"))]);
    if strategy["type"] == "RollingUpdate" {
        absent(&mut strategy["rollingUpdate"]["partition"], 0);
    }
    for claim in items(spec, "volumeClaimTemplates") {
        claim["apiVersion"] = "v1".into();
        claim["kind"] = "PersistentVolumeClaim".into();
        super::claim(claim);
    }
}

fn job(spec: &mut Value) {
    if spec["completions"].is_null() && spec["parallelism"].is_null() {
        spec["completions"] = 1.into();
    }
    let (limit, replacement) = (
        match spec["backoffLimitPerIndex"].is_null() {
            true => 6,
            false => i32::MAX,
        },
        match spec["podFailurePolicy"].is_null() {
            true => "TerminatingOrFailed",
            false => "Failed",
        },
    );
    let defaults = [
        ("parallelism", json!(1)),
        ("backoffLimit", json!(limit)),
        ("completionMode", json!("NonIndexed")),
        ("suspend", json!(false)),
        ("manualSelector", json!(false)),
        ("podReplacementPolicy", json!(replacement)),
    ];
    fields(spec, &defaults);
    fill_conditions(spec);
}

/// Those by which a policy of failure knows pods.
fn fill_conditions(spec: &mut Value) {
    let Some(policy) = spec.get_mut("podFailurePolicy") else {
        return;
    };
    for rule in items(policy, "rules") {
        for condition in items(rule, "onPodConditions") {
            fields(condition, &[("status", json!("True"))]);
        }
    }
}

/// Counts the templates of a DaemonSet; of a new one, `live` is null.
pub(crate) fn count_templates(live: &Value, set: &mut Value) {
    let known = &live["metadata"]["annotations"][TEMPLATES];
    let count: i64 = known
        .as_str()
        .and_then(|count| count.parse().ok())
        .unwrap_or_default();
    let is_new = live["spec"]["template"] != set["spec"]["template"];
    set["metadata"]["annotations"][TEMPLATES] = (count + i64::from(is_new)).to_string().into();
}

/// Drops what a StatefulSet is not yet served with, unless it was stored with it.
pub(crate) fn without_alpha(live: Option<&Value>, set: &mut Value) {
    const FIELD: &str = "/spec/updateStrategy/rollingUpdate";
    let has_it = |set: &Value| {
        set.pointer(FIELD)
            .is_some_and(|it| !it["maxUnavailable"].is_null())
    };
    let rolling = set.pointer_mut(FIELD).and_then(Value::as_object_mut);
    if !live.is_some_and(has_it)
        && let Some(rolling) = rolling
    {
        rolling.shift_remove("maxUnavailable");
    }
}

/// The jobs of a CronJob get their defaults when they are made, but for those of their pods.
fn job_template(spec: &mut Value) {
    if spec.is_object() {
        fill_template(&mut spec["template"]);
        fill_conditions(spec);
    }
}

/// A job without labels has those of its pods; one that is new gets them when it is read.
pub(crate) fn label_job(object: &mut Value) {
    let labels = object["spec"]["template"]["metadata"]["labels"].clone();
    if labels.as_object().is_some_and(|labels| !labels.is_empty()) {
        absent(&mut object["metadata"]["labels"], labels);
    }
}

/// What a new job says of itself on its pods, by which it knows them; what it is given instead stays, and is refused.
pub(crate) fn admit_job(object: &mut Value) {
    let (uid, name) = (
        text(object, "uid").to_owned(),
        metadata::name(object).to_owned(),
    );
    let spec = &mut object["spec"];
    if spec["manualSelector"] == true {
        return;
    }
    let labels = &mut spec["template"]["metadata"]["labels"];
    for prefix in ["", "batch.kubernetes.io/"] {
        absent(&mut labels[format!("{prefix}controller-uid")], uid.as_str());
        absent(&mut labels[format!("{prefix}job-name")], name.as_str());
    }
    let selected = &mut spec["selector"]["matchLabels"];
    absent(&mut selected["batch.kubernetes.io/controller-uid"], uid);
}
