//! Compares `crd()` with the CRD that it was generated from, except for meaningless differences: the order of keys, the notation of
//! numbers, and empty values that the API server does not store.

use std::collections::BTreeSet;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use operator_schema::pointer;
use serde_json::{Value, json};

/// Returns a line for each difference between `crd` and the CustomResourceDefinition `definition` in this version: in names, group, scope,
/// `served`, `storage`, deprecation, subresources, printer columns, selectable fields or the schema.
///
/// # Panics
///
/// If one of them lacks the version or its schema.
pub fn crd_differences(definition: &Value, crd: &Value, version: &str) -> Vec<String> {
    let mut lines = vec![];
    differences("/spec/names", &names(definition), &names(crd), &mut lines);
    for part in ["group", "scope"] {
        let path = format!("/spec/{part}");
        differences(
            &path,
            &definition["spec"][part],
            &crd["spec"][part],
            &mut lines,
        );
    }
    let (theirs, ours) = (of_version(definition, version), of_version(crd, version));
    for part in [
        "served",
        "storage",
        "deprecated",
        "deprecationWarning",
        "subresources",
        "additionalPrinterColumns",
        "selectableFields",
    ] {
        let (theirs, ours) = (without_empty(&theirs[part]), without_empty(&ours[part]));
        differences(&format!("/{part}"), &theirs, &ours, &mut lines);
    }
    let schema = |version: &Value| version["schema"]["openAPIV3Schema"].clone();
    lines.extend(schema_differences(&schema(&theirs), &schema(&ours)));
    lines
}

/// The entry of a version in a CustomResourceDefinition.
pub fn of_version(definition: &Value, version: &str) -> Value {
    definition["spec"]["versions"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|entry| entry["name"] == version)
        .unwrap_or_else(|| panic!("there is no version {version}"))
        .clone()
}

/// `spec.names`, with the defaults of the API server.
fn names(definition: &Value) -> Value {
    let names = &definition["spec"]["names"];
    let kind = names["kind"].as_str().unwrap_or_default();
    let or = |name: &Value, implied: String| match name.as_str() {
        None | Some("") => json!(implied),
        Some(name) => json!(name),
    };
    json!({
        "kind": kind,
        "plural": names["plural"],
        "singular": or(&names["singular"], kind.to_lowercase()),
        "listKind": or(&names["listKind"], format!("{kind}List")),
        "shortNames": without_empty(&names["shortNames"]),
        "categories": without_empty(&names["categories"]),
    })
}

/// Removes `false` and empty values that the API server treats as absent; a subresource `status: {}` is kept.
fn without_empty(value: &Value) -> Value {
    match value {
        Value::Bool(false) => Value::Null,
        Value::Array(items) if items.is_empty() => Value::Null,
        Value::Array(items) => items.iter().map(without_empty).collect(),
        Value::Object(fields) => {
            let kept =
                |(_, value): &(&String, &Value)| !value.is_null() && **value != 0 && **value != "";
            let fields: serde_json::Map<String, Value> = fields
                .iter()
                .filter(kept)
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            if fields.is_empty() {
                Value::Null
            } else {
                Value::Object(fields)
            }
        }
        value => value.clone(),
    }
}

/// Returns a line for each difference between the schemas, with its JSON pointer.
///
/// Ignored are `apiVersion`, `kind` and `metadata` without restrictions, the root's title, and keywords that CRDs do not have.
fn schema_differences(definition: &Value, crd: &Value) -> Vec<String> {
    let mut lines = vec![];
    let known: JSONSchemaProps =
        serde_json::from_value(definition.clone()).expect("the CRD has a schema");
    let definition = serde_json::to_value(known).expect("a schema is JSON");
    let settled = |mut schema: Value| {
        drop_empty(&mut schema);
        without_envelope(schema)
    };
    differences("", &settled(definition), &settled(crd.clone()), &mut lines);
    lines
}

