//! Empty values at every place of a CRD: the generated types are those of the CRD that the API server stores. With
//! `OPERATOR_TEST_SERVER=assets`, a real API server stores it.

use std::{fs, path::PathBuf};

use cargo_operator::{
    crd::{self, Api},
    types,
    types::SchemaMode,
};
use kube::{
    Api as Resources,
    api::{DynamicObject, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use operator_testing::Server;
use serde_json::{Value, json};

use crate::difference::crd_differences;

/// The keywords of a schema, with the empty values of their types. Each one is also tried with `null`.
const KEYWORDS: [(&str, &[&str]); 44] = [
    ("description", &["\"\""]),
    ("title", &["\"\""]),
    ("type", &["\"\""]),
    ("format", &["\"\""]),
    ("nullable", &["false"]),
    ("default", &["{}", "[]", "\"\"", "false", "0"]),
    ("example", &["{}", "[]", "\"\"", "false", "0"]),
    ("enum", &["[]"]),
    ("properties", &["{}"]),
    ("required", &["[]"]),
    ("additionalProperties", &["{}", "false"]),
    ("minProperties", &["0"]),
    ("maxProperties", &["0"]),
    ("items", &["{}"]),
    ("minItems", &["0"]),
    ("maxItems", &["0"]),
    ("uniqueItems", &["false"]),
    ("minimum", &["0"]),
    ("exclusiveMinimum", &["false"]),
    ("maximum", &["0"]),
    ("exclusiveMaximum", &["false"]),
    ("multipleOf", &["0"]),
    ("pattern", &["\"\""]),
    ("minLength", &["0"]),
    ("maxLength", &["0"]),
    ("allOf", &["[]", "[{}]"]),
    ("anyOf", &["[]", "[{}]"]),
    ("oneOf", &["[]", "[{}]"]),
    ("not", &["{}"]),
    ("externalDocs", &["{}", "{\"url\": \"\"}"]),
    ("x-kubernetes-preserve-unknown-fields", &["false"]),
    ("x-kubernetes-embedded-resource", &["false"]),
    ("x-kubernetes-int-or-string", &["false"]),
    ("x-kubernetes-list-type", &["\"\""]),
    ("x-kubernetes-list-map-keys", &["[]"]),
    ("x-kubernetes-map-type", &["\"\""]),
    (
        "x-kubernetes-validations",
        &["[]", "[{\"rule\": \"true\", \"message\": \"\"}]"],
    ),
    ("$ref", &["\"\""]),
    ("$schema", &["\"\""]),
    ("additionalItems", &["{}", "false"]),
    ("definitions", &["{}"]),
    ("dependencies", &["{}"]),
    ("id", &["\"\""]),
    ("patternProperties", &["{}"]),
];

/// The empty values of a CRD outside of its schema, by their pointers.
const PLACES: [(&str, &str); 17] = [
    ("/metadata/labels", "{}"),
    ("/metadata/annotations", "{}"),
    ("/spec/conversion", "{}"),
    ("/spec/names/singular", "\"\""),
    ("/spec/names/listKind", "\"\""),
    ("/spec/names/shortNames", "[]"),
    ("/spec/names/categories", "[]"),
    ("/spec/versions/0/deprecated", "false"),
    ("/spec/versions/0/deprecationWarning", "\"\""),
    ("/spec/versions/0/subresources", "{}"),
    ("/spec/versions/0/subresources", "{\"status\": {}}"),
    (
        "/spec/versions/0/subresources",
        "{\"status\": null, \"scale\": null}",
    ),
    (
        "/spec/versions/0/subresources/scale/labelSelectorPath",
        "\"\"",
    ),
    ("/spec/versions/0/additionalPrinterColumns", "[]"),
    ("/spec/versions/0/selectableFields", "[]"),
    (
        "/spec/versions/0/additionalPrinterColumns",
        "[{\"name\": \"A\", \"type\": \"string\", \"jsonPath\": \".spec.a\", \"format\": \"\", \"description\": \"\", \"priority\": 0}]",
    ),
    ("/spec/versions/0/schema", "{}"),
];

fn small() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "voids.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Void", "plural": "voids"},
            "scope": "Namespaced",
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                },
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {
                        "a": {"type": "string"},
                        "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {"type": "boolean"}}}},
                                                "lists": {"type": "array", "items": {"type": "array", "items": {"type": "string", "nullable": true}}},
                        "any": {"x-kubernetes-preserve-unknown-fields": true},
                        "either": {"x-kubernetes-int-or-string": true},
                    }},
                }}},
            }],
        },
    })
}

