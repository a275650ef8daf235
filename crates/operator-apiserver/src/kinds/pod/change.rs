//! The changes of a pod that an update must not make.

use serde_json::Value;

use super::{spaces, tolerations};
use crate::kinds::rule::field::{invalid, is_empty, is_same, list, text, without};
use crate::model::Cause;

const FIELDS: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Checks an update of a pod's spec, in which only a few fields may change.
pub(crate) fn check(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    for containers in ["containers", "initContainers"] {
        let (path, now) = (format!("spec.{containers}"), list(new, containers));
        if list(old, containers).len() != now.len() {
            let why = "pod updates may not add or remove containers";
            causes.push(Cause::forbidden(path, why));
            return;
        }
        for (at, container) in now.iter().enumerate() {
            if is_empty(&container["image"]) {
                causes.push(Cause::required(format!("{path}[{at}].image"), ""));
            }
        }
        spaces(now, &path, causes);
    }
    if deadline(old, new, causes) {
        return;
    }
    let seconds = ["tolerationSeconds"];
    let is_kept = |toleration: &Value| {
        list(new, "tolerations")
            .iter()
            .any(|other| without(other, &seconds) == without(toleration, &seconds))
    };
    if list(old, "tolerations").iter().all(is_kept) {
        tolerations(new, "spec.tolerations", causes);
    } else {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        causes.push(Cause::forbidden("spec.tolerations", why));
    }
    let gates = |spec: &Value| -> Vec<String> {
        list(spec, "schedulingGates")
            .iter()
            .map(|gate| text(gate, "name").to_owned())
            .collect()
    };
    let before = gates(old);
    for (at, gate) in gates(new).iter().enumerate() {
        if !before.contains(gate) {
            let why = format!("only deletion is allowed, but found new scheduling gate '{gate}'");
            let field = format!("spec.schedulingGates[{at}].name");
            causes.push(Cause::forbidden(field, &why));
        }
    }
    let mutable = ["activeDeadlineSeconds", "tolerations", "schedulingGates"];
    let fixed = |spec: &Value| {
        let mut spec = without(spec, &mutable);
        for containers in ["containers", "initContainers"] {
            let items = spec[containers].as_array_mut().into_iter().flatten();
            items.for_each(|container| *container = without(container, &["image"]));
        }
        spec
    };
    if !is_same(&fixed(old), &fixed(new)) {
        causes.push(Cause::forbidden("spec", FIELDS));
    }
}

/// Checks the deadline. Returns whether it is invalid in a way that ends the validation.
fn deadline(old: &Value, new: &Value, causes: &mut Vec<Cause>) -> bool {
    const FIELD: &str = "spec.activeDeadlineSeconds";
    let seconds = |spec: &Value| spec["activeDeadlineSeconds"].as_i64();
    match (seconds(old), seconds(new)) {
        (_, Some(new)) if !(0..=i64::from(i32::MAX)).contains(&new) => {
            let why = "must be between 0 and 2147483647, inclusive";
            causes.push(invalid(FIELD, new, why));
            true
        }
        (Some(old), Some(new)) if new > old => {
            let why = "must be less than or equal to previous value";
            causes.push(invalid(FIELD, new, why));
            true
        }
        (Some(_), None) => {
            let why = "must not update from a positive integer to nil value";
            causes.push(invalid(FIELD, "null", why));
            false
        }
        _ => false,
    }
}
