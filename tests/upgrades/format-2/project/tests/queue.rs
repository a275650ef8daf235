//! Runs the whole operator on an API server: one inside this process, or a real one with OPERATOR_TEST_SERVER=assets.

use anyhow::Result;
use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use messaging_operator::{Options, api::queue::v1beta1::Queue, operator};
use operator_runtime::{Operator, Settings};
use operator_testing::{Server, condition, sample};
use serde_json::json;

#[tokio::test]
async fn queue_follows_its_deployment() -> Result<()> {
    let server = Server::start().await?;
    server.install_kustomization("manifests").await?;
    // the operator has only the rights of its own service account
    let client = server.client_as("system:serviceaccount:messaging-operator:messaging-operator");
    let connected = Operator::new("messaging-operator", Settings::for_tests(), client);
    server.run(operator(connected, Options::default()).run());

    let queue: Queue = sample(include_str!(
        "../manifests/samples/queues.messaging.example.com.yaml"
    ))?;
    let queues: Api<Queue> = Api::namespaced(server.client(), server.namespace());
    let queue = queues.create(&PostParams::default(), &queue).await?;
    let name = queue.name_any();

    // the child comes to be
    let deployments: Api<Deployment> = Api::namespaced(server.client(), server.namespace());
    let deployment = server
        .eventually("the Deployment is made", async || {
            deployments.get_opt(&name).await.ok()?
        })
        .await;
    server
        .eventually("Ready is False, as no replica runs", async || {
            let queue = queues.get(&name).await.ok()?;
            (condition(&queue, "Ready")? == "False").then_some(())
        })
        .await;

    // and so do the topics that its pods mount
    let config_maps: Api<ConfigMap> = Api::namespaced(server.client(), server.namespace());
    let topics = server
        .eventually("the topics are written", async || {
            config_maps.get_opt(&format!("{name}-topics")).await.ok()?
        })
        .await;
    let limits = topics.data.as_ref().and_then(|data| data.get("limits"));
    assert_eq!(limits.map(String::as_str), Some("max-message 65536\n"));

    // its pods come up, which is for others to do
    let replicas = deployment
        .spec
        .as_ref()
        .and_then(|spec| spec.replicas)
        .unwrap_or(1);
    let up = json!({"status": {
        "observedGeneration": deployment.metadata.generation,
        "replicas": replicas, "readyReplicas": replicas, "updatedReplicas": replicas,
    }});
    deployments
        .patch_status(&name, &PatchParams::default(), &Patch::Merge(up))
        .await?;
    server
        .eventually("Ready is True", async || {
            let queue = queues.get(&name).await.ok()?;
            (condition(&queue, "Ready")? == "True").then_some(())
        })
        .await;

    // what others change in the child is set right
    let scaled = json!({"spec": {"replicas": replicas + 1}});
    deployments
        .patch(&name, &PatchParams::default(), &Patch::Merge(scaled))
        .await?;
    server
        .eventually("the Deployment is as it was", async || {
            let found = deployments.get_opt(&name).await.ok()??;
            (found.spec?.replicas == Some(replicas)).then_some(())
        })
        .await;

    // a child that goes comes back
    deployments.delete(&name, &DeleteParams::default()).await?;
    server
        .eventually("the Deployment returns", async || {
            let found = deployments.get_opt(&name).await.ok()??;
            (found.uid() != deployment.uid()).then_some(())
        })
        .await;

    // all of it goes with the object
    queues.delete(&name, &DeleteParams::default()).await?;
    server
        .eventually("the object is gone", async || {
            queues.get_opt(&name).await.ok()?.is_none().then_some(())
        })
        .await;
    server
        .eventually("the Deployment is gone", async || {
            deployments
                .get_opt(&name)
                .await
                .ok()?
                .is_none()
                .then_some(())
        })
        .await;
    Ok(())
}
