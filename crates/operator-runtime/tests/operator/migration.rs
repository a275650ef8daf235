//! The leader rewrites stored objects in the storage version of their CRD, and then forgets the other versions.

use crate::support::*;

use std::{sync::Arc, time::Duration};

use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams},
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use operator_runtime::Settings;
use operator_testing::Server;
use serde_json::{Value, json};
use tokio::time::sleep;

const NAME: &str = "gadgets.test.example.com";

/// A CRD with the versions `v1` and `v2`, and this storage version.
fn crd(storage: &str) -> Value {
    let version = |name: &str| {
        json!({
            "name": name, "served": true, "storage": name == storage,
            "schema": { "openAPIV3Schema": {
                "type": "object",
                "properties": { "spec": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
            } },
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": NAME },
        "spec": {
            "group": "test.example.com", "scope": "Namespaced",
            "names": { "kind": "Gadget", "plural": "gadgets", "singular": "gadget" },
            "versions": [version("v1"), version("v2")],
        },
    })
}

fn gadgets(server: &Server, version: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("test.example.com", version, "Gadget");
    Api::default_namespaced_with(server.client(), &ApiResource::from_gvk(&kind))
}

async fn create_gadget(server: &Server, name: &str) {
    let gadget = json!({
        "apiVersion": "test.example.com/v1", "kind": "Gadget",
        "metadata": { "name": name, "namespace": "default" }, "spec": { "of": name },
    });
    server.install(&gadget.to_string()).await.unwrap();
}

async fn crds(server: &Server) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    Api::all_with(server.client(), &ApiResource::from_gvk(&kind))
}

async fn stored_versions(server: &Server) -> Value {
    let crd = crds(server).await.get(NAME).await.unwrap();
    crd.data["status"]["storedVersions"].clone()
}

/// Starts an operator that migrates the Gadgets.
async fn start(server: &Server) -> Running {
    let controllers = widgets::<false>(&Arc::default()).migrate_storage(&[NAME]);
    Running::start(server.client(), Settings::for_tests(), controllers).await
}

/// Waits until the storage version counts as settled, and a little longer.
async fn until_migrated(server: &Server) {
    sleep(Duration::from_secs(120)).await;
    assert_eq!(stored_versions(server).await, json!(["v2"]));
}

/// A server with two objects that are stored in the former storage version.
async fn with_old_objects() -> Server {
    let server = server().await;
    server.install(&crd("v1").to_string()).await.unwrap();
    create_gadget(&server, "a").await;
    create_gadget(&server, "b").await;
    server.install(&crd("v2").to_string()).await.unwrap();
    assert_eq!(stored_versions(&server).await, json!(["v1", "v2"]));
    server
}

#[tokio::test(start_paused = true)]
async fn each_stored_object_is_written_once_and_the_former_version_is_forgotten() {
    let server = with_old_objects().await;
    let before: Vec<_> = gadgets(&server, "v2")
        .list(&Default::default())
        .await
        .unwrap()
        .items;
    let running = start(&server).await;
    until_migrated(&server).await;
    let after: Vec<_> = gadgets(&server, "v2")
        .list(&Default::default())
        .await
        .unwrap()
        .items;
    for (before, after) in before.iter().zip(&after) {
        assert_ne!(
            before.resource_version(),
            after.resource_version(),
            "it was stored again"
        );
        assert_eq!((&before.data, before.uid()), (&after.data, after.uid()));
        assert_eq!(before.metadata.generation, after.metadata.generation);
        assert_eq!(owners(after), [""; 0], "no field became the operator's");
    }
    let crd = crds(&server).await.get(NAME).await.unwrap();
    let annotations = crd.annotations();
    assert!(
        annotations.keys().all(|key| !key.contains("migration")),
        "{annotations:?}"
    );
    let forgotten = format!("{OPERATOR} Update status: status.storedVersions");
    assert_eq!(owners(&crd), [forgotten]);

    // nothing is left to do
    let count = server
        .requests()
        .iter()
        .filter(|request| request.verb == "patch")
        .count();
    sleep(Duration::from_secs(900)).await;
    let later = server
        .requests()
        .iter()
        .filter(|request| request.verb == "patch")
        .count();
    assert_eq!(count, later);
    running.stop().await.unwrap();
}

/// Lets a replica continue a migration that another one began when the CRD had this generation, and in which it has rewritten the first
/// object. Returns the names of the objects that the replica rewrites.
async fn continued(generation: impl Fn(i64) -> i64) -> Vec<String> {
    let server = with_old_objects().await;
    let crd = crds(&server).await.get(NAME).await.unwrap();
    // the other replica begins now, and rewrites the first object
    let list = gadgets(&server, "v2")
        .list_metadata(&Default::default())
        .await
        .unwrap();
    let record = json!({
        "storageVersion": "v2",
        "resourceVersion": list.metadata.resource_version,
        "generation": generation(crd.metadata.generation.unwrap()),
    });
    let annotation = json!({ "metadata": { "annotations": {
        "widget-operator/storage-migration": record.to_string(),
    } } });
    let parameters = PatchParams::default();
    crds(&server)
        .await
        .patch(NAME, &parameters, &Patch::Merge(annotation))
        .await
        .unwrap();
    let nothing = Patch::Merge(json!({}));
    gadgets(&server, "v2")
        .patch("a", &parameters, &nothing)
        .await
        .unwrap();
    let before = server.requests().len();

    let running = start(&server).await;
    until_migrated(&server).await;
    running.stop().await.unwrap();
    server
        .requests()
        .into_iter()
        .skip(before)
        .filter(|it| it.verb == "patch" && it.resource == "gadgets")
        .map(|it| it.name)
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_migration_that_was_interrupted_goes_on_where_it_was() {
    assert_eq!(continued(|generation| generation).await, ["b"]);
}

/// Since that generation, another version may have been the storage version, for example after a rollback.
#[tokio::test(start_paused = true)]
async fn a_migration_of_an_earlier_generation_begins_again() {
    assert_eq!(continued(|generation| generation - 2).await, ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_written_keeps_its_version_stored() {
    let server = with_old_objects().await;
    let user = "system:serviceaccount:default:migrator";
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": { "name": "all-but-gadgets" },
        "rules": [
            { "apiGroups": ["apiextensions.k8s.io"], "resources": ["*"], "verbs": ["*"] },
            { "apiGroups": ["test.example.com"], "resources": ["widgets", "widgets/status"], "verbs": ["*"] },
            { "apiGroups": ["test.example.com"], "resources": ["gadgets"], "verbs": ["list"] },
        ],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": { "name": "migrator" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "all-but-gadgets" },
        "subjects": [{ "kind": "ServiceAccount", "name": "migrator", "namespace": "default" }],
    });
    server.install(&role.to_string()).await.unwrap();
    server.install(&binding.to_string()).await.unwrap();
    let controllers = widgets::<false>(&Arc::default()).migrate_storage(&[NAME]);
    let client = server.client_as(user);
    let running = Running::start(client, Settings::for_tests(), controllers).await;
    sleep(Duration::from_secs(1800)).await;
    assert_eq!(stored_versions(&server).await, json!(["v1", "v2"]));
    running.stop().await.unwrap();
}

/// The server in memory does not record the version in which it stores an object. A real one writes an unchanged object only if it is
/// stored in another version.
#[tokio::test]
async fn on_a_real_server_objects_are_stored_again_and_the_former_version_can_be_removed() {
    if std::env::var("OPERATOR_TEST_SERVER").is_err() {
        eprintln!("set OPERATOR_TEST_SERVER=assets: this takes a minute");
        return;
    }
    let server = with_old_objects().await;
    let before = gadgets(&server, "v2").get("a").await.unwrap();
    let _running = start(&server).await;
    let began = std::time::Instant::now();
    while stored_versions(&server).await != json!(["v2"]) {
        assert!(began.elapsed() < Duration::from_secs(120));
        sleep(Duration::from_secs(1)).await;
    }
    let after = gadgets(&server, "v2").get("a").await.unwrap();
    assert_ne!(before.resource_version(), after.resource_version());
    let mut only = crd("v2");
    only["spec"]["versions"].as_array_mut().unwrap().remove(0);
    let parameters = PatchParams::apply("test").force();
    let crds = crds(&server).await;
    crds.patch(NAME, &parameters, &Patch::Apply(&only))
        .await
        .unwrap();
    for name in ["a", "b"] {
        let gadget = gadgets(&server, "v2").get(name).await.unwrap();
        assert_eq!(gadget.data["spec"]["of"], name);
    }
}
