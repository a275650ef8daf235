//! Runs the whole operator on an API server: one inside this process, or a real one with OPERATOR_TEST_SERVER=assets.

use anyhow::Result;
use k8s_openapi::api::apps::v1::Deployment;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use operator_testing::{condition, sample_file};
use operators::api::site::v1::Site;
use serde_json::json;

mod support;

#[tokio::test]
async fn site_follows_its_deployment() -> Result<()> {
    // the operator, on a server with its manifests and fixtures; it has only the permissions of its service account
    let server = support::start().await?;

    let site: Site = sample_file("manifests/samples/sites.web.example.com.yaml")?;
    let sites: Api<Site> = Api::namespaced(server.client(), support::NAMESPACES[0]);
    let site = sites.create(&PostParams::default(), &site).await?;
    let name = site.name_any();

    // the child comes to be
    let deployments: Api<Deployment> = Api::namespaced(server.client(), support::NAMESPACES[0]);
    let deployment = server
        .eventually("the Deployment is made", async || {
            deployments.get_opt(&name).await.ok()?
        })
        .await;
    server
        .eventually("Ready is False, as no replica runs", async || {
            let site = sites.get(&name).await.ok()?;
            (condition(&site, "Ready")? == "False").then_some(())
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
            let site = sites.get(&name).await.ok()?;
            (condition(&site, "Ready")? == "True").then_some(())
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
    sites
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
    sites.delete(&name, &DeleteParams::default()).await?;
    server
        .eventually("the object is gone", async || {
            sites.get_opt(&name).await.ok()?.is_none().then_some(())
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
