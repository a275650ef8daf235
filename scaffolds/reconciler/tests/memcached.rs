//! Runs the whole operator on an API server: one inside this process, or a real one with OPERATOR_TEST_SERVER=assets.

use anyhow::Result;
use k8s_openapi::api::apps::v1::Deployment;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use operator_testing::{condition, sample_file};
use reconciler::api::memcached::v1alpha1::Memcached;
use serde_json::json;

mod support;

#[tokio::test]
async fn memcached_follows_its_deployment() -> Result<()> {
    // the operator, on a server with its manifests and fixtures; it has only the permissions of its service account
    let server = support::start().await?;

    let memcached: Memcached = sample_file("manifests/samples/memcacheds.cache.example.com.yaml")?;
    let memcacheds: Api<Memcached> = Api::namespaced(server.client(), server.namespace());
    let memcached = memcacheds
        .create(&PostParams::default(), &memcached)
        .await?;
    let name = memcached.name_any();

    // the child comes to be
    let deployments: Api<Deployment> = Api::namespaced(server.client(), server.namespace());
    let deployment = server
        .eventually("the Deployment is made", async || {
            deployments.get_opt(&name).await.ok()?
        })
        .await;
    server
        .eventually("Ready is False, as no replica runs", async || {
            let memcached = memcacheds.get(&name).await.ok()?;
            (condition(&memcached, "Ready")? == "False").then_some(())
        })
        .await;

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
            let memcached = memcacheds.get(&name).await.ok()?;
            (condition(&memcached, "Ready")? == "True").then_some(())
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

    // a change of the object reaches the child
    let more = json!({"spec": {"replicas": replicas + 1}});
    memcacheds
        .patch(&name, &PatchParams::default(), &Patch::Merge(more))
        .await?;
    server
        .eventually("the Deployment has one replica more", async || {
            let found = deployments.get_opt(&name).await.ok()??;
            (found.spec?.replicas == Some(replicas + 1)).then_some(())
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
    memcacheds.delete(&name, &DeleteParams::default()).await?;
    server
        .eventually("the object is gone", async || {
            memcacheds
                .get_opt(&name)
                .await
                .ok()?
                .is_none()
                .then_some(())
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
