//! ReplicaSets, and the older ReplicationControllers.

use serde_json::Value;

use super::of_workload;
use super::replicated::selector_and_template;
use crate::kinds::pod::{set_template_defaults, set_workload_defaults};
use crate::kinds::resource::{DEPLOYMENTS, DISRUPTION_BUDGETS, REPLICA_SETS};
use crate::kinds::rule::field::non_negative;
use crate::kinds::rule::{selector, status};
use crate::kinds::strategy::{Controller, Dependents, Enqueue, Strategy};
use crate::kinds::value::set_if_null;
use crate::model::Cause;

pub(crate) const REPLICA_SET: Strategy = Strategy {
    set_defaults,
    validate: check,
    validates_updates_as_new: false,
    has_scale: true,
    enqueues: &[
        Enqueue::Owner(&[DEPLOYMENTS]),
        Enqueue::InNamespace(DISRUPTION_BUDGETS),
    ],
    cells: cells!(workload::replica_set),
    ..of_workload(REPLICA_SETS, Controller::ReplicaSet)
};

pub(crate) const REPLICATION_CONTROLLER: Strategy = Strategy {
    set_defaults: set_controller_defaults,
    has_generation: true,
    template: Some("/spec/template"),
    selectable_fields: Some(&[("status.replicas", "0")]),
    dependents: Dependents::Orphaned,
    ..Strategy::of(("", "replicationcontrollers"))
};

fn set_defaults(set: &mut Value) {
    if let Some(spec) = set_workload_defaults(set) {
        set_if_null(&mut spec["replicas"], 1);
    }
}

/// Sets the defaults of a ReplicationController, whose labels and selector default to the labels of its pods.
fn set_controller_defaults(object: &mut Value) {
    if !object["spec"].is_object() {
        return;
    }
    let labels = object["spec"]["template"]["metadata"]["labels"].clone();
    if labels.as_object().is_some_and(|labels| !labels.is_empty()) {
        set_if_null(&mut object["metadata"]["labels"], labels.clone());
        set_if_null(&mut object["spec"]["selector"], labels);
    }
    set_if_null(&mut object["spec"]["replicas"], 1);
    set_template_defaults(&mut object["spec"]["template"]);
}

fn check(live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    non_negative("spec", spec, &["replicas", "minReadySeconds"], causes);
    selector_and_template(spec, causes);
    if let Some(live) = live {
        selector::immutable(live, object, causes);
        status::check(&status::REPLICA_SET, live, object, causes);
    }
}
