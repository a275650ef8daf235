//! Writes `data/builtin.json`, the kinds and types of a real API server, from its discovery and its `/openapi/v3`, and
//! `data/columns.json`, the columns of its tables.
//!
//! `cargo run -p operator-testing --example record -- data` against the current context of `KUBECONFIG`. Descriptions of types and
//! everything else that the server in memory does not use are left out; the results have one kind or type per line, in a stable order.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use kube::Client;
use serde_json::{Map, Value, json};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> Result<()> {
    let folder = std::env::args().nth(1).ok_or("usage: record FOLDER")?;
    let folder = Path::new(&folder);
    let client = Client::try_default().await?;
    let version = fetch(&client, "/version").await?;
    let mut kinds = Vec::new();
    let mut types = BTreeMap::new();
    for (group, version) in versions(&client).await? {
        let root = match group.as_str() {
            "" => format!("api/{version}"),
            _ => format!("apis/{group}/{version}"),
        };
        let resources = fetch(&client, &format!("/{root}")).await?;
        let document = fetch(&client, &format!("/openapi/v3/{root}")).await?;
        let schemas = document["components"]["schemas"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        kinds.extend(recorded_kinds(&group, &version, &resources, &schemas));
        for (name, schema) in &schemas {
            types.insert(name.clone(), slim(schema));
        }
    }
    let mut text = String::new();
    writeln!(text, "{{\"server\":{},", version["gitVersion"])?;
    writeln!(
        text,
        "\"kinds\":[\n{}\n],",
        lines(kinds.iter().map(Value::to_string))
    )?;
    let types = types
        .iter()
        .map(|(name, schema)| format!("{}:{schema}", json!(name)));
    writeln!(text, "\"types\":{{\n{}\n}}}}", lines(types))?;
    std::fs::write(folder.join("builtin.json"), text)?;
    let columns = columns(&client).await?;
    std::fs::write(folder.join("columns.json"), columns)?;
    Ok(())
}

async fn fetch(client: &Client, path: &str) -> Result<Value> {
    fetch_as(client, path, "application/json").await
}

async fn fetch_as(client: &Client, path: &str, media: &str) -> Result<Value> {
    let request = http::Request::get(path).header(http::header::ACCEPT, media);
    Ok(client.request(request.body(Vec::new())?).await?)
}

/// The kinds for whose rows `src/kinds/cells/` of operator-apiserver has the cells.
const PRINTED: &[(&str, &[&str])] = &[
    (
        "api/v1",
        &[
            "configmaps",
            "events",
            "namespaces",
            "nodes",
            "persistentvolumeclaims",
            "persistentvolumes",
            "pods",
            "secrets",
            "serviceaccounts",
            "services",
        ],
    ),
    (
        "apis/admissionregistration.k8s.io/v1",
        &[
            "mutatingwebhookconfigurations",
            "validatingwebhookconfigurations",
        ],
    ),
    (
        "apis/apiextensions.k8s.io/v1",
        &["customresourcedefinitions"],
    ),
    (
        "apis/apps/v1",
        &["daemonsets", "deployments", "replicasets", "statefulsets"],
    ),
    ("apis/batch/v1", &["cronjobs", "jobs"]),
    ("apis/coordination.k8s.io/v1", &["leases"]),
    ("apis/events.k8s.io/v1", &["events"]),
    (
        "apis/networking.k8s.io/v1",
        &["ingresses", "networkpolicies"],
    ),
    ("apis/policy/v1", &["poddisruptionbudgets"]),
    (
        "apis/rbac.authorization.k8s.io/v1",
        &[
            "clusterrolebindings",
            "clusterroles",
            "rolebindings",
            "roles",
        ],
    ),
    ("apis/scheduling.k8s.io/v1", &["priorityclasses"]),
];

async fn columns(client: &Client) -> Result<String> {
    let mut entries = Vec::new();
    for (root, plurals) in PRINTED {
        for plural in *plurals {
            let media = "application/json;as=Table;v=v1;g=meta.k8s.io";
            let table = fetch_as(client, &format!("/{root}/{plural}?limit=1"), media).await?;
            let columns = table["columnDefinitions"].as_array().into_iter().flatten();
            let columns = lines(columns.map(Value::to_string));
            entries.push(format!(
                "{}:[\n{columns}\n]",
                json!(format!("{root}/{plural}"))
            ));
        }
    }
    Ok(format!("{{\n{}\n}}\n", lines(entries.into_iter())))
}

async fn versions(client: &Client) -> Result<Vec<(String, String)>> {
    let groups = fetch(client, "/apis").await?;
    let mut versions = vec![(String::new(), "v1".to_owned())];
    for group in groups["groups"].as_array().into_iter().flatten() {
        for version in group["versions"].as_array().into_iter().flatten() {
            versions.push((text(&group["name"]), text(&version["version"])));
        }
    }
    versions.sort();
    Ok(versions)
}

fn recorded_kinds(
    group: &str,
    version: &str,
    resources: &Value,
    schemas: &Map<String, Value>,
) -> Vec<Value> {
    let resources: Vec<&Value> = resources["resources"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    let mut kinds = Vec::new();
    for resource in &resources {
        let plural = text(&resource["name"]);
        if plural.contains('/') {
            continue;
        }
        let prefix = format!("{plural}/");
        let subresources: Map<String, Value> = resources
            .iter()
            .filter_map(|sub| {
                let name = text(&sub["name"]);
                Some((name.strip_prefix(&prefix)?.to_owned(), sub["verbs"].clone()))
            })
            .collect();
        let type_name = schemas.iter().find(|(_, schema)| {
            schema["x-kubernetes-group-version-kind"]
                == json!([{"group": group, "kind": resource["kind"], "version": version}])
        });
        kinds.push(json!({
            "group": group,
            "version": version,
            "kind": resource["kind"],
            "plural": plural,
            "singular": resource["singularName"],
            "shortNames": resource.get("shortNames").unwrap_or(&json!([])),
            "categories": resource.get("categories").unwrap_or(&json!([])),
            "namespaced": resource["namespaced"],
            "verbs": resource["verbs"],
            "subresources": subresources,
            "type": type_name.map(|(name, _)| name),
        }));
    }
    kinds
}

/// The parts of a schema that the server uses: types, references, defaults, the types of lists and maps, and the keys of strategic merge
/// patches.
fn slim(schema: &Value) -> Value {
    let Some(schema) = schema.as_object() else {
        return schema.clone();
    };
    // a reference with a default or a description is the only item of `allOf`
    if let Some([part]) = schema
        .get("allOf")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
    {
        let mut slimmed = slim(&Value::Object(
            schema
                .iter()
                .filter(|(key, _)| *key != "allOf")
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect(),
        ));
        if let (Some(slimmed), Some(part)) = (slimmed.as_object_mut(), slim(part).as_object()) {
            slimmed.extend(part.clone());
        }
        return slimmed;
    }
    let mut slimmed = Map::new();
    for (key, value) in schema {
        let kept = match key.as_str() {
            "type"
            | "required"
            | "enum"
            | "x-kubernetes-list-type"
            | "x-kubernetes-list-map-keys"
            | "x-kubernetes-map-type"
            | "x-kubernetes-patch-merge-key"
            | "x-kubernetes-patch-strategy" => value.clone(),
            // a default that is Go's zero value means that the field is always written
            "default" => value.clone(),
            "format" if ["int-or-string", "int64", "byte"].contains(&text(value).as_str()) => {
                value.clone()
            }
            "$ref" => json!(text(value).trim_start_matches("#/components/schemas/")),
            "properties" => value
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, property)| (name.clone(), slim(property)))
                .collect::<Map<_, _>>()
                .into(),
            "items" | "additionalProperties" => {
                let mut slimmed = slim(value);
                if let Some(slimmed) = slimmed.as_object_mut() {
                    slimmed.remove("default");
                }
                slimmed
            }
            "oneOf" => value
                .as_array()
                .into_iter()
                .flatten()
                .map(slim)
                .collect::<Vec<_>>()
                .into(),
            _ => continue,
        };
        slimmed.insert(key.clone(), kept);
    }
    slimmed.into()
}

fn lines(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(",\n")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
