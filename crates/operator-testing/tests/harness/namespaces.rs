//! Trials of an operator that creates a namespace for each object, and children in it, and of one that writes to all namespaces.

use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::{ListParams, Patch, PatchParams, WatchParams};
use kube::{Api, Client, ResourceExt};
use operator_testing::Trial;
use serde_json::{Value, json};
use tokio::time::sleep;

/// Every five seconds, creates a namespace for each role with the name of a sample, and a ConfigMap in it.
async fn create(client: Client) -> kube::Result<()> {
    let roles: Api<ClusterRole> = Api::all(client.clone());
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let parameters = PatchParams::apply("namespaces").force();
    loop {
        for role in roles.list(&ListParams::default()).await? {
            let name = role.name_any();
            if !name.starts_with("sample") {
                continue;
            }
            let child = |kind: &str| -> Patch<Value> {
                Patch::Apply(json!({"apiVersion": "v1", "kind": kind, "metadata": {
                    "name": name, "ownerReferences": [{"apiVersion": "rbac.authorization.k8s.io/v1",
                    "kind": "ClusterRole", "name": name, "uid": role.uid(), "controller": true}]}}))
            };
            if namespaces.get_opt(&name).await?.is_none() {
                let namespace = child("Namespace");
                namespaces.patch(&name, &parameters, &namespace).await?;
            }
            let config_maps: Api<ConfigMap> = Api::namespaced(client.clone(), &name);
            if config_maps.get_opt(&name).await?.is_none() {
                let config_map = child("ConfigMap");
                config_maps.patch(&name, &parameters, &config_map).await?;
            }
        }
        sleep(Duration::from_secs(5)).await;
    }
}

/// Every five seconds, writes the missing ones of two ConfigMaps to each namespace, of which one has a finalizer. It notices that a namespace
/// is being deleted only by the refusal of the other one, and removes the finalizer then.
async fn fill(client: Client) -> kube::Result<()> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let parameters = PatchParams::apply("namespaces").force();
    // a trial creates and deletes objects of the watched kinds
    let _watch = namespaces.watch(&WatchParams::default(), "0").await?;
    loop {
        for namespace in namespaces.list(&ListParams::default()).await? {
            let config_maps: Api<ConfigMap> =
                Api::namespaced(client.clone(), &namespace.name_any());
            if config_maps.get_opt("other").await?.is_some() {
                continue;
            }
            let config_map = |name: &str, finalizers: Value| {
                Patch::Apply(json!({"apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": {"name": name, "finalizers": finalizers}}))
            };
            if config_maps.get_opt("held").await?.is_none() {
                let held = config_map("held", json!(["example.com/held"]));
                config_maps.patch("held", &parameters, &held).await?;
            }
            let other = config_map("other", json!([]));
            if config_maps
                .patch("other", &parameters, &other)
                .await
                .is_err()
            {
                let freed = config_map("held", json!([]));
                config_maps.patch("held", &parameters, &freed).await?;
            }
        }
        sleep(Duration::from_secs(5)).await;
    }
}

/// A trial without manifests, of an operator that has the permissions of an administrator.
fn trial(name: &str) -> Trial {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("kustomization.yaml"), "resources: []\n").unwrap();
    let sample = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: sample}, rules: []}";
    Trial::new(folder, "").sample(sample)
}

#[test]
fn children_in_a_namespace_that_the_operator_creates_are_no_reason_to_fail() {
    trial("namespaces").assert_conforms(create);
}

#[test]
fn a_write_to_a_namespace_that_is_being_deleted_lacks_no_permission() {
    trial("filled").keeps(&["configmaps"]).assert_conforms(fill);
}
