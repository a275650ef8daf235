//! A trial of an operator that creates a namespace for each object, and children in it.

use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::{ListParams, Patch, PatchParams};
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

#[test]
fn children_in_a_namespace_that_the_operator_creates_are_no_reason_to_fail() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("namespaces");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("kustomization.yaml"), "resources: []\n").unwrap();
    let sample = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: sample}, rules: []}";
    let trial = Trial::new(folder, "").sample(sample);
    trial.assert_conforms(create);
}
