//! The types of some CRDs, or of all of them, compile without a warning, read and write arbitrary valid objects of their schemas, and
//! return their CRDs from `crd()`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use cargo_operator::{
    crd::{self, Api, Version},
    rust::code::untouched,
    types,
    types::SchemaMode,
};
use operator_schema::{Objects, Schema, SchemaOrBool, apply_defaults};
use serde_json::{Value, json};
use toml_edit::{Array, DocumentMut, value};

use crate::definitions::corpus;

/// The kinds whose types are compiled. `$CORPUS_KINDS` names others; `all` means all of the corpus.
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

/// The number of bytes of modules, in each mode, after which no more are compiled at once. rustc needs some 3 GiB for them.
const CRATE_SIZE: usize = 12_000_000;

/// The maximum number of objects of a version that cover its schema.
const OBJECTS: usize = 400;

#[test]
fn types_read_and_write_all_values_that_their_schemas_allow() {
    let wanted = std::env::var("CORPUS_KINDS").unwrap_or_else(|_| KINDS.join(","));
    let wanted: Vec<&str> = wanted.split(',').collect();
    let mut apis = corpus();
    apis.retain(|api| wanted == ["all"] || wanted.contains(&api.name().as_str()));
    if apis.is_empty() {
        return;
    }
    apis.extend(crd::read("odd.yaml", include_str!("odd.yaml")).unwrap());
    // both modes are compiled at once
    let workspace = Path::new(env!("CARGO_TARGET_TMPDIR")).join("corpus");
    let mut rests = [
        (SchemaMode::Derive, apis.as_slice()),
        (SchemaMode::Embed, apis.as_slice()),
    ];
    while rests.iter().any(|(_, rest)| !rest.is_empty()) {
        let _ = fs::remove_dir_all(&workspace);
        let mut members = vec![];
        for (mode, rest) in rests.iter_mut().filter(|(_, rest)| !rest.is_empty()) {
            let member = format!("{mode:?}").to_lowercase();
            let count = write_crate(&workspace.join(&member), rest, *mode);
            eprintln!("{member}: {count} definitions, from {}", rest[0].name());
            *rest = &rest[count..];
            members.push(member);
        }
        let (mut manifest, _) = manifests();
        manifest["workspace"]["members"] = value(Array::from_iter(&members));
        fs::write(workspace.join("Cargo.toml"), manifest.to_string()).unwrap();
        fs::copy(root().join("Cargo.lock"), workspace.join("Cargo.lock")).unwrap();
        cargo(&workspace, &["build"]);
        for member in &members {
            cargo(
                &workspace,
                &["run", "--package", &format!("corpus-{member}")],
            );
        }
    }
}

