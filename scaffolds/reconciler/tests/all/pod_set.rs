//! Pods are created up to the number, and of too many, those that are not ready are deleted first, and then the newest or the oldest. Pods that
//! ended are replaced, and names of other pods are skipped.

use anyhow::Result;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use operator_testing::{Server, sample};
use reconciler::api::pod_set::v1::PodSet;
use serde_json::{Value, json};

use crate::support;

fn sets(server: &Server) -> Api<PodSet> {
    Api::namespaced(server.client(), server.namespace())
}

fn pods(server: &Server) -> Api<Pod> {
    Api::namespaced(server.client(), server.namespace())
}

async fn edit(server: &Server, spec: Value) -> Result<()> {
    let edit = Patch::Merge(json!({ "spec": spec }));
    sets(server)
        .patch("web", &PatchParams::default(), &edit)
        .await?;
    Ok(())
}

async fn create(server: &Server, replicas: usize) -> Result<()> {
    let set = format!(
        "{{apiVersion: programs.example.com/v1, kind: PodSet, metadata: {{name: web}}, spec: {{image: pause, replicas: {replicas}}}}}"
    );
    sets(server)
        .create(&PostParams::default(), &sample(&set)?)
        .await?;
    Ok(())
}

/// Waits until the namespace has exactly these pods.
async fn names_are(server: &Server, expected: &[&str]) {
    server
        .eventually(&format!("the names are {expected:?}"), async || {
            let pods = pods(server).list(&ListParams::default()).await.ok()?;
            let names: Vec<String> = pods.iter().map(ResourceExt::name_any).collect();
            (names == expected).then_some(())
        })
        .await;
}

/// Waits until the set has exactly these pods and reports their number.
async fn has(server: &Server, expected: &[&str]) {
    server
        .eventually(&format!("the pods are {expected:?}"), async || {
            let pods = pods(server).list(&ListParams::default()).await.ok()?;
            let names: Vec<String> = pods.iter().map(ResourceExt::name_any).collect();
            let replicas = sets(server)
                .get_status("web")
                .await
                .ok()?
                .status?
                .replicas?;
            (names == expected && usize::try_from(replicas) == Ok(expected.len())).then_some(())
        })
        .await;
}

async fn is_ready(server: &Server, names: &[&str]) -> Result<()> {
    let ready = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
    for name in names {
        pods(server)
            .patch_status(name, &PatchParams::default(), &Patch::Strategic(&ready))
            .await?;
    }
    server
        .eventually("the set reports the ready pods", async || {
            let count = sets(server).get("web").await.ok()?.status?.ready_replicas?;
            (usize::try_from(count) == Ok(names.len())).then_some(())
        })
        .await;
    Ok(())
}

#[tokio::test]
async fn pod_set_creates_missing_pods_and_deletes_victims() -> Result<()> {
    let server = support::start().await?;
    create(&server, 3).await?;
    has(&server, &["web-0", "web-1", "web-2"]).await;

    // as `kubectl scale` does
    let scale = Patch::Merge(json!({ "spec": { "replicas": 5 } }));
    sets(&server)
        .patch_scale("web", &PatchParams::default(), &scale)
        .await?;
    has(&server, &["web-0", "web-1", "web-2", "web-3", "web-4"]).await;

    is_ready(&server, &["web-0", "web-2", "web-3", "web-4"]).await?;
    edit(&server, json!({ "replicas": 4 })).await?;
    has(&server, &["web-0", "web-2", "web-3", "web-4"]).await;

    edit(&server, json!({ "replicas": 3 })).await?;
    has(&server, &["web-0", "web-2", "web-3"]).await;

    edit(&server, json!({ "replicas": 1, "victim": "Oldest" })).await?;
    has(&server, &["web-3"]).await;

    // a deleted pod is replaced, and a pod of somebody else with the same labels is not counted
    let mut stranger = pods(&server).get("web-3").await?;
    stranger.metadata = kube::api::ObjectMeta {
        name: Some("web-9".into()),
        labels: stranger.metadata.labels.take(),
        ..Default::default()
    };
    pods(&server)
        .create(&PostParams::default(), &stranger)
        .await?;
    pods(&server)
        .delete("web-3", &DeleteParams::default())
        .await?;
    server
        .eventually("the deleted pod is replaced", async || {
            pods(&server).get_opt("web-0").await.ok()?
        })
        .await;
    edit(&server, json!({ "replicas": 0 })).await?;
    names_are(&server, &["web-9"]).await;
    Ok(())
}

#[tokio::test]
async fn pod_set_replaces_pods_that_ended() -> Result<()> {
    let server = support::start().await?;
    create(&server, 2).await?;
    has(&server, &["web-0", "web-1"]).await;
    for (name, phase) in [("web-0", "Failed"), ("web-1", "Succeeded")] {
        let ended = Patch::Merge(json!({ "status": { "phase": phase } }));
        pods(&server)
            .patch_status(name, &PatchParams::default(), &ended)
            .await?;
    }
    names_are(&server, &["web-0", "web-1", "web-2", "web-3"]).await;

    // those that ended are no victims
    edit(&server, json!({ "replicas": 1 })).await?;
    names_are(&server, &["web-0", "web-1", "web-2"]).await;
    Ok(())
}

#[tokio::test]
async fn pod_set_skips_names_of_other_pods() -> Result<()> {
    let server = support::start().await?;
    let stranger: Pod = sample(
        "{apiVersion: v1, kind: Pod, metadata: {name: web-1}, spec: {containers: [{name: main, image: other}]}}",
    )?;
    let stranger = pods(&server)
        .create(&PostParams::default(), &stranger)
        .await?;
    create(&server, 3).await?;
    names_are(&server, &["web-0", "web-1", "web-2", "web-3"]).await;
    server
        .eventually("the set is complete", async || {
            let status = sets(&server).get("web").await.ok()?.status?;
            (status.replicas == Some(3)).then_some(())
        })
        .await;
    assert_eq!(pods(&server).get("web-1").await?, stranger);
    Ok(())
}
