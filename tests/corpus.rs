//! Real definitions, when `$CORPUS` names a folder of them, and odd ones: every version generates, and the types of some are compiled, read
//! and write objects of every shape that their schemas allow, and say in `crd()` what their definitions say.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use cargo_operator::{
    crd::{self, Api},
    project::SchemaMode,
    types,
};
use operator_schema::{Schema, SchemaOrBool};
use serde_json::{Map, Value, json};

/// Those that are compiled; `$CORPUS_KINDS` names others, `all` all of them (which takes 2 minutes and 3 GiB for 60 of them).
const KINDS: [&str; 14] = [
    "apiserversources.sources.knative.dev",
    "applications.argoproj.io",
    "certificates.cert-manager.io",
    "clusters.cluster.x-k8s.io",
    "clusters.postgresql.cnpg.io",
    "eventlisteners.triggers.tekton.dev",
    "helmreleases.helm.toolkit.fluxcd.io",
    "httproutes.gateway.networking.k8s.io",
    "pipelines.tekton.dev",
    "prometheuses.monitoring.coreos.com",
    "redisfailovers.databases.spotahome.com",
    "rollouts.argoproj.io",
    "scaledobjects.keda.sh",
    "virtualservices.networking.istio.io",
];

/// Empty without a corpus.
fn corpus() -> Vec<Api> {
    let Some(folder) = std::env::var_os("CORPUS") else {
        return vec![];
    };
    let mut files = vec![];
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "yaml")
            {
                files.push(path);
            }
        }
    }
    files.sort();
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        crd::read(&path.to_string_lossy(), &text).unwrap()
    };
    files.iter().flat_map(read).collect()
}

#[test]
fn every_version_generates_with_no_allow_and_the_same_names_in_both_modes() {
    for api in corpus() {
        for version in &api.versions {
            let modes = [SchemaMode::Derive, SchemaMode::Embed];
            let [derived, embedded] = modes.map(|mode| {
                let module = types::module(&api, version, mode);
                assert!(!module.text.contains("allow("), "{}", api.name());
                let mut names = names(&module.text);
                // that of a derived root is in no line
                names.insert(module.facts.root);
                names
            });
            assert_eq!(derived, embedded, "{}", api.name());
        }
    }
}

/// Of the public types, aliases among them.
fn names(module: &str) -> BTreeSet<String> {
    let name = |line: &str| {
        let item = ["pub struct ", "pub enum ", "pub type "]
            .into_iter()
            .find_map(|item| line.strip_prefix(item))?;
        item.split_whitespace().next().map(str::to_owned)
    };
    module.lines().filter_map(name).collect()
}

#[test]
fn attributes_carry_almost_all_of_the_schemas() {
    let mut shares: BTreeMap<String, Share> = BTreeMap::new();
    for api in corpus() {
        for version in &api.versions {
            let parts = types::module(&api, version, SchemaMode::Derive).parts;
            let schema = serde_json::to_value(&version.schema).unwrap();
            count(&schema, "", &parts, &mut shares);
        }
    }
    for (keyword, share) in &shares {
        let Share { carried, all } = share;
        let percent = 100.0 * *carried as f64 / *all as f64;
        eprintln!("{keyword:40} {carried:>7} of {all:>7}  {percent:>5.1} %");
        assert!(percent >= 90.0, "{keyword}");
    }
}

/// How often a keyword is carried by attributes, and how often there is one.
#[derive(Default)]
struct Share {
    carried: usize,
    all: usize,
}

