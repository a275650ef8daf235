//! What an update of a built-in kind may not change.

use serde_json::{Value, json};

use super::super::status::Cause;
use super::{list, text};

const POD: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
const STATEFUL_SET: &str = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

pub(super) fn pod(live: &Value, object: &Value, causes: &mut Vec<Cause>) {
    let (old, new) = (&live["spec"], &object["spec"]);
    for containers in ["containers", "initContainers"] {
        if list(old, containers).len() != list(new, containers).len() {
            let why = "pod updates may not add or remove containers";
            causes.push(Cause::forbidden(format!("spec.{containers}"), why));
            return;
        }
    }
    for (at, container) in list(new, "containers").iter().enumerate() {
        if text(container, "image").is_empty() {
            causes.push(Cause::required(format!("spec.containers[{at}].image"), ""));
        }
    }
    let deadline = |spec: &Value| spec["activeDeadlineSeconds"].as_i64();
    match (deadline(old), deadline(new)) {
        (Some(old), Some(new)) if new > old => {
            let text =
                format!("Invalid value: {new}: must be less than or equal to previous value");
            causes.push(Cause::invalid("spec.activeDeadlineSeconds", text));
        }
        (Some(_), None) => {
            let text = "Invalid value: null: must not update from a positive integer to nil value";
            causes.push(Cause::invalid("spec.activeDeadlineSeconds", text));
        }
        _ => {}
    }
    let kept = |toleration: &&Value| {
        let mut new = list(new, "tolerations").iter();
        !new.any(|other| {
            without(other, &["tolerationSeconds"]) == without(toleration, &["tolerationSeconds"])
        })
    };
    if list(old, "tolerations")
        .iter()
        .any(|toleration| kept(&toleration))
    {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        causes.push(Cause::forbidden("spec.tolerations", why));
    }
    let mutable = ["activeDeadlineSeconds", "tolerations"];
    let fixed = |spec: &Value| {
        let mut spec = without(spec, &mutable);
        for containers in ["containers", "initContainers"] {
            let items = spec[containers].as_array_mut().into_iter().flatten();
            items.for_each(|container| *container = without(container, &["image"]));
        }
        spec
    };
    if fixed(old) != fixed(new) {
        causes.push(Cause::forbidden("spec", POD));
    }
}

pub(super) fn stateful_set(live: &Value, object: &Value, causes: &mut Vec<Cause>) {
    let mutable = [
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    ];
    if without(&live["spec"], &mutable) != without(&object["spec"], &mutable) {
        causes.push(Cause::forbidden("spec", STATEFUL_SET));
    }
}

pub(super) fn job(live: &Value, object: &Value, causes: &mut Vec<Cause>) {
    let (old, new) = (&live["spec"], &object["spec"]);
    let may_be_resized = live["spec"]["suspend"] == true && live["status"]["startTime"].is_null();
    for field in ["completions", "selector", "template", "completionMode"] {
        let is_same = match field {
            "template" if may_be_resized => scheduled(&old[field]) == scheduled(&new[field]),
            _ => old[field] == new[field],
        };
        if !is_same {
            let (place, shown) = match field {
                "template" if may_be_resized => ("template.spec", &new["template"]["spec"]),
                field => (field, &new[field]),
            };
            let text = format!("Invalid value: {shown}: field is immutable");
            causes.push(Cause::invalid(format!("spec.{place}"), text));
        }
    }
}

/// A template without what may change while a job is suspended.
fn scheduled(template: &Value) -> Value {
    let spec = without(
        &template["spec"],
        &["affinity", "nodeSelector", "schedulingGates", "tolerations"],
    );
    json!({"metadata": without(&template["metadata"], &["annotations", "labels"]), "spec": spec})
}

fn without(object: &Value, fields: &[&str]) -> Value {
    let mut object = object.clone();
    if let Some(found) = object.as_object_mut() {
        found.retain(|name, _| !fields.contains(&name.as_str()));
    }
    object
}
