//! Priority classes.

use serde_json::{Value, json};

use super::resource::PRIORITY_CLASSES;
use super::rule::field::{immutable, one_of};
use super::strategy::Strategy;
use super::value::set_if_empty;
use crate::model::Cause;
use crate::model::metadata::{self, name};

pub(crate) const PRIORITY_CLASS: Strategy = Strategy {
    set_defaults,
    // the real server sets the generation of this kind, but no update increases it
    prepare_for_create: |class| metadata::set(class, "generation", 1),
    validate: check,
    cells: cells!(cluster::priority_class),
    ..Strategy::of(PRIORITY_CLASSES)
};

/// The highest value of a class that users may create.
const HIGHEST: i64 = 1_000_000_000;

fn check(live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    let value = |class: &Value| class["value"].as_i64().unwrap_or_default();
    if let Some(live) = live {
        if value(live) != value(object) {
            causes.push(Cause::forbidden(
                "value",
                "may not be changed in an update.",
            ));
        }
        immutable("", (live, object), "preemptionPolicy", causes);
        return;
    }
    let (name, value) = (name(object), value(object));
    if name.starts_with("system-") {
        if let Some(why) = unlike_system(name, value, object["globalDefault"] == true) {
            let why = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {why}"
            );
            causes.push(Cause::forbidden("metadata.name", &why));
        }
    } else if value > HIGHEST {
        let why = format!("maximum allowed value of a user defined priority is {HIGHEST}");
        causes.push(Cause::forbidden("value", &why));
    }
    one_of(
        "preemptionPolicy",
        &object["preemptionPolicy"],
        &["PreemptLowerPriority", "Never"],
        causes,
    );
}

/// The reason why a class is not a system class.
fn unlike_system(name: &str, value: i64, is_default: bool) -> Option<String> {
    let Some((_, expected, _)) = SYSTEM.iter().find(|(known, ..)| *known == name) else {
        return Some(format!("{name} is not a known system priority class"));
    };
    if value != *expected {
        return Some(format!("value of {name} PriorityClass must be {expected}"));
    }
    is_default.then(|| format!("globalDefault of {name} PriorityClass must be false"))
}

/// The names, values and descriptions of the system classes.
pub(crate) const SYSTEM: [(&str, i64, &str); 2] = [
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
];

fn set_defaults(class: &mut Value) {
    let preemption = ("preemptionPolicy", json!("PreemptLowerPriority"));
    set_if_empty(class, &[preemption]);
}
