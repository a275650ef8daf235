//! The final state of the cluster after a run, and the differences between two such states.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value};

use super::run::Run;
use crate::fault::Faults;
use crate::request_log::EVENTS_AND_LEASES;
use crate::{Request, Server};

/// Objects by `GROUP/PLURAL/NAMESPACE/NAME`.
pub(super) type Objects = BTreeMap<String, Arc<Value>>;

/// The objects that were created or changed since `before`, without events and leases, and without values that differ in each run. On a
/// real server, whose controllers also write, only objects of the resources that the operator writes.
pub(super) async fn settled_state(server: &Server, faults: &Faults, before: &Objects) -> Value {
    let objects = server.objects().await;
    let written = written(faults);
    let is_compared = |path: &str| {
        let resource = resource_of(path);
        if server.is_real() {
            written.contains(&resource)
        } else {
            !EVENTS_AND_LEASES.contains(&&*resource.1)
        }
    };
    let gone = before
        .keys()
        .filter(|path| !objects.contains_key(*path))
        .map(|path| (path.clone(), Value::Null));
    let new = objects
        .iter()
        .filter(|(path, object)| is_new_or_changed(before, path, object))
        .map(|(path, object)| (path.clone(), masked(object)));
    let mut objects: Vec<(String, Value)> = new
        .chain(gone)
        .filter(|(path, _)| is_compared(path))
        .collect();
    // sorts paths that differ only in a uid by their values
    objects.sort_by_cached_key(|(path, object)| (mask_uids(path).into_owned(), object.to_string()));
    let mut settled_state = Map::new();
    for (path, object) in objects {
        let path = match prefix(&object) {
            Some(prefix) => numbered(&settled_state, &path, prefix),
            None if before.contains_key(&path) => path,
            None => free(&settled_state, mask_uids(&path).into_owned()),
        };
        settled_state.insert(path, object);
    }
    Value::Object(settled_state)
}

/// The prefix of a name that the server generated.
fn prefix(object: &Value) -> Option<&str> {
    object["metadata"]["generateName"].as_str()
}

/// The path of an object with a generated name. The name differs in each run, but the number of such objects does not.
fn numbered(others: &Map<String, Value>, path: &str, prefix: &str) -> String {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut numbers = 1..;
    std::iter::from_fn(|| Some(format!("{folder}/{prefix}<{}>", numbers.next()?)))
        .find(|path| !others.contains_key(path))
        .unwrap_or_else(|| path.to_owned())
}

/// The new objects that the operator created and that another object controls.
pub(super) async fn created_children(
    server: &Server,
    faults: &Faults,
    before: &Objects,
) -> Vec<Arc<Value>> {
    let objects = server.objects().await;
    let written = written(faults);
    let is_controlled = |object: &Value| {
        object["metadata"]["ownerReferences"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|owner| owner["controller"] == true)
    };
    let made = objects.into_iter().filter(|(path, object)| {
        // objects that existed before belong to others
        written.contains(&resource_of(path))
            && !existed(before, path, object)
            && is_controlled(object)
    });
    made.map(|(_, object)| object).collect()
}

/// Whether the object already existed, changed or not.
fn existed(before: &Objects, path: &str, object: &Value) -> bool {
    let uid = |object: &Value| object["metadata"]["uid"].clone();
    before.get(path).is_some_and(|old| uid(old) == uid(object))
}

/// Whether the object was created or changed since `before`.
fn is_new_or_changed(before: &Objects, path: &str, object: &Arc<Value>) -> bool {
    let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
    let old = before.get(path);
    old.is_none_or(|old| !Arc::ptr_eq(old, object) && version(old) != version(object))
}

/// The count and a description of each event, by its path.
pub(super) async fn events(server: &Server) -> BTreeMap<String, (u64, String)> {
    let objects = server.objects().await;
    let events = objects.into_iter().filter(|(_, it)| it["kind"] == "Event");
    let counted = events.map(|(path, event)| {
        let counts = [
            &event["count"],
            &event["deprecatedCount"],
            &event["series"]["count"],
        ];
        let count = counts.iter().filter_map(|it| it.as_u64()).max();
        let note = event["message"].as_str().or(event["note"].as_str());
        let reason = event["reason"].as_str().unwrap_or_default();
        let description = format!("the event {reason}: {}", note.unwrap_or_default());
        (path, (count.unwrap_or(1), description))
    });
    counted.collect()
}

/// Group and plural of all objects that the operator wrote, except for events and leases.
fn written(faults: &Faults) -> BTreeSet<(String, String)> {
    faults
        .requests()
        .into_iter()
        .filter(Request::is_work)
        .map(|request| (request.group, request.resource))
        .collect()
}

/// Group and plural of a path.
fn resource_of(path: &str) -> (String, String) {
    let mut parts = path.split('/').map(str::to_owned);
    (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    )
}

/// An object without values that differ in each run.
pub(super) fn masked(object: &Value) -> Value {
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
    if prefix(&object).is_some() {
        object["metadata"]["name"] = "<made up>".into();
    }
    mask_times_and_uids(&mut object);
    if object["kind"] == "Service" && object["apiVersion"] == "v1" {
        mask_addresses(&mut object["spec"]);
    }
    object
}

/// Masks the addresses that the server allocates to a Service, which differ each time it is recreated; `None` is kept.
fn mask_addresses(spec: &mut Value) {
    const HEADLESS: &str = "None";
    let mask = |value: &mut Value| {
        if !value.is_null() && *value != HEADLESS {
            *value = "<allotted>".into();
        }
    };
    let Some(fields) = spec.as_object_mut() else {
        return;
    };
    fields.get_mut("clusterIP").into_iter().for_each(mask);
    for (list, field) in [("clusterIPs", None), ("ports", Some("nodePort"))] {
        let items = fields.get_mut(list).and_then(Value::as_array_mut);
        for item in items.into_iter().flatten() {
            match field {
                Some(field) => item.get_mut(field).into_iter().for_each(mask),
                None => mask(item),
            }
        }
    }
}

