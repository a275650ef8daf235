//! Reads and creates the fields of objects that several controllers use.

use std::borrow::Borrow;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::model::clock;
use crate::model::condition::{condition, is_true};
use crate::model::json::list;
use crate::model::metadata::{is_deleting, text};

pub(super) fn annotation<'a>(object: &'a Value, name: &str) -> &'a str {
    object["metadata"]["annotations"][name]
        .as_str()
        .unwrap_or_default()
}

/// The reference to the controller of this object.
pub(super) fn controller(object: &Value) -> Option<&Value> {
    let owners = list(&object["metadata"], "ownerReferences");
    owners.iter().find(|owner| owner["controller"] == true)
}

pub(super) fn is_controlled_by(object: &Value, owner: &Value) -> bool {
    controller(object).is_some_and(|reference| reference["uid"] == owner["metadata"]["uid"])
}

/// The controller reference for objects that this object creates.
pub(super) fn reference(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

/// A status of counts, without those that are 0.
pub(super) fn counts(counts: &[(&str, i64)]) -> Map<String, Value> {
    counts
        .iter()
        .filter(|(_, count)| *count != 0)
        .map(|(name, count)| ((*name).to_owned(), (*count).into()))
        .collect()
}

/// Whether a pod is neither finished nor being deleted.
pub(super) fn is_active(pod: &Value) -> bool {
    !is_over(pod) && !is_deleting(pod)
}

/// Whether a pod is finished.
pub(super) fn is_over(pod: &Value) -> bool {
    matches!(
        pod["status"]["phase"].as_str(),
        Some("Succeeded" | "Failed")
    )
}

pub(super) fn is_ready(pod: &Value) -> bool {
    is_true(pod, "Ready")
}

/// The number of seconds until a ready pod has been ready for a given time.
pub(super) fn available_in(pod: &Value, min_ready_seconds: i64) -> Option<i64> {
    let ready = condition(pod, "Ready").filter(|ready| ready["status"] == "True")?;
    if min_ready_seconds == 0 {
        return Some(0);
    }
    Some((seconds(&ready["lastTransitionTime"])? + min_ready_seconds - now()).max(0))
}

/// The time until the next of the ready pods becomes available.
pub(super) fn until_available<P: Borrow<Value>>(
    pods: &[P],
    min_ready_seconds: i64,
) -> Option<Duration> {
    let next = pods
        .iter()
        .filter_map(|pod| available_in(pod.borrow(), min_ready_seconds))
        .filter(|seconds| *seconds > 0)
        .min()?;
    Some(Duration::from_secs(next.unsigned_abs()))
}

/// A time in seconds since the epoch.
pub(super) fn seconds(time: &Value) -> Option<i64> {
    let time: jiff::Timestamp = time.as_str()?.parse().ok()?;
    Some(time.as_second())
}

pub(super) fn now() -> i64 {
    clock::now().as_second()
}

/// The sort key for the age of objects.
pub(super) fn by_age(object: &Value) -> (String, String) {
    let field = |name| text(object, name).to_owned();
    (field("creationTimestamp"), field("name"))
}
