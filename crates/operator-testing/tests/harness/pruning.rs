//! Trials of operators that should delete children that are not desired, and of one that does not update its children.

use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use operator_testing::Trial;
use serde_json::{Value, json};
use tokio::time::sleep;

const SAMPLE: &str =
    "{apiVersion: v1, kind: Service, metadata: {name: sample}, spec: {ports: [{port: 80}]}}";

/// A trial of an operator that has the permissions of an administrator and no manifests.
fn trial(name: &str) -> Trial {
    let folder: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("kustomization.yaml"), "resources: []\n").unwrap();
    Trial::new(folder, "").sample(SAMPLE)
}

/// A ConfigMap with the name and the port of the Service.
fn child(service: &Service) -> Value {
    let ports = service.spec.as_ref().and_then(|spec| spec.ports.as_ref());
    let port = ports.map(|ports| ports[0].port);
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": service.name_any(), "ownerReferences": [{
            "apiVersion": "v1", "kind": "Service", "name": service.name_any(), "uid": service.uid(), "controller": true,
        }]},
        "data": {"port": port.unwrap_or_default().to_string()},
    })
}

/// Every five seconds, creates the missing child of each Service except for `kubernetes`, and deletes the other children of the Service if
/// it `prunes`. It never updates a child.
async fn create(client: Client, prunes: bool) -> kube::Result<()> {
    let services: Api<Service> = Api::default_namespaced(client.clone());
    let config_maps: Api<ConfigMap> = Api::default_namespaced(client);
    loop {
        let all = config_maps.list(&ListParams::default()).await?;
        for service in services.list(&ListParams::default()).await? {
            let name = service.name_any();
            if name == "kubernetes" {
                continue;
            }
            if !all.iter().any(|map| map.name_any() == name) {
                let parameters = PatchParams::apply("pruning").force();
                let child = Patch::Apply(child(&service));
                config_maps.patch(&name, &parameters, &child).await?;
            }
            let is_child = |map: &&ConfigMap| {
                map.owner_references()
                    .iter()
                    .any(|owner| Some(&owner.uid) == service.uid().as_ref())
            };
            for other in all.iter().filter(is_child).filter(|_| prunes) {
                if other.name_any() != name {
                    let parameters = DeleteParams::default();
                    config_maps.delete(&other.name_any(), &parameters).await?;
                }
            }
        }
        sleep(Duration::from_secs(5)).await;
    }
}

async fn pruning(client: Client) -> kube::Result<()> {
    create(client, true).await
}

async fn keeping(client: Client) -> kube::Result<()> {
    create(client, false).await
}

#[test]
fn an_operator_that_deletes_undesired_children_passes() {
    let trial = trial("prunes").prunes(&["Service"]);
    trial
        .waits_for_deletion(&["configmaps"])
        .assert_conforms(pruning);
}

#[test]
#[should_panic(
    expected = "these objects remain, although the sample controls them and does not desire them:\n  ConfigMap default/sample-undesired\n"
)]
fn an_operator_that_keeps_undesired_children_is_found() {
    let trial = trial("keeps").prunes(&["Service"]);
    trial
        .waits_for_deletion(&["configmaps"])
        .assert_conforms(keeping);
}

#[test]
fn undesired_children_of_other_kinds_and_of_kept_resources_may_remain() {
    let waits = |trial: Trial| trial.waits_for_deletion(&["configmaps"]);
    waits(trial("others").prunes(&["Secret"])).assert_conforms(keeping);
    let kept = trial("kept").prunes(&["Service"]).keeps(&["configmaps"]);
    waits(kept).assert_conforms(keeping);
}

#[test]
#[should_panic(expected = "after its spec was changed, the result is not the same")]
fn an_operator_that_does_not_update_its_children_is_found() {
    trial("updates").assert_conforms(pruning);
}
