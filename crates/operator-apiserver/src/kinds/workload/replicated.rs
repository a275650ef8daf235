//! The validation that workloads whose pods run continuously share.

use serde_json::Value;

use crate::kinds::pod;
use crate::kinds::rule::field::unsupported;
use crate::kinds::rule::selector::{self, Unreadable, Words};
use crate::model::Cause;

/// Checks the selector and the template of a Deployment or ReplicaSet.
pub(crate) fn selector_and_template(spec: &Value, causes: &mut Vec<Cause>) {
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

/// Checks the template of pods that must run continuously.
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