/// The pointers of all nodes of a schema.
fn nodes(schema: &Value, pointer: &str, found: &mut Vec<String>) {
    found.push(pointer.to_owned());
    for (wire, property) in schema["properties"].as_object().into_iter().flatten() {
        let wire = wire.replace('~', "~0").replace('/', "~1");
        nodes(property, &format!("{pointer}/properties/{wire}"), found);
    }
    for keyword in ["items", "additionalProperties"] {
        if schema[keyword].is_object() {
            nodes(&schema[keyword], &format!("{pointer}/{keyword}"), found);
        }
    }
}

/// The CRD with a value at a place; `None` if a schema already has the keyword, or if the place has no parent.
fn with(definition: &Value, pointer: &str, value: &str) -> Option<Value> {
    let mut changed = definition.clone();
    let (parent, key) = pointer.rsplit_once('/')?;
    let parent = changed.pointer_mut(parent)?.as_object_mut()?;
    let is_schema = pointer.contains("/openAPIV3Schema/");
    if is_schema && parent.contains_key(key) {
        return None;
    }
    parent.insert(key.to_owned(), serde_json::from_str(value).unwrap());
    Some(changed)
}

/// A server that reports how it would store a CRD.
struct DryRunServer {
    definitions: Resources<DynamicObject>,
    _server: Server,
}

impl DryRunServer {
    async fn new() -> Self {
        let server = Server::start().await.unwrap();
        let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let definitions = Resources::all_with(server.client(), &ApiResource::from_gvk(&kind));
        Self {
            definitions,
            _server: server,
        }
    }

    /// The CRD as the server would store it, or its refusal.
    async fn stored(&self, definition: &Value) -> Result<Value, String> {
        let object: DynamicObject = serde_json::from_value(definition.clone()).unwrap();
        let params = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        match self.definitions.create(&params, &object).await {
            Ok(stored) => Ok(serde_json::to_value(&stored).unwrap()),
            Err(error) => Err(error.to_string()),
        }
    }
}

fn read(definition: &Value) -> Result<Api, String> {
    // a real server writes the properties of a schema in the order of their names
    let mut sorted = definition.clone();
    sorted.sort_all_objects();
    let text = serde_json::to_string_pretty(&sorted).unwrap();
    match crd::read("voids.json", &text) {
        Ok(mut apis) => Ok(apis.remove(0)),
        Err(errors) => Err(errors[0].to_string()),
    }
}

/// What is wrong with the types of a CRD that has empty values.
async fn fault(server: &DryRunServer, definition: &Value) -> Option<String> {
    let Ok(stored) = server.stored(definition).await else {
        // for a CRD that the server refuses, there are no types to compare with
        return None;
    };
    // if the tool refuses the CRD, nothing is lost silently
    let api = read(definition).ok()?;
    let settled = match read(&stored) {
        Ok(api) => api,
        Err(error) => return Some(format!("what is stored does not read: {error}")),
    };
    for (version, settled_version) in api.versions.iter().zip(&settled.versions) {
        let differences = crd_differences(definition, &stored, &version.name);
        if !differences.is_empty() {
            return Some(format!("what is stored is no crd(): {differences:?}"));
        }
        if (&version.schema, &version.printer_columns)
            == (&settled_version.schema, &settled_version.printer_columns)
        {
            continue;
        }
        for mode in [SchemaMode::Derive, SchemaMode::Embed] {
            let module = types::module(&api, version, mode).text;
            let wanted = types::module(&settled, settled_version, mode).text;
            if module != wanted {
                let differs = module
                    .lines()
                    .zip(wanted.lines())
                    .find(|(line, wanted)| line != wanted);
                return Some(format!("{mode:?}: {differs:?}"));
            }
        }
    }
    None
}

