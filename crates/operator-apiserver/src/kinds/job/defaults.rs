//! The defaults of Jobs, and the fields that the server sets.

use serde_json::{Value, json};

use crate::kinds::pod::{set_template_defaults, set_workload_defaults};
use crate::kinds::value::{items, set_if_empty, set_if_null};
use crate::model::metadata::{self, text};

pub(crate) fn set_defaults(job: &mut Value) {
    let Some(spec) = set_workload_defaults(job) else {
        return;
    };
    if spec["completions"].is_null() && spec["parallelism"].is_null() {
        spec["completions"] = 1.into();
    }
    let (limit, replacement) = (
        if spec["backoffLimitPerIndex"].is_null() {
            6
        } else {
            i32::MAX
        },
        if spec["podFailurePolicy"].is_null() {
            "TerminatingOrFailed"
        } else {
            "Failed"
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
    set_if_empty(spec, &defaults);
    set_conditions_defaults(spec);
    label_job(job);
}

/// Sets the defaults of the pod conditions in a failure policy.
fn set_conditions_defaults(spec: &mut Value) {
    let Some(policy) = spec.get_mut("podFailurePolicy") else {
        return;
    };
    for rule in items(policy, "rules") {
        for condition in items(rule, "onPodConditions") {
            set_if_empty(condition, &[("status", json!("True"))]);
        }
    }
}

/// Sets the defaults of pods in the Job template of a CronJob; the Jobs get theirs when they are created.
pub(crate) fn set_job_template_defaults(spec: &mut Value) {
    if spec.is_object() {
        set_template_defaults(&mut spec["template"]);
        set_conditions_defaults(spec);
    }
}

/// Gives a Job without labels those of its pods. This is repeated when the Job is read, because the server adds labels to the template of a
/// new Job only after it has set the defaults.
pub(crate) fn label_job(object: &mut Value) {
    let labels = object["spec"]["template"]["metadata"]["labels"].clone();
    if labels.as_object().is_some_and(|labels| !labels.is_empty()) {
        set_if_null(&mut object["metadata"]["labels"], labels);
    }
}

/// Sets the selector of a new Job, and the labels of its pods. Values of the user are kept here, and then rejected by the validation.
pub(crate) fn set_selector(object: &mut Value) {
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
        set_if_null(&mut labels[format!("{prefix}controller-uid")], uid.as_str());
        set_if_null(&mut labels[format!("{prefix}job-name")], name.as_str());
    }
    let selected = &mut spec["selector"]["matchLabels"];
    set_if_null(&mut selected["batch.kubernetes.io/controller-uid"], uid);
}
