//! Runs the whole operator on an API server: one inside this process, or a real one with OPERATOR_TEST_SERVER=assets.

use anyhow::Result;
use k8s_openapi::api::apps::v1::Deployment;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use operator_runtime::{Operator, Settings};
use operator_testing::{Server, condition, sample};
use operators::{Options, api::site::v1::Site, operator};
use serde_json::json;

#[tokio::test]
async fn site_follows_its_deployment() -> Result<()> {
    let server = Server::start().await?;
    server
        .install("{apiVersion: v1, kind: Namespace, metadata: {name: 'team-a'}}")
        .await?;
    server
        .install("{apiVersion: v1, kind: Namespace, metadata: {name: 'team-b'}}")
        .await?;
    server.install_kustomization("manifests").await?;
    // the operator has only the rights of its own service account
    let client = server.client_as("system:serviceaccount:operators:operators");
    let mut settings = Settings::for_tests();
    settings.namespaces = vec!["team-a".into(), "team-b".into()];
    let connected = Operator::new("operators", settings, client);
    server.run(operator(connected, Options::default()).run());

    let site: Site = sample(include_str!(
        "../manifests/samples/sites.web.example.com.yaml"
    ))?;
    let sites: Api<Site> = Api::namespaced(server.client(), "team-a");
    let site = sites.create(&PostParams::default(), &site).await?;
    let name = site.name_any();

    // the child comes to be
    let deployments: Api<Deployment> = Api::namespaced(server.client(), "team-a");
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
