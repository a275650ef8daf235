//! ReplicaSets, and the older ReplicationControllers.

use serde_json::Value;

use super::replicated::alike_pods;
use crate::kinds::pod::{fill_template, fill_workload};
use crate::kinds::rule::field::non_negative;
use crate::kinds::rule::{selector, status};
use crate::kinds::value::absent;
use crate::model::failure::Cause;

/// Sets the defaults of a ReplicaSet.
pub(crate) fn fill(set: &mut Value) {
    if let Some(spec) = fill_workload(set) {
        absent(&mut spec["replicas"], 1);
    }
}

/// Sets the defaults of a ReplicationController, whose labels and selector default to the labels of its pods.
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

/// Checks a ReplicaSet.
pub(crate) fn check(live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    non_negative("spec", spec, &["replicas", "minReadySeconds"], causes);
    alike_pods(spec, causes);
    if let Some(live) = live {
        selector::immutable(live, object, causes);
        status::check(&status::REPLICA_SET, live, object, causes);
    }
}