/// Counts the nodes of a schema and the keywords of each.
fn count(node: &Value, pointer: &str, parts: &[String], shares: &mut BTreeMap<String, Share>) {
    let is_part = |pointer: &str| {
        let below = |part: &String| pointer.strip_prefix(part.as_str());
        parts
            .iter()
            .filter_map(below)
            .any(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mut add = |keyword: &str, is_carried: bool| {
        let share = shares.entry(keyword.to_owned()).or_default();
        share.carried += usize::from(is_carried);
        share.all += 1;
    };
    let mut is_whole = true;
    for keyword in node.as_object().into_iter().flatten().map(|(key, _)| key) {
        let is_carried = !is_part(&format!("{pointer}/{keyword}"));
        is_whole &= is_carried;
        add(keyword, is_carried);
    }
    add("(nodes)", is_whole);
    for (wire, property) in node["properties"].as_object().into_iter().flatten() {
        let wire = wire.replace('~', "~0").replace('/', "~1");
        count(
            property,
            &format!("{pointer}/properties/{wire}"),
            parts,
            shares,
        );
    }
    for keyword in ["items", "additionalProperties"] {
        if node[keyword].is_object() {
            count(
                &node[keyword],
                &format!("{pointer}/{keyword}"),
                parts,
                shares,
            );
        }
    }
}

#[test]
fn types_read_and_write_what_their_schemas_allow() {
    let wanted = std::env::var("CORPUS_KINDS").unwrap_or_else(|_| KINDS.join(","));
    let wanted: Vec<&str> = wanted.split(',').collect();
    let mut apis = corpus();
    apis.retain(|api| wanted == ["all"] || wanted.contains(&api.name().as_str()));
    if apis.is_empty() {
        return;
    }
    apis.extend(crd::read("odd.yaml", include_str!("corpus/odd.yaml")).unwrap());
    for mode in [SchemaMode::Derive, SchemaMode::Embed] {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("corpus-{mode:?}"));
        write_crate(&folder, &apis, mode);
        let status = Command::new(env!("CARGO"))
            .args(["run", "--quiet", "--offline"])
            .current_dir(&folder)
            // that of the tests, which has most dependencies already
            .env("CARGO_TARGET_DIR", folder.join("../.."))
            .status()
            .unwrap();
        assert!(status.success(), "{mode:?}: see above");
    }
}

/// A crate with a module for each version, whose `main` checks them all.
fn write_crate(folder: &Path, apis: &[Api], mode: SchemaMode) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = folder.join("src");
    let _ = fs::remove_dir_all(&source);
    fs::create_dir_all(&source).unwrap();
    let mut library = "pub mod check;\n".to_owned();
    let mut calls = String::new();
    for api in apis {
        for version in &api.versions {
            let module = types::module(api, version, mode);
            let name = format!("{}_{}", api.name(), version.name).replace(['.', '-'], "_");
            let case = json!({
                "definition": serde_yaml::from_str::<Value>(&api.text).unwrap(),
                "version": version.name,
                "objects": Edge::ALL.map(|edge| object(api, &version.name, &version.schema, edge)),
            });
            fs::write(source.join(format!("{name}.rs")), &module.text).unwrap();
            fs::write(source.join(format!("{name}.json")), case.to_string()).unwrap();
            library += &format!("pub mod {name};\n");
            calls += &format!(
                "    faults += check::<corpus::{name}::{}>(\"{name}\", include_str!(\"{name}.json\"));\n",
                module.facts.root
            );
        }
    }
    let main = format!(
        "use corpus::check::check;\n\nfn main() {{\n    let mut faults = 0;\n{calls}    assert_eq!(faults, 0);\n}}\n"
    );
    fs::write(source.join("lib.rs"), library).unwrap();
    fs::write(source.join("main.rs"), main).unwrap();
    fs::copy(root.join("tests/corpus/check.rs"), source.join("check.rs")).unwrap();
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    fs::write(
        folder.join("Cargo.toml"),
        r#"[package]
name = "corpus"
version = "0.1.0"
edition = "2024"

[workspace]

[dependencies]
k8s-openapi = { version = "0.29", features = ["schemars", "v1_33"] }
kube = { version = "5", default-features = false, features = ["client", "derive", "ring", "runtime", "rustls-tls"] }
schemars = "1"
serde = { version = "1", features = ["derive"] }
serde_json = { version = "1", features = ["preserve_order"] }

[lints.rust]
warnings = "deny"

[profile.dev]
debug = "line-tables-only"

[profile.dev.package."*"]
debug = false
"#,
    )
    .unwrap();
}

