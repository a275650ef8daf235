//! Deployments.

use serde_json::{Value, json};

use super::replicated::selector_and_template;
use super::{of_workload, rollout};
use crate::kinds::pod::set_workload_defaults;
use crate::kinds::resource::DEPLOYMENTS;
use crate::kinds::rule::field::{invalid, non_negative, number, unsupported};
use crate::kinds::rule::{selector, status};
use crate::kinds::strategy::{Controller, Strategy};
use crate::kinds::value::set_if_empty;
use crate::model::Cause;

pub(crate) const DEPLOYMENT: Strategy = Strategy {
    set_defaults,
    validate: check,
    validates_updates_as_new: false,
    kept_by_status: &["labels"],
    // its ReplicaSets get its annotations
    counts_annotations: true,
    has_scale: true,
    cells: cells!(workload::deployment),
    ..of_workload(DEPLOYMENTS, Controller::Deployment)
};

fn set_defaults(deployment: &mut Value) {
    let Some(spec) = set_workload_defaults(deployment) else {
        return;
    };
    let defaults = [
        ("replicas", json!(1)),
        ("revisionHistoryLimit", json!(10)),
        ("progressDeadlineSeconds", json!(600)),
    ];
    set_if_empty(spec, &defaults);
    let strategy = &mut spec["strategy"];
    set_if_empty(strategy, &[("type", json!("RollingUpdate"))]);
    if strategy["type"] == "RollingUpdate" {
        let rolling = [("maxSurge", json!("25%")), ("maxUnavailable", json!("25%"))];
        set_if_empty(&mut strategy["rollingUpdate"], &rolling);
    }
}

fn check(live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    non_negative("spec", spec, &["replicas"], causes);
    selector_and_template(spec, causes);
    strategy(&spec["strategy"], causes);
    let counts = [
        "minReadySeconds",
        "revisionHistoryLimit",
        "progressDeadlineSeconds",
    ];
    non_negative("spec", spec, &counts, causes);
    let deadline = spec["progressDeadlineSeconds"].as_i64();
    let least = number(spec, "minReadySeconds");
    if let Some(deadline) = deadline.filter(|found| *found <= least) {
        let why = "must be greater than minReadySeconds";
        causes.push(invalid("spec.progressDeadlineSeconds", deadline, why));
    }
    if let Some(live) = live {
        selector::immutable(live, object, causes);
        status::check(&status::DEPLOYMENT, live, object, causes);
    }
}

/// Checks the strategy of a Deployment.
fn strategy(strategy: &Value, causes: &mut Vec<Cause>) {
    let rolling = &strategy["rollingUpdate"];
    match strategy["type"].as_str() {
        Some("Recreate") if !rolling.is_null() => {
            let why = "may not be specified when strategy `type` is 'Recreate'";
            causes.push(Cause::forbidden("spec.strategy.rollingUpdate", why));
        }
        Some("Recreate") => {}
        Some("RollingUpdate") => rollout::of_deployment(rolling, causes),
        _ => {
            let rolling = match rolling {
                Value::Null => Value::Null,
                found => json!({
                    "MaxUnavailable": found.get("maxUnavailable").unwrap_or(&json!(0)),
                    "MaxSurge": found.get("maxSurge").unwrap_or(&json!(0)),
                }),
            };
            let shown = json!({"Type": strategy["type"], "RollingUpdate": rolling});
            let known = ["Recreate", "RollingUpdate"];
            causes.push(unsupported("spec.strategy", shown, &known));
        }
    }
}
