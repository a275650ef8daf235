use std::{collections::BTreeMap, env, fs, path::PathBuf, process::Command};

use serde_json::json;

use super::*;
use k8s_openapi::{
    api::{
        apps::v1::{DaemonSet, Deployment, StatefulSet},
        autoscaling::v2::HorizontalPodAutoscaler,
        batch::v1::CronJob,
        core::v1::{PersistentVolume, Pod, Service},
        networking::v1::{Ingress, NetworkPolicy},
        policy::v1::PodDisruptionBudget,
        rbac::v1::{ClusterRole, RoleBinding},
    },
    apimachinery::pkg::apis::meta::v1::Condition,
};

const TYPES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/src/types/kubernetes/types.json"
);

/// `cargo xtask types --update` rewrites the table.
#[test]
fn the_table_matches_k8s_openapi() {
    let text = text(&table());
    if env::var_os("UPDATE").is_some_and(|value| value == "1") {
        fs::write(TYPES, &text).unwrap();
    }
    assert!(
        fs::read_to_string(TYPES).unwrap() == text,
        "k8s-openapi has changed: run `cargo xtask types --update`"
    );
}

/// A line for each type.
fn text(types: &BTreeMap<String, Known>) -> String {
    let line = |(path, known): (&String, &Known)| {
        format!("  {path:?}: {}", serde_json::to_string(known).unwrap())
    };
    let lines: Vec<String> = types.iter().map(line).collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

/// All types inside of the built-in kinds, except for those that differ between the features of k8s-openapi.
fn table() -> BTreeMap<String, Known> {
    let mut generator = schemars::generate::SchemaSettings::draft2020_12().into_generator();
    generator.subschema_for::<ClusterRole>();
    generator.subschema_for::<Condition>();
    generator.subschema_for::<CronJob>();
    generator.subschema_for::<DaemonSet>();
    generator.subschema_for::<Deployment>();
    generator.subschema_for::<HorizontalPodAutoscaler>();
    generator.subschema_for::<Ingress>();
    generator.subschema_for::<NetworkPolicy>();
    generator.subschema_for::<PersistentVolume>();
    generator.subschema_for::<Pod>();
    generator.subschema_for::<PodDisruptionBudget>();
    generator.subschema_for::<RoleBinding>();
    generator.subschema_for::<Service>();
    generator.subschema_for::<StatefulSet>();
    let varying = varying();
    let mut types = BTreeMap::new();
    for (name, node) in generator.definitions() {
        let fields = node["properties"].as_object();
        let is_kind = fields.is_some_and(|fields| {
            ["kind", "metadata"]
                .into_iter()
                .all(|wire| fields.contains_key(wire))
        });
        if let Some(fields) = fields.filter(|_| !is_kind && !varying.contains(name)) {
            let known = Known {
                fields: fields
                    .iter()
                    .map(|(wire, node)| (wire.clone(), expression(node)))
                    .collect(),
                required: serde_json::from_value(node["required"].clone()).unwrap_or_default(),
            };
            types.insert(path(name), known);
        }
    }
    types
}

fn path(name: &str) -> String {
    name.strip_prefix("io.k8s.").unwrap().replace('.', "::")
}

fn expression(node: &Value) -> Expression {
    if let Some(name) = node["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap();
        return match last(&path(name)) {
            "Quantity" => Expression::Quantity,
            "IntOrString" => Expression::IntOrString,
            "Time" | "MicroTime" => Expression::Lossy,
            _ => Expression::Type(path(name)),
        };
    }
    match (node["type"].as_str(), node["format"].as_str()) {
        (Some("string"), None) => Expression::String,
        (Some("boolean"), _) => Expression::Bool,
        (Some("integer"), Some("int32")) => Expression::I32,
        (Some("integer"), Some("int64")) => Expression::I64,
        (Some("array"), _) => Expression::List(Box::new(expression(&node["items"]))),
        (Some("object"), _) if node["additionalProperties"].is_object() => {
            Expression::Map(Box::new(expression(&node["additionalProperties"])))
        }
        _ => Expression::Lossy,
    }
}

/// The types that k8s-openapi reads or writes differently with a feature other than the oldest one.
fn varying() -> BTreeSet<String> {
    let sources = sources();
    let mut features: Vec<PathBuf> = fs::read_dir(sources)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    features.sort();
    assert!(features[0].ends_with("v1_33"), "{features:?}");
    let [first, more @ ..] = features.as_slice() else {
        panic!("k8s-openapi has no features");
    };
    let first = structs(first);
    let mut varying = BTreeSet::new();
    for feature in more {
        let structs = structs(feature);
        for (name, fields) in &first {
            let is_same = structs.get(name).is_some_and(|known| {
                let mut new = known.difference(fields);
                fields.is_subset(known) && new.all(|field| field.contains(": Option<"))
            });
            if !is_same {
                varying.insert(name.clone());
            }
        }
    }
    varying
}

/// The fields of each type, as they are declared.
fn structs(folder: &std::path::Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut structs = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(path).unwrap();
            if let Some(head) = text.strip_prefix("// Generated from definition ") {
                let fields = text.lines().filter(|line| line.starts_with("    pub "));
                let name = head.lines().next().unwrap().to_owned();
                structs.insert(name, fields.map(str::to_owned).collect());
            }
        }
    }
    structs
}