#[tokio::test]
async fn empty_values_are_handled_as_by_the_api_server() {
    let server = DryRunServer::new().await;
    let mut faults = vec![];
    let (mut asked, mut refused) = (0, 0);
    let small = small();
    let (root, mut pointers) = ("/spec/versions/0/schema/openAPIV3Schema", vec![]);
    nodes(&small.pointer(root).unwrap().clone(), root, &mut pointers);
    let mut places: Vec<(String, &str)> = vec![];
    for (keyword, values) in KEYWORDS {
        for pointer in &pointers {
            let values = values.iter().copied().chain(["null"]);
            places.extend(values.map(|value| (format!("{pointer}/{keyword}"), value)));
        }
    }
    let own = PLACES
        .iter()
        .flat_map(|(pointer, value)| [(*pointer, *value), (*pointer, "null")]);
    places.extend(own.map(|(pointer, value)| (pointer.to_owned(), value)));
    // the CRD with all the values that the server accepts together
    let mut all = small.clone();
    for (pointer, value) in places {
        let Some(definition) = with(&small, &pointer, value) else {
            continue;
        };
        asked += 1;
        if let Some(fault) = fault(&server, &definition).await {
            faults.push(format!("{value} at {pointer}: {fault}"));
        }
        if let Some(more) = with(&all, &pointer, value)
            && server.stored(&more).await.is_ok()
        {
            all = more;
        } else {
            refused += 1;
        }
    }
    if let Some(fault) = fault(&server, &all).await {
        faults.push(format!("all at once: {fault}"));
    }
    eprintln!("{asked} places, {refused} of them not with the others");
    assert!(
        faults.is_empty(),
        "{} faults: {:#?}",
        faults.len(),
        &faults[..faults.len().min(40)]
    );
}

/// Real CRDs, of the folder that `$CORPUS` names, with empty values in every node.
#[tokio::test]
async fn real_crds_with_empty_values_have_the_types_of_the_stored_ones() {
    let Some(folder) = std::env::var_os("CORPUS") else {
        return;
    };
    let server = DryRunServer::new().await;
    let mut faults = vec![];
    let mut files = vec![];
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    files.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "yaml")
    });
    for (at, path) in files.iter().enumerate().step_by(16) {
        let text = fs::read_to_string(path).unwrap();
        let Ok(mut definition) = serde_yaml::from_str::<Value>(&text) else {
            continue;
        };
        let versions = definition["spec"]["versions"]
            .as_array()
            .map_or(0, Vec::len);
        for version in 0..versions {
            let root = format!("/spec/versions/{version}/schema/openAPIV3Schema");
            let mut pointers = vec![];
            nodes(
                &definition.pointer(&root).unwrap().clone(),
                &root,
                &mut pointers,
            );
            for (index, pointer) in pointers.iter().enumerate() {
                // each node gets another one of the values that a server accepts anywhere
                const ANYWHERE: [(&str, &str); 12] = [
                    ("properties", "{}"),
                    ("required", "[]"),
                    ("enum", "[]"),
                    ("anyOf", "[]"),
                    ("allOf", "[]"),
                    ("description", "\"\""),
                    ("pattern", "\"\""),
                    ("format", "\"\""),
                    ("x-kubernetes-validations", "[]"),
                    ("x-kubernetes-list-map-keys", "null"),
                    ("nullable", "false"),
                    ("default", "null"),
                ];
                let (keyword, value) = ANYWHERE[(index + at) % ANYWHERE.len()];
                let is_map =
                    !definition.pointer(pointer).unwrap()["additionalProperties"].is_null();
                if keyword == "properties" && is_map {
                    continue;
                }
                if let Some(changed) = with(&definition, &format!("{pointer}/{keyword}"), value) {
                    definition = changed;
                }
            }
        }
        if let Some(fault) = fault(&server, &definition).await {
            faults.push(format!("{}: {fault}", path.display()));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
