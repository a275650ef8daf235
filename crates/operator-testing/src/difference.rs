//! Where two schemas are not equal, but for what says nothing: the order of keys, and how a number is written.

use std::collections::BTreeSet;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use serde_json::Value;

/// One line for each place, with its JSON pointer, where `crd()` has another schema than the spec.
///
/// What every kind has (`apiVersion`, `kind` and `metadata` where nothing is asked of them) and the root's title do not count, nor do
/// keywords that definitions do not have.
pub fn schema_differences(spec: &Value, crd: &Value) -> Vec<String> {
    let mut found = vec![];
    let known: JSONSchemaProps =
        serde_json::from_value(spec.clone()).expect("the spec has a schema");
    let spec = serde_json::to_value(known).expect("a schema is JSON");
    differences(
        "",
        &without_envelope(spec),
        &without_envelope(crd.clone()),
        &mut found,
    );
    found
}

fn without_envelope(mut schema: Value) -> Value {
    let Some(root) = schema.as_object_mut() else {
        return schema;
    };
    root.remove("title");
    if let Some(Value::Object(properties)) = root.get_mut("properties") {
        properties.retain(|wire, node| {
            let is_envelope = ["apiVersion", "kind", "metadata"].contains(&wire.as_str());
            let mut keywords = node.as_object().into_iter().flatten();
            let is_open = keywords.all(|(key, _)| key == "type" || key == "description");
            !(is_envelope && is_open)
        });
        if properties.is_empty() {
            root.remove("properties");
        }
    }
    schema
}

fn differences(path: &str, spec: &Value, crd: &Value, found: &mut Vec<String>) {
    match (spec, crd) {
        (Value::Object(a), Value::Object(b)) => {
            let more = b.keys().filter(|key| !a.contains_key(*key));
            for key in a.keys().chain(more) {
                let is_same_set = key == "required" && set(&spec[key]) == set(&crd[key]);
                if !is_same_set {
                    let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                    differences(&path, &spec[key], &crd[key], found);
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
        (a, b) => found.push(format!("{path}: {a} in the spec, {b} in crd()")),
    }
}

fn set(names: &Value) -> Option<BTreeSet<&str>> {
    names.as_array()?.iter().map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_says_nothing_is_no_difference() {
        let spec = json!({
            "type": "object", "required": ["b", "a"], "properties": {
                "kind": {"type": "string"}, "metadata": {"type": "object"},
                "a": {"type": "integer", "minimum": 1}, "b": {"type": "string", "no-keyword": 1},
            },
        });
        let crd = json!({
            "title": "T", "required": ["a", "b"], "type": "object", "properties": {
                "b": {"type": "string"}, "a": {"minimum": 1.0, "type": "integer"},
            },
        });
        assert_eq!(schema_differences(&spec, &crd), [""; 0]);
    }

    #[test]
    fn what_says_something_is_told_with_its_place() {
        let spec = json!({"properties": {"metadata": {"properties": {"name": {"maxLength": 5}}}, "a/b": {"default": {}, "enum": [1, 2]}}});
        let crd = json!({"properties": {"a/b": {"enum": [2, 1], "nullable": true}}});
        let found = schema_differences(&spec, &crd);
        let places: Vec<_> = found
            .iter()
            .filter_map(|line| line.split(": ").next())
            .collect();
        let expected = [
            "/properties/a~1b/default",
            "/properties/a~1b/enum/0",
            "/properties/a~1b/enum/1",
            "/properties/a~1b/nullable",
            "/properties/metadata",
        ];
        assert_eq!(places, expected);
    }
}