/// Keywords that the API server stores with any value. For all others, it drops `false`, `""`, `[]` and `{}`, because their fields in Go
/// have [`omitempty`] and are not pointers.
///
/// [`omitempty`]: https://pkg.go.dev/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1#JSONSchemaProps
const KEPT: [&str; 7] = [
    "additionalItems",
    "additionalProperties",
    "default",
    "example",
    "externalDocs",
    "items",
    "not",
];

/// Removes the empty values that the API server does not store from a schema.
fn drop_empty(schema: &mut Value) {
    let Value::Object(keywords) = schema else {
        return;
    };
    let empty = [json!(false), json!(""), json!([]), json!({})];
    keywords.retain(|keyword, value| KEPT.contains(&keyword.as_str()) || !empty.contains(value));
    for (keyword, value) in keywords {
        match (keyword.as_str(), value) {
            ("items" | "additionalProperties" | "not", schema) => drop_empty(schema),
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => {
                schemas.iter_mut().for_each(drop_empty);
            }
            ("properties", Value::Object(schemas)) => schemas.values_mut().for_each(drop_empty),
            ("x-kubernetes-validations", Value::Array(rules)) => {
                for rule in rules.iter_mut().filter_map(Value::as_object_mut) {
                    rule.retain(|_, value| *value != "");
                }
            }
            ("externalDocs", Value::Object(docs)) => docs.retain(|_, value| *value != ""),
            _ => {}
        }
    }
}

/// Removes the root's title, and `apiVersion`, `kind` and `metadata` if they have no restrictions.
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

fn differences(path: &str, definition: &Value, crd: &Value, lines: &mut Vec<String>) {
    match (definition, crd) {
        (Value::Object(a), Value::Object(b)) => {
            let more = b.keys().filter(|key| !a.contains_key(*key));
            for key in a.keys().chain(more) {
                let is_same_set = key == "required" && set(&definition[key]) == set(&crd[key]);
                if !is_same_set {
                    let path = format!("{path}/{}", pointer::escape(key));
                    differences(&path, &definition[key], &crd[key], lines);
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                differences(&format!("{path}/{index}"), a, b, lines);
            }
        }
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => {}
        (a, b) if a == b => {}
        (a, b) => lines.push(format!("{path}: {a} in the CRD, {b} in crd()")),
    }
}

fn set(names: &Value) -> Option<BTreeSet<&str>> {
    names.as_array()?.iter().map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meaningless_differences_are_ignored() {
        let definition = json!({
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
        assert_eq!(schema_differences(&definition, &crd), [""; 0]);
    }

    #[test]
    fn empty_values_that_the_api_server_drops_are_not_a_difference() {
        let definition = json!({
            "type": "object", "required": [], "properties": {}, "anyOf": [], "description": "", "nullable": false,
            "additionalProperties": {
                "type": "string", "enum": [], "not": {"pattern": ""}, "items": null, "default": "", "externalDocs": {"url": ""},
                "x-kubernetes-validations": [{"rule": "true", "message": ""}],
            },
        });
        let crd = json!({
            "type": "object",
            "additionalProperties": {
                "type": "string", "not": {}, "default": "", "externalDocs": {}, "x-kubernetes-validations": [{"rule": "true"}],
            },
        });
        assert_eq!(schema_differences(&definition, &crd), [""; 0]);
        let bare = json!({"type": "object", "additionalProperties": {"type": "string"}});
        let kept = schema_differences(&definition, &bare);
        assert_eq!(kept.len(), 4, "{kept:#?}");
    }

    #[test]
    fn meaningful_differences_are_reported_with_their_pointers() {
        let definition = json!({"properties": {"metadata": {"properties": {"name": {"maxLength": 5}}}, "a/b": {"default": {}, "enum": [1, 2]}}});
        let crd = json!({"properties": {"a/b": {"enum": [2, 1], "nullable": true}}});
        let lines = schema_differences(&definition, &crd);
        let places: Vec<_> = lines
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
