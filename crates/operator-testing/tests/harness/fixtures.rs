//! Files of fixtures and samples: which objects are applied, which errors have the path of the file, and that trials keep fixtures.

use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use operator_testing::{Server, Trial, assert_fixtures_are_valid, sample_file};
use serde_json::{Value, json};

const SAMPLE: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: sample}}";

const CRD: &str = include_str!("../cases/widgets.crd.yaml");

/// A folder with these files.
fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    for (name, text) in files {
        std::fs::write(folder.join(name), text).unwrap();
    }
    folder
}

#[tokio::test]
async fn all_files_and_documents_are_applied() {
    let secrets = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: b, namespace: blue}\n";
    // the namespace is created first, although its file comes last
    let namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: blue}}";
    let folder = folder(
        "fixtures",
        &[("a.yaml", secrets), ("b.yml", namespace), ("notes.md", "-")],
    );
    let server = Server::in_memory();
    server.install_fixtures(folder).await.unwrap();
    for (namespace, name) in [("default", "a"), ("blue", "b")] {
        let secrets: Api<Secret> = Api::namespaced(server.client(), namespace);
        secrets.get(name).await.unwrap();
    }
    server.install_fixtures("no/such/folder").await.unwrap();
}

#[tokio::test]
async fn a_fixture_without_a_namespace_gets_the_given_one() {
    let objects = "{apiVersion: v1, kind: Namespace, metadata: {name: team}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: a}}\n";
    let folder = folder("placed", &[("a.yaml", objects)]);
    let server = Server::in_memory();
    server.install_fixtures_in(folder, "team").await.unwrap();
    let secrets: Api<Secret> = Api::namespaced(server.client(), "team");
    secrets.get("a").await.unwrap();
}

#[tokio::test]
async fn the_error_of_a_rejected_fixture_names_its_file() {
    let folder = folder(
        "refused",
        &[("wrong.yaml", "{apiVersion: v1, kind: Secret}")],
    );
    let error = Server::in_memory()
        .install_fixtures(folder)
        .await
        .unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("wrong.yaml: a document has no metadata.name"),
        "{message}"
    );
}

#[test]
fn a_sample_is_exactly_one_object() {
    let two = format!("{SAMPLE}\n---\n{SAMPLE}\n");
    let folder = folder(
        "samples",
        &[
            ("two.yaml", &two),
            ("none.yaml", "# nothing\n"),
            ("one.yaml", SAMPLE),
        ],
    );
    let read =
        |name: &str| sample_file::<ConfigMap>(folder.join(name)).map_err(|it| it.to_string());
    assert!(read("one.yaml").is_ok());
    for (name, count) in [("two.yaml", 2), ("none.yaml", 0)] {
        let message = read(name).unwrap_err();
        let expected = format!("{name}: it has {count} objects, but a sample is one object");
        assert!(message.contains(&expected), "{message}");
        let trial =
            std::panic::catch_unwind(|| Trial::new("manifests", "").sample_file(folder.join(name)));
        assert!(trial.is_err());
    }
}

#[test]
#[should_panic(expected = "wrong.yaml: Widget a: ")]
fn an_invalid_fixture_is_reported() {
    let wrong = "{apiVersion: cases.example.com/v1, kind: Widget, metadata: {name: a}, spec: {replicas: many}}";
    let other = "{apiVersion: v1, kind: Secret, metadata: {name: a}, spec: {}}";
    let folder = folder("invalid", &[("wrong.yaml", wrong), ("other.yaml", other)]);
    let crds = self::folder("invalid-crds", &[("widgets.yaml", CRD)]);
    assert_fixtures_are_valid(folder, crds);
}

/// A folder with these objects: the fixtures or the manifests of a trial.
fn files(name: &str, objects: &[(&str, Value)]) -> PathBuf {
    let texts: Vec<(&str, String)> = objects
        .iter()
        .map(|(name, object)| (*name, object.to_string()))
        .collect();
    let texts: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (*name, &**text)).collect();
    folder(name, &texts)
}

/// The operator adopts a fixture. When the trial deletes the children that the operator created, it must not delete the fixture.
#[test]
fn the_trial_of_permissions_deletes_no_fixtures() {
    let fixture = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "given"}});
    let rule = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "patch", "delete"]});
    let group = "rbac.authorization.k8s.io";
    let api_version = format!("{group}/v1");
    let role = json!({"apiVersion": api_version, "kind": "ClusterRole", "metadata": {"name": "trial"}, "rules": [rule]});
    let binding = json!({
        "apiVersion": api_version, "kind": "ClusterRoleBinding", "metadata": {"name": "trial"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "trial"},
        "subjects": [{"kind": "User", "name": "trial", "apiGroup": group}],
    });
    let kustomization = json!({"resources": ["role.yaml", "binding.yaml"]});
    let manifests = files(
        "trial-manifests",
        &[
            ("role.yaml", role),
            ("binding.yaml", binding),
            ("kustomization.yaml", kustomization),
        ],
    );
    let fixtures = files("trial-fixtures", &[("given.yaml", fixture)]);
    let trial = Trial::new(manifests, "trial")
        .sample(SAMPLE)
        .fixtures(fixtures);
    // OwnerReferencesPermissionEnforcement: whoever sets an owner must be allowed to delete the object
    let written =
        json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["delete"]}).to_string();
    trial.assert_permissions_are_needed(&[&written], async |client: Client| {
        let config_maps: Api<ConfigMap> = Api::namespaced(client, "default");
        let sample = loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if let Ok(sample) = config_maps.get("sample").await {
                break sample;
            }
        };
        let owner = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "name": "sample", "uid": sample.metadata.uid, "controller": true,
        });
        let owned = Patch::Merge(json!({"metadata": {"ownerReferences": [owner]}}));
        let patched = config_maps.patch("given", &PatchParams::default(), &owned).await;
        patched.map_err(|error| error.to_string())?;
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let given = config_maps.get("given").await;
            if given.is_err() && config_maps.get("sample").await.is_ok() {
                return Err("the fixture is gone".to_owned());
            }
        }
    });
}
