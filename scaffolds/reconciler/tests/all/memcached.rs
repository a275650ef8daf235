//! Runs the operator on an API server in memory, or on a real one with OPERATOR_TEST_SERVER=assets.

use anyhow::Result;
use k8s_openapi::api::apps::v1::Deployment;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use operator_testing::{condition, sample_file};
use reconciler::api::memcached::v1alpha1::Memcached;
use serde_json::json;

use crate::support;

#[tokio::test]
async fn memcached_manages_its_deployment() -> Result<()> {
    // start an API server and the operator, which has the permissions of its service account
    let server = support::start().await?;

    let memcached: Memcached = sample_file("manifests/samples/memcacheds.cache.example.com.yaml")?;
    let memcacheds: Api<Memcached> = Api::namespaced(server.client(), server.namespace());
    let memcached = memcacheds
        .create(&PostParams::default(), &memcached)
        .await?;
    let name = memcached.name_any();

    // the operator creates the Deployment
    let deployments: Api<Deployment> = Api::namespaced(server.client(), server.namespace());
    let deployment = server
        .eventually("the Deployment is created", async || {
            deployments.get_opt(&name).await.ok()?
        })
        .await;
    server
        .eventually("Ready is False while no replica is ready", async || {
            let memcached = memcacheds.get(&name).await.ok()?;
            (condition(&memcached, "Ready")? == "False").then_some(())
        })
        .await;

    // the pods become ready; the test writes this status in place of the Deployment controller
    let replicas = deployment
        .spec
        .as_ref()
        .and_then(|spec| spec.replicas)
        .unwrap_or(1);
    let rolled_out = json!({"status": {
        "observedGeneration": deployment.metadata.generation,
        "replicas": replicas, "readyReplicas": replicas, "updatedReplicas": replicas,
    }});
    deployments
        .patch_status(&name, &PatchParams::default(), &Patch::Merge(rolled_out))
        .await?;
    server
        .eventually("Ready is True", async || {
            let memcached = memcacheds.get(&name).await.ok()?;
            (condition(&memcached, "Ready")? == "True").then_some(())
        })
        .await;

    // the operator reverts changes to the Deployment
    let drift = json!({"spec": {"replicas": replicas + 1}});
    deployments
        .patch(&name, &PatchParams::default(), &Patch::Merge(drift))
        .await?;
    server
        .eventually("the change is reverted", async || {
            let current = deployments.get_opt(&name).await.ok()??;
            (current.spec?.replicas == Some(replicas)).then_some(())
        })
        .await;

    // a change to the object changes the Deployment
    let scaled = json!({"spec": {"replicas": replicas + 1}});
    memcacheds
        .patch(&name, &PatchParams::default(), &Patch::Merge(scaled))
        .await?;
    server
        .eventually("the Deployment has one more replica", async || {
            let current = deployments.get_opt(&name).await.ok()??;
            (current.spec?.replicas == Some(replicas + 1)).then_some(())
        })
        .await;

    // the operator recreates a deleted Deployment
    deployments.delete(&name, &DeleteParams::default()).await?;
    server
        .eventually("the Deployment is recreated", async || {
            let current = deployments.get_opt(&name).await.ok()??;
            (current.uid() != deployment.uid()).then_some(())
        })
        .await;

    // the Deployment is deleted together with the object
    memcacheds.delete(&name, &DeleteParams::default()).await?;
    server
        .eventually("the object is deleted", async || {
            memcacheds
                .get_opt(&name)
                .await
                .ok()?
                .is_none()
                .then_some(())
        })
        .await;
    server
        .eventually("the Deployment is deleted", async || {
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
