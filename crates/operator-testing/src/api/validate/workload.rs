//! Deployments and the like, jobs.

use serde_json::Value;

use super::super::kind::Kind;
use super::super::status::Cause;
use super::{is_empty, list, negative, pod};

pub(super) fn check(kind: &Kind, live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    if kind.group == "batch" {
        let (spec, path) = match kind.plural.as_str() {
            "cronjobs" => (&spec["jobTemplate"]["spec"], "spec.jobTemplate.spec"),
            _ => (spec, "spec"),
        };
        if kind.plural == "cronjobs" && is_empty(&object["spec"]["schedule"]) {
            causes.push(Cause::required("spec.schedule", ""));
        }
        pod::check(
            &spec["template"]["spec"],
            &format!("{path}.template.spec"),
            causes,
        );
        return;
    }
    negative("spec.replicas", &spec["replicas"], causes);
    if is_empty(&spec["selector"]) {
        causes.push(Cause::required("spec.selector", ""));
    }
    let labels = &spec["template"]["metadata"]["labels"];
    if is_empty(&spec["selector"]) || !selects(&spec["selector"], labels) {
        let text = format!("Invalid value: {labels}: `selector` does not match template `labels`");
        causes.push(Cause::invalid("spec.template.metadata.labels", text));
    }
    pod::check(&spec["template"]["spec"], "spec.template.spec", causes);
    if let Some(live) = live
        && live["spec"]["selector"] != spec["selector"]
    {
        let text = format!("Invalid value: {}: field is immutable", spec["selector"]);
        causes.push(Cause::invalid("spec.selector", text));
    }
}

/// Whether a selector of a workload selects labels.
pub(crate) fn selects(selector: &Value, labels: &Value) -> bool {
    let wanted = selector["matchLabels"].as_object().into_iter().flatten();
    let mut wanted = wanted.map(|(name, value)| labels[name.as_str()] == *value);
    let fits = |expression: &Value| {
        let found = &labels[expression["key"].as_str().unwrap_or_default()];
        let values = list(expression, "values");
        match expression["operator"].as_str() {
            Some("In") => values.contains(found),
            Some("NotIn") => !values.contains(found),
            Some("Exists") => !found.is_null(),
            _ => found.is_null(),
        }
    };
    wanted.all(|fits| fits) && list(selector, "matchExpressions").iter().all(fits)
}
