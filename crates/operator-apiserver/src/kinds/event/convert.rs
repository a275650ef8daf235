//! Converts Events between `v1` and `events.k8s.io/v1`. They are stored as `v1`.
//!
//! See the [Event](https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/) of `events.k8s.io`.

use serde_json::{Map, Value};

/// The fields that are named differently in `events.k8s.io/v1` and in `v1`.
const NAMES: &[(&str, &str)] = &[
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("reportingController", "reportingComponent"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
];

/// The fields that only the old version shows if they are empty, by both names.
const SHOWN: [(&str, &str); 2] = [
    ("reportingController", "reportingComponent"),
    ("reportingInstance", "reportingInstance"),
];

/// Converts an event of `events.k8s.io/v1` to `v1`.
pub(crate) fn old_form(event: Value) -> Value {
    let Value::Object(fields) = event else {
        return event;
    };
    let mut event = renamed(fields, "v1", |name| {
        NAMES
            .iter()
            .find(|(new, _)| *new == name)
            .map(|(_, old)| *old)
    });
    for (_, name) in SHOWN {
        event.entry(name).or_insert("".into());
    }
    event.into()
}

/// Converts an event of `v1` to `events.k8s.io/v1`.
pub(crate) fn new_form(event: Value) -> Value {
    let Value::Object(fields) = event else {
        return event;
    };
    let mut event = renamed(fields, "events.k8s.io/v1", |name| {
        NAMES
            .iter()
            .find(|(_, old)| *old == name)
            .map(|(new, _)| *new)
    });
    let is_shown = |name: &str| !SHOWN.iter().any(|(new, _)| *new == name);
    event.retain(|name, value| *value != "" || is_shown(name));
    event.into()
}

/// Renames the fields for which `name` returns another name, and sets the version.
fn renamed(
    fields: Map<String, Value>,
    api_version: &str,
    name: impl Fn(&str) -> Option<&'static str>,
) -> Map<String, Value> {
    let mut object: Map<String, Value> = fields
        .into_iter()
        .map(|(field, value)| (name(&field).map_or(field, str::to_owned), value))
        .collect();
    object.insert("apiVersion".into(), api_version.into());
    object
}