/// The source folder of k8s-openapi that cargo uses. The query is only for this platform, because packages for others may not be
/// downloaded.
fn sources() -> PathBuf {
    let rustc = Command::new("rustc").arg("-vV").output().unwrap();
    let stdout = String::from_utf8(rustc.stdout).unwrap();
    let host = stdout.lines().find_map(|line| line.strip_prefix("host: "));
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--format-version", "1"])
        .args(["--filter-platform", host.unwrap()])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages
        .iter()
        .find(|package| package["name"] == "k8s-openapi");
    let manifest = PathBuf::from(package.unwrap()["manifest_path"].as_str().unwrap());
    manifest.with_file_name("src")
}

#[test]
fn the_releases_list_existing_fields_only() {
    for (path, fields) in &TABLE.since {
        let Some(known) = TABLE.types.get(path) else {
            panic!("{path} is not in the table");
        };
        for (wire, release) in fields {
            assert!(
                wire.is_empty() || known.fields.contains_key(wire),
                "{path} {wire}"
            );
            assert!(*release > EARLIEST && *release <= 33, "{path} {wire}");
        }
    }
}

#[test]
fn no_two_types_have_the_same_name() {
    let names: BTreeSet<&str> = TABLE.types.keys().map(|path| last(path)).collect();
    assert_eq!(names.len(), TABLE.types.len());
}

/// The path of the type for a property of this name and schema.
fn find_name(wire: &str, schema: Value) -> Option<&'static str> {
    let schema: Schema = serde_json::from_value(schema).unwrap();
    find(wire, &schema).map(Kubernetes::name)
}

/// An object with these properties, all strings.
fn strings(names: &[&str]) -> Value {
    let properties = names
        .iter()
        .map(|name| ((*name).to_owned(), json!({"type": "string"})));
    json!({"type": "object", "properties": properties.collect::<Map<_, _>>()})
}

fn toleration() -> Value {
    let mut schema = strings(&["effect", "key", "operator", "value"]);
    schema["properties"]["tolerationSeconds"] = json!({"type": "integer", "format": "int64"});
    schema
}

#[test]
fn a_complete_copy_is_the_type_under_any_name() {
    assert_eq!(find_name("tolerations", toleration()), Some("Toleration"));
    assert_eq!(find_name("other", toleration()), Some("Toleration"));
}

#[test]
fn a_schema_that_the_type_would_not_preserve_gets_its_own_type() {
    let changed = |change: fn(&mut Value)| {
        let mut schema = toleration();
        change(&mut schema);
        find_name("tolerations", schema)
    };
    for change in [
        (|schema| schema["properties"]["more"] = json!({"type": "string"})) as fn(&mut Value),
        |schema| schema["properties"]["key"] = json!({"type": "string", "nullable": true}),
        |schema| schema["properties"]["key"] = json!({"type": "integer"}),
        |schema| schema["x-kubernetes-preserve-unknown-fields"] = true.into(),
        |schema| schema["nullable"] = true.into(),
        // stricter than the type
        |schema| schema["required"] = json!(["key"]),
        |schema| schema["properties"]["effect"]["enum"] = json!(["NoSchedule"]),
        // a selection, which Kubernetes never had
        |schema| {
            drop(
                schema["properties"]
                    .as_object_mut()
                    .unwrap()
                    .remove("effect"),
            );
        },
    ] {
        assert_eq!(changed(change), None);
    }
}

#[test]
fn a_field_that_is_always_written_must_be_required() {
    let mut alias = strings(&["ip"]);
    alias["properties"]["hostnames"] = json!({"type": "array", "items": {"type": "string"}});
    assert_eq!(find_name("hostAliases", alias.clone()), None);
    alias["required"] = json!(["ip"]);
    assert_eq!(find_name("hostAliases", alias), Some("HostAlias"));
}

#[test]
fn a_copy_from_an_older_release_is_the_type() {
    let quantities = json!({"type": "object", "additionalProperties": {
        "x-kubernetes-int-or-string": true, "pattern": "^(([KMGTPE]i)|[numkMGTPE])$",
    }});
    let resources =
        json!({"type": "object", "properties": {"limits": quantities, "requests": quantities}});
    // `claims` was added in 1.26, and VolumeResourceRequirements in 1.29
    assert_eq!(
        find_name("resources", resources),
        Some("ResourceRequirements")
    );
}

#[test]
fn small_objects_need_the_name_of_a_kubernetes_field() {
    let mut schema = strings(&["name", "value"]);
    schema["required"] = json!(["name", "value"]);
    assert_eq!(find_name("sysctls", schema.clone()), Some("Sysctl"));
    assert_eq!(find_name("settings", schema), None);
}

#[test]
fn one_field_alone_is_not_a_copy_of_a_larger_type() {
    let rolling = json!({"type": "object", "properties": {"maxUnavailable": {"x-kubernetes-int-or-string": true}}});
    assert_eq!(find_name("rollingUpdate", rolling), None);
}