/// Times and uids differ in each run, wherever an operator writes them, also in labels and keys.
fn mask_times_and_uids(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(mask_times_and_uids);
            if fields.keys().any(|key| mask_uids(key) != *key) {
                let mut known: Vec<(String, Value)> = std::mem::take(fields)
                    .into_iter()
                    .map(|(key, value)| (mask_uids(&key).into_owned(), value))
                    .collect();
                // sorts keys that are now equal by their values
                known.sort_by_cached_key(|(key, value)| (key.clone(), value.to_string()));
                for (key, value) in known {
                    fields.insert(free(fields, key), value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask_times_and_uids),
        Value::String(text) if text.parse::<Timestamp>().is_ok() => *value = "<time>".into(),
        Value::String(text) => {
            if let Cow::Owned(masked) = mask_uids(text) {
                *text = masked;
            }
        }
        _ => {}
    }
}

/// The key, with a number appended if the key is already in use.
fn free(others: &Map<String, Value>, key: String) -> String {
    let numbered = (2..).map(|number| format!("{key} ({number})"));
    std::iter::once(key.clone())
        .chain(numbered)
        .find(|key| !others.contains_key(key))
        .unwrap_or(key)
}

/// Writes `<uid>` for each UUID in a text.
pub(super) fn mask_uids(text: &str) -> Cow<'_, str> {
    const LENGTH: usize = 36;
    let (mut masked, mut rest) = (String::new(), text);
    while let Some(start) = (0..=rest.len().saturating_sub(LENGTH))
        .find(|start| rest.get(*start..start + LENGTH).is_some_and(is_uuid))
    {
        masked += &rest[..start];
        masked += "<uid>";
        rest = &rest[start + LENGTH..];
    }
    match masked.as_str() {
        "" => Cow::Borrowed(text),
        _ => Cow::Owned(masked + rest),
    }
}

fn is_uuid(text: &str) -> bool {
    text.bytes().enumerate().all(|(index, byte)| match index {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

/// The paths at which the final states of two runs differ, each with both values.
pub(super) fn differences(baseline: &Run, run: &Run) -> BTreeMap<String, String> {
    let mut differences = BTreeMap::new();
    let names = ["with the sample", "when it is gone"];
    for ((name, expected), actual) in names.iter().zip(&baseline.states).zip(&run.states) {
        differ(&format!("{name}, "), expected, actual, &mut differences);
    }
    differences
}

/// Collects the paths at which two values differ, each with both values.
pub(super) fn differ(
    path: &str,
    expected: &Value,
    actual: &Value,
    differences: &mut BTreeMap<String, String>,
) {
    match (expected, actual) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let (a, b) = (expected.get(key), actual.get(key));
                let (a, b) = (a.unwrap_or(&Value::Null), b.unwrap_or(&Value::Null));
                differ(&format!("{path}/{key}"), a, b, differences);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                differ(&format!("{path}/{index}"), a, b, differences);
            }
        }
        (a, b) if a == b => {}
        (a, b) => {
            let short = |value: &Value| -> String { value.to_string().chars().take(160).collect() };
            let what = format!("{path} is {}, not {}", short(b), short(a));
            differences.insert(path.to_owned(), what);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn generated_names_are_not_compared() {
        let object = |name: &str| json!({"kind": "Secret", "metadata": {"generateName": "a-", "name": name}});
        assert_eq!(masked(&object("a-x")), masked(&object("a-y")));
        let mut others = Map::new();
        let first = numbered(&others, "/secrets/default/a-x", "a-");
        assert_eq!(first, "/secrets/default/a-<1>");
        others.insert(first, Value::Null);
        let second = numbered(&others, "/secrets/default/a-y", "a-");
        assert_eq!(second, "/secrets/default/a-<2>");
    }

    #[test]
    fn uids_are_masked_wherever_they_occur() {
        let uid = |first: &str| format!("{first}1a1389a-6a5c-4d02-a166-7aebdd5aaf40");
        let object = |one: &str, other: &str| {
            masked(&json!({"kind": "Secret", "metadata": {
                "name": format!("of-{}", uid(one)),
                "labels": {"of": uid(one)},
                "annotations": {format!("used.by/{}", uid(one)): "one", format!("used.by/{}", uid(other)): "other", "plain": "x"},
            }}))
        };
        assert_eq!(object("a", "b"), object("d", "c"));
        assert_eq!(
            object("a", "b")["metadata"]["annotations"],
            json!({"plain": "x", "used.by/<uid>": "one", "used.by/<uid> (2)": "other"}),
        );
        let twice = format!("{}-{}é", uid("a"), uid("b"));
        assert_eq!(mask_uids(&twice), "<uid>-<uid>é");
        for text in ["", "é", &uid("x"), &uid("")] {
            assert!(matches!(mask_uids(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn allocated_addresses_are_masked_and_headless_services_are_not() {
        let service = |ip: &str, port: u16| {
            let spec = json!({"clusterIP": ip, "clusterIPs": [ip], "ports": [{"port": 80, "nodePort": port}]});
            masked(
                &json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": spec}),
            )
        };
        assert_eq!(service("10.0.0.3", 30_001), service("10.0.0.4", 30_002));
        assert_ne!(service("10.0.0.3", 30_001), service("None", 30_001));
    }
}
