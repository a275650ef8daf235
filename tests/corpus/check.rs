//! The check that `tests/corpus/round_trip.rs` copies into a crate of generated types: reads and writes objects through the types, and
//! compares `crd()` with the CRD.

use std::panic;

use k8s_openapi::jiff::Timestamp;
use kube::{CustomResourceExt, Resource};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::difference::crd_differences;

/// Checks a kind with the case that `tests/corpus/round_trip.rs` writes for a version: `{"definition": ..., "version": ..., "objects":
/// [...]}`, where `definition` is the CRD. Prints the faults, and returns their number.
pub fn check<K>(name: &str, case: &str) -> usize
where
    K: CustomResourceExt + Resource<DynamicType = ()> + Serialize + DeserializeOwned,
{
    let case: Value = serde_json::from_str(case).expect("the case is JSON");
    let mut faults = vec![];
    for object in case["objects"].as_array().expect("a list") {
        match serde_json::from_value::<K>(object.clone()) {
            Err(error) => faults.push(format!("does not read: {error}: {object}")),
            Ok(read) => {
                let written = serde_json::to_value(&read).expect("it was read");
                changes("", object, &written, &mut faults);
            }
        }
    }
    match panic::catch_unwind(K::crd) {
        Err(_) => faults.push("crd() panics".into()),
        Ok(crd) => {
            let crd = serde_json::to_value(&crd).expect("a definition is JSON");
            let version = case["version"].as_str().expect("a name");
            faults.extend(crd_differences(&case["definition"], &crd, version));
            let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            unstructural(schema, "", &mut faults);
        }
    }
    for fault in &faults {
        println!("{name}: {fault}");
    }
    faults.len()
}

/// Reports where the written value differs from the one that was read. Two differences are accepted, because the types of k8s-openapi cause
/// them: the time of a Condition is only equal to the second, and a Quantity that is a number becomes a string.
fn changes(path: &str, read: &Value, written: &Value, faults: &mut Vec<String>) {
    match (read, written) {
        (Value::Object(a), Value::Object(b)) => {
            let more = b.keys().filter(|key| !a.contains_key(*key));
            for key in a.keys().chain(more) {
                let path = format!("{path}/{key}");
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => changes(&path, a, b, faults),
                    (Some(a), None) => faults.push(format!("{path}: {a} is lost")),
                    (None, b) => faults.push(format!("{path}: {b:?} is made up")),
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                changes(&format!("{path}/{index}"), a, b, faults);
            }
        }
        (a, b) if a == b => {}
        (Value::String(a), Value::String(b))
            if path.ends_with("/lastTransitionTime") && is_same_second(a, b) => {}
        (Value::Number(a), Value::String(b)) if a.to_string() == *b => {}
        (a, b) => faults.push(format!("{path}: {a} is read, {b} written")),
    }
}

fn is_same_second(a: &str, b: &str) -> bool {
    let second = |text: &str| text.parse::<Timestamp>().map(Timestamp::as_second).ok();
    second(a).is_some() && second(a) == second(b)
}

/// Reports what the API server would reject: nodes without a type, or with both `properties` and `additionalProperties`.
fn unstructural(schema: &Value, path: &str, faults: &mut Vec<String>) {
    let says = |key: &str| schema[key] == true;
    let is_open =
        says("x-kubernetes-int-or-string") || says("x-kubernetes-preserve-unknown-fields");
    let has_both = !schema["properties"].is_null() && !schema["additionalProperties"].is_null();
    if schema["type"].is_null() && !is_open || has_both {
        faults.push(format!("not structural at {path}: {schema}"));
    }
    for (wire, property) in schema["properties"].as_object().into_iter().flatten() {
        unstructural(property, &format!("{path}.{wire}"), faults);
    }
    for key in ["items", "additionalProperties"] {
        if schema[key].is_object() {
            unstructural(&schema[key], &format!("{path}[]"), faults);
        }
    }
}
