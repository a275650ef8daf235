//! DaemonSets.

use serde_json::{Value, json};

use super::replicated::lasting;
use super::{of_workload, rollout};
use crate::kinds::pod::{self, set_workload_defaults};
use crate::kinds::resource::DAEMON_SETS;
use crate::kinds::rule::field::{invalid, non_negative, unsupported};
use crate::kinds::rule::{selector, status};
use crate::kinds::strategy::{Controller, Strategy};
use crate::kinds::value::{set_if_empty, set_if_null};
use crate::model::Cause;

pub(crate) const DAEMON_SET: Strategy = Strategy {
    set_defaults,
    after_admission: |set| count_templates(&Value::Null, set),
    prepare_for_update: |_, live, set| count_templates(live, set),
    validate: check,
    validates_updates_as_new: false,
    cells: cells!(workload::daemon_set),
    ..of_workload(DAEMON_SETS, Controller::DaemonSet)
};

/// The deprecated annotation with the number of templates that a DaemonSet has had.
const TEMPLATES: &str = "deprecated.daemonset.template.generation";

fn set_defaults(set: &mut Value) {
    if set_workload_defaults(set).is_none() {
        return;
    }
    set_if_null(&mut set["metadata"]["annotations"][TEMPLATES], "0");
    let spec = &mut set["spec"];
    set_if_empty(spec, &[("revisionHistoryLimit", json!(10))]);
    let strategy = &mut spec["updateStrategy"];
    set_if_empty(strategy, &[("type", json!("RollingUpdate"))]);
    if strategy["type"] == "RollingUpdate" {
        let rolling = [("maxSurge", json!(0)), ("maxUnavailable", json!(1))];
        set_if_empty(&mut strategy["rollingUpdate"], &rolling);
    } else if strategy["rollingUpdate"].is_object() {
        // without a default, Go stores the missing numbers as 0
        let rolling = [("maxSurge", json!(0)), ("maxUnavailable", json!(0))];
        set_if_empty(&mut strategy["rollingUpdate"], &rolling);
    }
}

/// Counts the templates of a DaemonSet; for a new one, `live` is null.
fn count_templates(live: &Value, set: &mut Value) {
    let known = &live["metadata"]["annotations"][TEMPLATES];
    let count: i64 = known
        .as_str()
        .and_then(|count| count.parse().ok())
        .unwrap_or_default();
    let is_new = live["spec"]["template"] != set["spec"]["template"];
    set["metadata"]["annotations"][TEMPLATES] = (count + i64::from(is_new)).to_string().into();
}

fn check(live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    if let Some(live) = live {
        selector::immutable(live, object, causes);
    }
    let before = causes.len();
    selector::terms("spec.selector", &spec["selector"], causes);
    if causes.len() == before {
        selector::matches(spec, causes);
    }
    if selector::is_void(&spec["selector"]) {
        let found = selector::in_order(&spec["selector"]);
        let why = "empty selector is invalid for daemonset";
        causes.push(invalid("spec.selector", found, why));
    }
    pod::template(&spec["template"], "spec.template", causes);
    lasting(spec, "DaemonSet", causes);
    non_negative("spec", spec, &["minReadySeconds"], causes);
    let found = &spec["updateStrategy"];
    match found["type"].as_str() {
        Some("OnDelete") => {}
        Some("RollingUpdate") => {
            rollout::of_daemons(&found["rollingUpdate"], causes);
        }
        _ => {
            let shown = json!({"Type": found["type"], "RollingUpdate": null});
            let known = ["RollingUpdate", "OnDelete"];
            causes.push(unsupported("spec.updateStrategy", shown, &known));
        }
    }
    non_negative("spec", spec, &["revisionHistoryLimit"], causes);
    if let Some(live) = live {
        status::check(&status::DAEMON_SET, live, object, causes);
    }
}
