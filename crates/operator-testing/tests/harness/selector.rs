//! Trials of operators with a label selector, which an object leaves and to which it returns.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use operator_testing::Trial;
use serde_json::json;

const SAMPLE: &str = "{apiVersion: v1, kind: Service, metadata: {name: sample, labels: {app: web}}, spec: {ports: [{port: 80}]}}";

fn trial(name: &str) -> Trial {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("kustomization.yaml"), "resources: []\n").unwrap();
    Trial::new(folder, "").sample(SAMPLE)
}

/// Every five seconds, creates the missing child of each selected Service, and deletes the children of those that left the selector. If
/// `ignores_returned`, these get no child again.
async fn run(client: Client, ignores_returned: bool) -> kube::Result<()> {
    let services: Api<Service> = Api::default_namespaced(client.clone());
    let config_maps: Api<ConfigMap> = Api::default_namespaced(client);
    let mut ignored = BTreeSet::new();
    loop {
        let children = config_maps.list(&ListParams::default()).await?;
        let selector = ListParams::default().labels("app=web");
        for service in services.list(&selector).await? {
            let name = service.name_any();
            let exists = children.iter().any(|child| child.name_any() == name);
            if !exists && !ignored.contains(&name) {
                let child = json!({
                    "apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": {"name": name, "ownerReferences": [{
                        "apiVersion": "v1", "kind": "Service", "name": name, "uid": service.uid(), "controller": true,
                    }]},
                });
                let parameters = PatchParams::apply("selecting");
                config_maps
                    .patch(&name, &parameters, &Patch::Apply(child))
                    .await?;
            }
        }
        for service in services
            .list(&ListParams::default().labels("app!=web"))
            .await?
        {
            let is_child = |child: &&ConfigMap| {
                let mut owners = child.owner_references().iter();
                owners.any(|owner| Some(&owner.uid) == service.uid().as_ref())
            };
            for child in children.iter().filter(is_child) {
                config_maps
                    .delete(&child.name_any(), &DeleteParams::default())
                    .await?;
                if ignores_returned {
                    ignored.insert(child.name_any());
                }
            }
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
}

#[test]
fn an_operator_that_takes_back_an_object_that_returns_passes() {
    trial("takes-back").assert_conforms(async |client: Client| run(client, false).await);
}

#[test]
#[should_panic(
    expected = "after the labels of the sample were removed and restored, the cluster is in another state:\n  //configmaps/default/sample is null, not"
)]
fn an_operator_that_ignores_an_object_that_returns_is_found() {
    trial("ignores-returned").assert_conforms(async |client: Client| run(client, true).await);
}