fn cargo(workspace: &Path, args: &[&str]) {
    let status = crate::cargo::command()
        .args(args)
        .args(["--quiet", "--offline"])
        .current_dir(workspace)
        // the target folder of the tests, where most dependencies are already compiled
        .env("CARGO_TARGET_DIR", workspace.join("../.."))
        .status()
        .unwrap();
    assert!(status.success(), "{args:?}: see above");
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Writes a crate with a module for each version of the first CRDs, as many as are compiled at once, and a `main` that checks them. Returns
/// the number of CRDs.
fn write_crate(folder: &Path, apis: &[Api], mode: SchemaMode) -> usize {
    let member = format!("{mode:?}").to_lowercase();
    let source = folder.join("src");
    fs::create_dir_all(&source).unwrap();
    let mut library = "pub mod check;\nmod difference;\n".to_owned();
    let mut calls = String::new();
    let (mut count, mut size) = (0, 0);
    for api in apis {
        if size > CRATE_SIZE {
            break;
        }
        count += 1;
        for version in &api.versions {
            let name = format!("{}_{}", api.name(), version.name).replace(['.', '-'], "_");
            let file = format!("{name}.schema.json");
            let module = types::module_with_file(api, version, mode, &file);
            size += module.text.len() + module.schema_file.as_ref().map_or(0, String::len);
            let case = json!({
                "definition": serde_yaml::from_str::<Value>(&api.text).unwrap(),
                "version": version.name,
                "objects": objects(api, version),
            });
            let text = untouched(&module.text);
            fs::write(source.join(format!("{name}.rs")), text).unwrap();
            if let Some(text) = &module.schema_file {
                fs::write(source.join(file), text).unwrap();
            }
            fs::write(source.join(format!("{name}.json")), case.to_string()).unwrap();
            library += &format!("pub mod {name};\n");
            let kind = format!("corpus_{member}::{name}::{}", module.facts.root);
            calls += &format!(
                "    faults += check::<{kind}>(\"{name}\", include_str!(\"{name}.json\"));\n"
            );
        }
    }
    let main = format!(
        "use corpus_{member}::check::check;\n\nfn main() {{\n    let mut faults = 0;\n{calls}    assert_eq!(faults, 0);\n}}\n"
    );
    fs::write(source.join("lib.rs"), library).unwrap();
    fs::write(source.join("main.rs"), main).unwrap();
    for (from, to) in [
        ("tests/corpus/check.rs", "src/check.rs"),
        (
            "crates/operator-testing/src/difference.rs",
            "src/difference.rs",
        ),
    ] {
        // operator-schema is no dependency of a generated project
        let text = fs::read_to_string(root().join(from)).unwrap();
        let text = text.replace(
            "use operator_schema::",
            "use operator_testing::operator_schema::",
        );
        fs::write(folder.join(to), text).unwrap();
    }
    let (_, mut manifest) = manifests();
    manifest["package"]["name"] = value(format!("corpus-{member}"));
    fs::write(folder.join("Cargo.toml"), manifest.to_string()).unwrap();
    count
}

/// The manifest of a generated project, whose dependencies these crates share: CI has compiled them by then.
const PROJECT: &str = include_str!("../../scaffolds/reconciler/Cargo.toml");

/// The manifests of the workspace and of a crate in it, with the profiles and the dependencies of [`PROJECT`]. These include its
/// dev-dependencies, because they affect the features of the others.
fn manifests() -> (DocumentMut, DocumentMut) {
    let project: DocumentMut = PROJECT.parse().unwrap();
    let mut workspace = DocumentMut::new();
    workspace["workspace"]["resolver"] = value("3");
    workspace["profile"] = project["profile"].clone();
    workspace["profile"]["dev"]["package"]["granit-parser"]["opt-level"] = value(1);
    let mut member: DocumentMut = "[package]\nversion = \"0.1.0\"\nedition = \"2024\"\n"
        .parse()
        .unwrap();
    member["dependencies"] = project["dependencies"].clone();
    for (name, dependency) in project["dev-dependencies"].as_table().unwrap() {
        member["dependencies"][name] = dependency.clone();
    }
    for (_, dependency) in member["dependencies"].as_table_mut().unwrap().iter_mut() {
        let path = dependency.get("path").and_then(|path| path.as_str());
        if let Some(path) = path.map(|path| root().join("scaffolds/reconciler").join(path)) {
            let path = path.canonicalize().unwrap();
            dependency["path"] = value(path.to_str().unwrap());
        }
    }
    let features = root().join("tests/cargo/workspace-features");
    member["dependencies"]["workspace-features"]["path"] = value(features.to_str().unwrap());
    member["lints"]["rust"]["warnings"] = value("deny");
    (workspace, member)
}

/// Valid objects, as the API server sends them, which cover every field, value and edge case of the schema that valid objects can have; and
/// copies of the first ones with enum values that only a later version of the schema may have.
fn objects(api: &Api, version: &Version) -> Vec<Value> {
    let schema = &version.schema;
    let mut objects = Objects::new(schema, 0).cover(OBJECTS);
    for object in &mut objects {
        apply_defaults(schema, object);
    }
    let mut newer: Vec<_> = objects.iter().take(3).cloned().collect();
    newer
        .iter_mut()
        .for_each(|object| put_newer_values(schema, object));
    objects.extend(newer);
    for fields in objects.iter_mut().filter_map(Value::as_object_mut) {
        let api_version = format!("{}/{}", api.group, version.name);
        fields.insert("apiVersion".into(), api_version.into());
        fields.insert("kind".into(), api.names.kind.as_str().into());
        fields
            .entry("metadata")
            .or_insert_with(|| json!({"name": "x", "labels": {"a": "b"}}));
    }
    objects
}

fn put_newer_values(schema: &Schema, value: &mut Value) {
    match value {
        Value::String(text) if schema.enum_.is_some() => *text = "not-in-the-schema".into(),
        Value::Array(items) => {
            for (item, schema) in items.iter_mut().zip(schema.items.iter().cycle()) {
                put_newer_values(schema, item);
            }
        }
        Value::Object(fields) => {
            for (wire, value) in fields {
                let additional = match &schema.additional_properties {
                    Some(SchemaOrBool::Schema(values)) => Some(&**values),
                    _ => None,
                };
                if let Some(schema) = schema.properties.get(wire).or(additional) {
                    put_newer_values(schema, value);
                }
            }
        }
        _ => {}
    }
}
