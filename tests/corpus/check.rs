//! Copied by `tests/corpus.rs` into a crate of generated types: reads and writes objects through a kind, and holds `crd()` against its
//! definition. What is wrong is printed; the number of it is the exit code's business.

use std::{collections::BTreeSet, panic};

use kube::{CustomResourceExt, Resource};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// What `tests/corpus.rs` writes for a version: `{"definition": …, "version": …, "objects": […]}`.
pub fn check<K>(name: &str, case: &str) -> usize
where
    K: CustomResourceExt + Resource<DynamicType = ()> + Serialize + DeserializeOwned,
{
    let case: Value = serde_json::from_str(case).expect("the case is JSON");
    let mut found = vec![];
    for object in case["objects"].as_array().expect("a list") {
        match serde_json::from_value::<K>(object.clone()) {
            Err(error) => found.push(format!("does not read: {error}: {object}")),
            Ok(read) => {
                let written = serde_json::to_value(&read).expect("it was read");
                if written != *object {
                    found.push(format!("read {object}\n  wrote {written}"));
                }
            }
        }
    }
    match panic::catch_unwind(K::crd) {
        Err(_) => found.push("crd() panics".into()),
        Ok(crd) => {
            let crd = serde_json::to_value(&crd).expect("a definition is JSON");
            facts(&case["definition"], &case["version"], &crd, &mut found);
            let versions = case["definition"]["spec"]["versions"].as_array();
            let defined = versions
                .into_iter()
                .flatten()
                .find(|entry| entry["name"] == case["version"])
                .map(|entry| &entry["schema"]["openAPIV3Schema"]);
            let defined = without_open_envelope(defined.expect("it has a module"));
            let derived =
                without_open_envelope(&crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]);
            differences("", &defined, &derived, &mut found);
            let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            unstructural(schema, "", &mut found);
        }
    }
    for fault in &found {
        println!("{name}: {fault}");
    }
    found.len()
}

/// Names, scope, subresources, columns and the like.
fn facts(definition: &Value, version: &Value, crd: &Value, found: &mut Vec<String>) {
    let spec = &definition["spec"];
    let kind = spec["names"]["kind"].as_str().unwrap_or_default();
    let versions = spec["versions"].as_array().expect("a list");
    let theirs = versions.iter().find(|entry| entry["name"] == *version);
    let (theirs, ours) = (
        theirs.expect("it has a module"),
        &crd["spec"]["versions"][0],
    );
    let is_unset = |value: &Value| {
        [json!(null), json!(false), json!([]), json!({}), json!("")].contains(value)
    };
    let mut same = |what: &str, theirs: &Value, ours: &Value, unset: Value| {
        let settled = |value: &Value| {
            if is_unset(value) {
                unset.clone()
            } else {
                value.clone()
            }
        };
        if settled(theirs) != settled(ours) {
            found.push(format!(
                "{what}: {theirs} in the definition, {ours} in crd()"
            ));
        }
    };
    for key in ["group", "scope"] {
        same(key, &spec[key], &crd["spec"][key], Value::Null);
    }
    same(
        "name",
        &definition["metadata"]["name"],
        &crd["metadata"]["name"],
        Value::Null,
    );
    for (key, unset) in [
        ("kind", Value::Null),
        ("plural", Value::Null),
        ("singular", kind.to_lowercase().into()),
        ("listKind", format!("{kind}List").into()),
        ("shortNames", Value::Null),
        ("categories", Value::Null),
    ] {
        same(key, &spec["names"][key], &crd["spec"]["names"][key], unset);
    }
    for key in [
        "name",
        "served",
        "storage",
        "subresources",
        "additionalPrinterColumns",
        "selectableFields",
        "deprecated",
        "deprecationWarning",
    ] {
        same(key, &theirs[key], &ours[key], Value::Null);
    }
}

/// What every kind has, and the title that schemars gives to a root.
fn without_open_envelope(schema: &Value) -> Value {
    let mut schema = schema.clone();
    let root = schema.as_object_mut().expect("a schema is an object");
    root.remove("title");
    if let Some(Value::Object(properties)) = root.get_mut("properties") {
        properties.retain(|wire, node| {
            let is_envelope = ["apiVersion", "kind", "metadata"].contains(&wire.as_str());
            let mut keywords = node.as_object().into_iter().flatten();
            let is_open = keywords.all(|(keyword, _)| keyword == "type" || keyword == "description");
            !(is_envelope && is_open)
        });
        if properties.is_empty() {
            root.remove("properties");
        }
    }
    schema
}

/// Where two schemas are not equal but for the order of keys and of `required`, and for how a number is written.
fn differences(path: &str, defined: &Value, derived: &Value, found: &mut Vec<String>) {
    match (defined, derived) {
        (Value::Object(a), Value::Object(b)) => {
            let more = b.keys().filter(|key| !a.contains_key(*key));
            for key in a.keys().chain(more) {
                let (a, b) = (&defined[key], &derived[key]);
                let same_names = key == "required" && names(a) == names(b);
                if !same_names {
                    differences(&format!("{path}/{key}"), a, b, found);
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                differences(&format!("{path}/{index}"), a, b, found);
            }
        }
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => {}
        (a, b) if a == b => {}
        (a, b) => found.push(format!("{path}: {a} in the definition, {b} in crd()")),
    }
}

fn names(value: &Value) -> Option<BTreeSet<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

/// What the API server would refuse: nodes that say nothing of their type.
fn unstructural(schema: &Value, path: &str, found: &mut Vec<String>) {
    let says = |key: &str| schema[key] == true;
    let is_open =
        says("x-kubernetes-int-or-string") || says("x-kubernetes-preserve-unknown-fields");
    let has_both = !schema["properties"].is_null() && !schema["additionalProperties"].is_null();
    if schema["type"].is_null() && !is_open || has_both {
        found.push(format!("not structural at {path}: {schema}"));
    }
    for (wire, property) in schema["properties"].as_object().into_iter().flatten() {
        unstructural(property, &format!("{path}.{wire}"), found);
    }
    for key in ["items", "additionalProperties"] {
        if schema[key].is_object() {
            unstructural(&schema[key], &format!("{path}[]"), found);
        }
    }
}
