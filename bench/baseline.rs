//! What the operator is measured against: the same child, kept by kube alone as its documentation
//! does it, with none of what the runtime adds (finalizer, conditions, events, leader election,
//! health, metrics). It applies on each turn and writes a status when it changed.

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{Patch, PatchParams},
    runtime::{Controller, controller::Action, watcher},
};
use memcached_operator::api::memcached::v1alpha1::Memcached;
use serde_json::json;

const NAME: &str = "baseline";

async fn reconcile(memcached: Arc<Memcached>, client: Arc<Client>) -> Result<Action, kube::Error> {
    let (name, namespace) = (memcached.name_any(), memcached.namespace().unwrap_or_default());
    let labels = json!({"app.kubernetes.io/instance": name});
    let child = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "ownerReferences": [memcached.controller_owner_ref(&())]},
        "spec": {
            "replicas": memcached.spec.replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": NAME, "image": memcached.spec.image}]},
            },
        },
    });
    let manager = PatchParams::apply(NAME).force();
    Api::<Deployment>::namespaced((*client).clone(), &namespace)
        .patch(&name, &manager, &Patch::Apply(&child))
        .await?;
    let generation = memcached.metadata.generation;
    if memcached.status.as_ref().and_then(|status| status.observed_generation) != generation {
        let status = json!({
            "apiVersion": Memcached::api_version(&()),
            "kind": Memcached::kind(&()),
            "status": {"observedGeneration": generation},
        });
        Api::<Memcached>::namespaced((*client).clone(), &namespace)
            .patch_status(&name, &manager, &Patch::Apply(&status))
            .await?;
    }
    Ok(Action::await_change())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let client = Client::try_default().await?;
    Controller::new(Api::<Memcached>::all(client.clone()), watcher::Config::default())
        .owns(Api::<Deployment>::all(client.clone()), watcher::Config::default())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(5)), Arc::new(client))
        .for_each(|_| async {})
        .await;
    Ok(())
}
