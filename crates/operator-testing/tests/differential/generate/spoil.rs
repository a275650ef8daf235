//! Bodies and queries that are a little wrong, or very wrong.

use fastrand::Rng;
use serde_json::{Value, json};

use super::kind::set;

/// Makes a body wrong in one place.
pub fn body(random: &mut Rng, object: &mut Value) {
    match random.u8(0..10) {
        0..2 => {
            if let Some(place) = place(random, object) {
                remove(object, &place);
            }
        }
        2..5 => {
            if let Some(place) = place(random, object) {
                let wrong = [
                    Value::Null,
                    json!(1),
                    json!("x"),
                    json!([]),
                    json!({}),
                    json!(true),
                    json!(-1),
                ];
                set(object, &place, wrong[random.usize(0..wrong.len())].clone());
            }
        }
        5..7 => {
            let place = place(random, object).unwrap_or_default();
            let parent = place.rsplit_once('/').map_or("", |(parent, _)| parent);
            if let Some(Value::Object(fields)) = object.pointer_mut(parent) {
                fields.insert("unknown".into(), json!({"a": 1}));
            }
        }
        _ => {
            let (pointer, value) = metadata(random);
            set(object, pointer, value);
        }
    }
}

fn metadata(random: &mut Rng) -> (&'static str, Value) {
    let known = [
        ("/metadata/name", json!("")),
        ("/metadata/name", json!("Bad_Name")),
        ("/metadata/name", json!("other")),
        ("/metadata/name", json!("n".repeat(260))),
        ("/metadata/namespace", json!("elsewhere")),
        ("/metadata/labels", json!({"bad key": "x"})),
        ("/metadata/labels", json!({"a": "bad value!"})),
        ("/metadata/labels", json!({"a": 1})),
        ("/metadata/labels", json!("x")),
        ("/metadata/labels", json!({"a": "l".repeat(64)})),
        ("/metadata/annotations", json!({"bad key": "x"})),
        ("/metadata/annotations", json!({"a/b/c": "x"})),
        ("/metadata/finalizers", json!(["unqualified"])),
        ("/metadata/finalizers", json!(["a b/c"])),
        ("/metadata/uid", json!("other")),
        ("/metadata/resourceVersion", json!("x")),
        ("/metadata/resourceVersion", json!("1")),
        ("/metadata/generation", json!(7)),
        ("/metadata/creationTimestamp", json!("2001-01-01T00:00:00Z")),
        ("/metadata/creationTimestamp", json!("yesterday")),
        ("/metadata/deletionTimestamp", json!("2001-01-01T00:00:00Z")),
        ("/metadata/managedFields", json!([])),
        ("/metadata/selfLink", json!("/x")),
        ("/metadata/unknown", json!(1)),
        ("/metadata", json!([])),
        ("/apiVersion", json!("v9")),
        ("/kind", json!("Other")),
    ];
    known[random.usize(0..known.len())].clone()
}

/// A query that is invalid, or has no effect.
pub fn query(random: &mut Rng) -> &'static str {
    let known = [
        "dryRun=Some",
        "fieldManager=a%0Ab",
        "fieldValidation=Never",
        "unknown=1",
        "pretty=true",
        "force=maybe",
        "limit=-1",
        "timeoutSeconds=x",
        "labelSelector=a%20b",
        "fieldSelector=x",
        "propagationPolicy=Never",
        "gracePeriodSeconds=-5",
    ];
    known[random.usize(0..known.len())]
}

/// A body that is not JSON, or not a valid object.
pub fn raw(random: &mut Rng) -> &'static str {
    let known = [
        "",
        "{",
        "[]",
        "null",
        "x",
        "{\"metadata\": 5}",
        "{\"a\": 1, \"a\": 2}",
    ];
    known[random.usize(0..known.len())]
}

/// A JSON pointer to a random value in an object.
fn place(random: &mut Rng, object: &Value) -> Option<String> {
    let mut places = Vec::new();
    collect(String::new(), object, &mut places);
    let at = random.usize(0..places.len().max(1));
    places.into_iter().nth(at)
}

fn collect(path: String, value: &Value, places: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(k, v)| (k.clone(), v)).collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(at, v)| (at.to_string(), v))
            .collect(),
        _ => Vec::new(),
    };
    for (name, child) in children {
        if name.contains('/') {
            continue;
        }
        let path = format!("{path}/{name}");
        places.push(path.clone());
        collect(path, child, places);
    }
}

/// Removes the value at a JSON pointer.
pub fn remove(object: &mut Value, pointer: &str) {
    let Some((parent, name)) = pointer.rsplit_once('/') else {
        return;
    };
    match object.pointer_mut(parent) {
        Some(Value::Object(fields)) => drop(fields.shift_remove(name)),
        Some(Value::Array(items)) => {
            if let Some(at) = name.parse().ok().filter(|at| *at < items.len()) {
                items.remove(at);
            }
        }
        _ => {}
    }
}

/// The JSON pointers to all values in an object, the outermost first.
pub fn places(object: &Value) -> Vec<String> {
    let mut places = Vec::new();
    collect(String::new(), object, &mut places);
    places.sort_by_key(|place| place.matches('/').count());
    places
}
