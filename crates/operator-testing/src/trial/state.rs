//! What a run leaves in the cluster, and where two of them differ.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use super::run::Run;
use crate::server::Server;

/// What an operator says of its work and of itself.
pub(super) const MESSAGES: [&str; 2] = ["events", "leases"];

/// The objects that are not as they were before, without what is another in each run, and without messages.
pub(super) fn settled(server: &Server, before: &BTreeMap<String, Arc<Value>>) -> Value {
    let is_message = |path: &str| {
        let plural = path.split('/').nth(1);
        plural.is_some_and(|plural| MESSAGES.contains(&plural))
    };
    let objects = server.service().map(|server| server.objects());
    let objects = objects.unwrap_or_default();
    let gone = before.keys().filter(|path| !objects.contains_key(*path));
    let gone = gone.map(|path| (path.clone(), Value::Null));
    let is_new = |path: &String, object: &Arc<Value>| {
        let old = before.get(path);
        old.is_none_or(|old| !Arc::ptr_eq(old, object))
    };
    let new = objects.iter().filter(|(path, object)| is_new(path, object));
    let new = new.map(|(path, object)| (path.clone(), masked(object)));
    new.chain(gone)
        .filter(|(path, _)| !is_message(path))
        .collect()
}

fn masked(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|name, _| {
            !matches!(name.as_str(), "uid" | "resourceVersion" | "managedFields")
        });
    }
    if let Some(owners) = object["metadata"]["ownerReferences"].as_array_mut() {
        for owner in owners.iter_mut().filter_map(Value::as_object_mut) {
            owner.shift_remove("uid");
        }
    }
    mask_times(&mut object);
    object
}

fn mask_times(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(mask_times),
        Value::Array(items) => items.iter_mut().for_each(mask_times),
        Value::String(text) if text.parse::<Timestamp>().is_ok() => *value = "<time>".into(),
        _ => {}
    }
}

/// The places where two runs came to another state, each with what is there.
pub(super) fn differences(calm: &Run, run: &Run) -> BTreeMap<String, String> {
    let mut places = BTreeMap::new();
    let names = ["with the sample", "when it is gone"];
    for ((name, expected), found) in names.iter().zip(&calm.states).zip(&run.states) {
        differ(&format!("{name}, "), expected, found, &mut places);
    }
    places
}

fn differ(path: &str, expected: &Value, found: &Value, places: &mut BTreeMap<String, String>) {
    match (expected, found) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let (a, b) = (expected.get(key), found.get(key));
                let (a, b) = (a.unwrap_or(&Value::Null), b.unwrap_or(&Value::Null));
                differ(&format!("{path}/{key}"), a, b, places);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                differ(&format!("{path}/{index}"), a, b, places);
            }
        }
        (a, b) if a == b => {}
        (a, b) => {
            let short = |value: &Value| -> String { value.to_string().chars().take(160).collect() };
            let what = format!("{path} is {}, not {}", short(b), short(a));
            places.insert(path.to_owned(), what);
        }
    }
}
