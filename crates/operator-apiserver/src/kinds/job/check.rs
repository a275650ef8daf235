//! Validates Jobs, and the Job templates of CronJobs.

use serde_json::{Value, json};

use super::{policy as job_policy, status as job_status};
use crate::go::sorted;
use crate::kinds::pod;
use crate::kinds::rule::field::{
    immutable, invalid, is_empty, is_same, non_negative, number, unsupported, without,
};
use crate::kinds::rule::selector::{self, Unreadable, Words};
use crate::model::condition::is_true;
use crate::model::label::selects;
use crate::model::{Cause, metadata, name};

/// The maximum parallelism of indexed Jobs.
const MOST_INDEXED: i64 = 100_000;

pub(crate) fn check(live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    generated(object, causes);
    let mut own = Vec::new();
    whole(spec, &mut own);
    causes.extend(own.iter().cloned());
    let count = number(spec, "completions");
    if spec["completionMode"] == "Indexed" && count > 0 {
        let host = format!("{}-{}", metadata::name(object), count - 1);
        if !name::bad_label(&host).is_empty() {
            let found = format!("{:?}", metadata::name(object));
            let why = format!("will not able to create pod with invalid DNS label: {host}");
            causes.push(invalid("metadata.name", found, why));
        }
    }
    if let Some(live) = live {
        // in an update, the server validates the spec twice and reports each violation twice
        causes.extend(own);
        check_change(live, object, causes);
        job_status::check(live, object, causes);
    }
}

/// Checks the spec of a Job or of a Job template.
pub(crate) fn spec(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    let counts = [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ];
    non_negative(path, spec, &counts, causes);
    let is_there = |field: &str| !spec[field].is_null();
    if is_there("maxFailedIndexes") && !is_there("backoffLimitPerIndex") {
        let field = format!("{path}.backoffLimitPerIndex");
        causes.push(Cause::required(field, "when maxFailedIndexes is specified"));
    }
    job_policy::manager(spec, path, causes);
    indexes(spec, path, causes);
    if is_there("podFailurePolicy") {
        job_policy::failure(spec, path, causes);
    }
    if is_there("successPolicy") {
        job_policy::success(spec, path, causes);
    }
    let replacement = &spec["podReplacementPolicy"];
    let known = if is_there("podFailurePolicy") {
        &["Failed"][..]
    } else {
        &["Failed", "TerminatingOrFailed"]
    };
    if is_there("podReplacementPolicy") && !known.iter().any(|it| replacement == it) {
        let field = format!("{path}.podReplacementPolicy");
        causes.push(unsupported(&field, replacement, known));
    }
    let path = format!("{path}.template");
    pod::template(&spec["template"], &path, causes);
    let policy = &spec["template"]["spec"]["restartPolicy"];
    let field = format!("{path}.spec.restartPolicy");
    match policy.as_str() {
        Some("OnFailure") if is_there("podFailurePolicy") => {
            let why = "only \"Never\" is supported when podFailurePolicy is specified";
            causes.push(invalid(field, policy, why));
        }
        Some("OnFailure" | "Never") => {}
        Some("Always" | "") | None => {
            let why = "valid values: \"OnFailure\", \"Never\"";
            causes.push(Cause::required(field, why));
        }
        Some(_) => causes.push(unsupported(&field, policy, &["OnFailure", "Never"])),
    }
}

fn indexes(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    let mode = &spec["completionMode"];
    let known = ["NonIndexed", "Indexed"];
    if !mode.is_null() && !known.iter().any(|it| mode == it) {
        causes.push(unsupported(&format!("{path}.completionMode"), mode, &known));
    }
    if mode == "Indexed" {
        if spec["completions"].is_null() {
            let why = "when completion mode is Indexed";
            causes.push(Cause::required(format!("{path}.completions"), why));
        }
        let parallelism = number(spec, "parallelism");
        if parallelism > MOST_INDEXED {
            let why = "must be less than or equal to 100000 when completion mode is Indexed";
            causes.push(invalid(format!("{path}.parallelism"), parallelism, why));
        }
        job_policy::failed_indexes(spec, path, causes);
    }
    if mode.is_null() || mode == "NonIndexed" {
        for field in ["backoffLimitPerIndex", "maxFailedIndexes"] {
            if !spec[field].is_null() {
                let why = "requires indexed completion mode";
                causes.push(invalid(format!("{path}.{field}"), &spec[field], why));
            }
        }
    }
}