/// What an object is made to show.
#[derive(Clone, Copy, PartialEq)]
enum Edge {
    Everything,
    OnlyRequired,
    Null,
    Number,
    Empty,
}

impl Edge {
    const ALL: [Self; 5] = [
        Self::Everything,
        Self::OnlyRequired,
        Self::Null,
        Self::Number,
        Self::Empty,
    ];
}

fn object(api: &Api, version: &str, schema: &Schema, edge: Edge) -> Value {
    let mut object = match value(schema, edge) {
        Value::Object(object) => object,
        _ => Map::new(),
    };
    object.insert(
        "apiVersion".into(),
        format!("{}/{version}", api.group).into(),
    );
    object.insert("kind".into(), api.names.kind.clone().into());
    object.insert(
        "metadata".into(),
        json!({"name": "x", "labels": {"a": "b"}}),
    );
    object.into()
}

/// A value of the schema's types, absent and empty and null ones and unknown fields included; bounds and patterns are not looked at.
fn value(schema: &Schema, edge: Edge) -> Value {
    let keeps_unknown = schema.preserve_unknown_fields == Some(true) || schema.embedded_resource;
    if schema.int_or_string {
        // a Quantity is written as text
        let is_quantity = schema
            .pattern
            .as_ref()
            .is_some_and(|text| text.contains("KMGTPE"));
        return if edge == Edge::Number && !is_quantity {
            json!(7)
        } else {
            json!("10Mi")
        };
    }
    if edge == Edge::Null && schema.nullable {
        return Value::Null;
    }
    match (schema.type_.as_deref(), edge) {
        (Some("boolean"), _) => json!(edge != Edge::Empty),
        (Some("integer"), _) => match schema.format.as_deref() {
            Some("int32") => json!(i32::MAX),
            _ => json!(i64::MAX),
        },
        (Some("number"), Edge::Number) => json!(1),
        (Some("number"), _) => json!(1.5),
        (Some("string"), _) => {
            let values = schema
                .enum_
                .iter()
                .flatten()
                .filter(|value| !value.is_null());
            let values: Vec<&Value> = values.collect();
            match (values.as_slice(), schema.format.as_deref()) {
                ([first, .., last], _) => (*if edge == Edge::Everything {
                    first
                } else {
                    last
                })
                .clone(),
                ([only], _) => (*only).clone(),
                ([], Some("date-time")) => json!("2026-01-02T03:04:05Z"),
                ([], _) => json!(if edge == Edge::Empty { "" } else { "x" }),
            }
        }
        (Some("array"), Edge::Empty) => json!([]),
        (Some("array"), _) => match &schema.items {
            Some(items) => json!([value(items, edge), value(items, Edge::Everything)]),
            None => json!(["x", 1]),
        },
        (None, Edge::Null) if schema.properties.is_empty() => Value::Null,
        (None, Edge::Number) if schema.properties.is_empty() => json!(1.25),
        (None, _) if schema.properties.is_empty() => json!({"any": [1, "x", null, {"a": {}}]}),
        _ => {
            let properties = schema
                .properties
                .iter()
                .filter(|(wire, _)| edge != Edge::OnlyRequired || schema.required.contains(*wire));
            let mut object: Map<String, Value> = properties
                .map(|(wire, property)| (wire.clone(), value(property, edge)))
                .collect();
            if let (Some(SchemaOrBool::Schema(values)), true) =
                (&schema.additional_properties, edge != Edge::Empty)
            {
                object.insert("some.key/x".into(), value(values, edge));
            } else if keeps_unknown && edge == Edge::Everything {
                object.insert("unknownField".into(), json!({"a": [1, null]}));
                object.insert("kind".into(), json!("Any"));
            }
            object.into()
        }
    }
}