/// Checks the spec of a Job, including its selector, which a template does not have.
fn whole(found: &Value, causes: &mut Vec<Cause>) {
    spec(found, "spec", causes);
    let words = Words {
        empty: None,
        unreadable: Unreadable::Nothing,
    };
    if selector::check(found, &words, causes) {
        selector::matches(found, causes);
    }
}

/// Checks that a Job without its own selector has the labels that the server sets.
fn generated(object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    if spec["manualSelector"] == true || spec["selector"].is_null() {
        return;
    }
    let labels = &spec["template"]["metadata"]["labels"];
    let (uid, name) = (metadata::text(object, "uid"), metadata::name(object));
    let expected = [
        ("controller-uid", uid),
        ("job-name", name),
        ("batch.kubernetes.io/controller-uid", uid),
        ("batch.kubernetes.io/job-name", name),
    ];
    for (label, value) in expected {
        let field = format!("spec.template.metadata.labels[{label}]");
        let why = format!("must be '{value}'");
        if labels[label].is_null() {
            causes.push(Cause::required(field, &why));
        } else if labels[label] != value {
            causes.push(invalid(field, sorted(labels), why));
        }
    }
    let own: Value = expected
        .iter()
        .map(|(label, value)| ((*label).to_owned(), json!(value)))
        .collect();
    if !selects(&spec["selector"], &own) {
        let found = selector::in_order(&spec["selector"]);
        causes.push(invalid(
            "spec.selector",
            found,
            "`selector` not auto-generated",
        ));
    }
}

/// Checks the immutable fields in an update.
fn check_change(live: &Value, object: &Value, causes: &mut Vec<Cause>) {
    let (old, new) = (&live["spec"], &object["spec"]);
    if new["completionMode"] != "Indexed" {
        immutable("spec", (old, new), "completions", causes);
    } else if old["completions"] != new["completions"]
        && !new["completions"].is_null()
        && new["completions"] != new["parallelism"]
    {
        let why = "can only be modified in tandem with spec.parallelism";
        causes.push(invalid("spec.completions", &new["completions"], why));
    }
    selector::immutable(live, object, causes);
    template(live, object, causes);
    let others = [
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    ];
    for field in others {
        immutable("spec", (old, new), field, causes);
    }
}

/// Checks that the template does not change, except for some fields while the Job is suspended.
fn template(live: &Value, object: &Value, causes: &mut Vec<Cause>) {
    let (old, new) = (&live["spec"]["template"], &object["spec"]["template"]);
    let status = &live["status"];
    let is_paused = is_true(live, "Suspended");
    let may_be_resized = live["spec"]["suspend"] == true
        && (is_empty(&status["startTime"]) || is_paused)
        && number(status, "active") == 0;
    let (place, shown, stays) = if may_be_resized {
        (
            "spec.template.spec",
            &new["spec"],
            is_same(&scheduled(old), &scheduled(new)),
        )
    } else {
        ("spec.template", new, is_same(old, new))
    };
    if !stays {
        causes.push(invalid(place, shown, "field is immutable"));
    }
}

/// The spec of a template, without the fields that may change while a Job is suspended.
fn scheduled(template: &Value) -> Value {
    let fields = ["affinity", "nodeSelector", "schedulingGates", "tolerations"];
    let mut spec = without(&template["spec"], &fields);
    for containers in ["containers", "initContainers"] {
        let items = spec[containers].as_array_mut().into_iter().flatten();
        items.for_each(|container| *container = without(container, &["resources"]));
    }
    spec
}

/// Checks the Job template of a CronJob.
pub(crate) fn of_cron(template: &Value, path: &str, causes: &mut Vec<Cause>) {
    let found = &template["spec"];
    spec(found, &format!("{path}.spec"), causes);
    if !found["selector"].is_null() {
        let (field, shown) = (
            format!("{path}.spec.selector"),
            selector::in_order(&found["selector"]),
        );
        causes.push(invalid(field, shown, "`selector` will be auto-generated"));
    }
    if found["manualSelector"] == true {
        let field = format!("{path}.spec.manualSelector");
        causes.push(unsupported(&field, true, &["nil", "false"]));
    }
}
