//! The order of the calls when an object is created, changed and deleted, and when the operator is started again.

use anyhow::Result;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use mixed::{
    api::chronicle::v1::{Chronicle, ChronicleSpec},
    log::Log,
};
use operator_runtime::{Operator, Settings, Shared};
use operator_testing::Server;
use serde_json::json;

use crate::support;

async fn operator(server: &Server, shared: &Shared) -> Result<Operator> {
    let user = format!("system:serviceaccount:{0}:{0}", support::NAME);
    let client = server.client_as(&user);
    let operator = support::operator(client, Settings::for_tests(), server.outcomes()).await?;
    Ok(operator.provide(shared.clone()))
}

/// Waits until the handlers of the causes since the last call have been called.
async fn calls(server: &Server, log: &Log, expected: &[&str]) {
    server
        .eventually(&format!("the calls are {expected:?}"), async || {
            (log.lines() == expected).then_some(())
        })
        .await;
    log.take();
}

/// Waits until the object is handled with this title.
async fn handled(server: &Server, chronicles: &Api<Chronicle>, title: &str) {
    server
        .eventually("the object is handled", async || {
            let chronicle = chronicles.get("life").await.ok()?;
            let annotations = chronicle.annotations();
            let is_handled = annotations.get("mixed/handled")?.contains(title);
            (is_handled && !annotations.contains_key("mixed/progress")).then_some(())
        })
        .await;
}

#[tokio::test]
async fn chronicle_has_the_calls_in_their_order() -> Result<()> {
    let server = Server::start().await?;
    server.install_kustomization("manifests").await?;
    let shared = Shared::default();
    let log = shared.get::<Log>();
    let first = operator(&server, &shared).await?;
    let handle = first.shutdown_handle();
    let running = tokio::spawn(first.run());

    let chronicles: Api<Chronicle> = Api::namespaced(server.client(), server.namespace());
    let title = "Birth".to_owned();
    let chronicle = Chronicle::new("life", ChronicleSpec { title });
    chronicles
        .create(&PostParams::default(), &chronicle)
        .await?;
    let created = ["create-1", "create-2", "title: None -> \"Birth\""];
    calls(&server, &log, &created).await;
    handled(&server, &chronicles, "Birth").await;

    let edit = async |patch| {
        let patch = Patch::Merge(patch);
        let parameters = PatchParams::default();
        chronicles.patch("life", &parameters, &patch).await
    };
    edit(json!({"spec": {"title": "School"}})).await?;
    let changed = ["update: spec.title", "title: Some(\"Birth\") -> \"School\""];
    calls(&server, &log, &changed).await;
    edit(json!({"metadata": {"labels": {"kept": "yes"}}})).await?;
    calls(&server, &log, &["update: metadata"]).await;
    handled(&server, &chronicles, "kept").await;
    handle.shutdown();
    running.await??;

    // two changes while the operator is down are one, and an object without changes is only resumed
    edit(json!({"spec": {"title": "Travels"}})).await?;
    edit(json!({"spec": {"title": "Work"}, "metadata": {"labels": {"kept": null}}})).await?;
    let second = operator(&server, &shared).await?;
    let handle = second.shutdown_handle();
    let running = tokio::spawn(second.run());
    let restarted = [
        "resume-1",
        "resume-2",
        "update: metadata, spec.title",
        "title: Some(\"School\") -> \"Work\"",
    ];
    calls(&server, &log, &restarted).await;
    handled(&server, &chronicles, "Work").await;
    handle.shutdown();
    running.await??;
    server.run(operator(&server, &shared).await?.run());
    calls(&server, &log, &["resume-1", "resume-2"]).await;

    chronicles.delete("life", &DeleteParams::default()).await?;
    calls(&server, &log, &["delete-1", "delete-2"]).await;
    server
        .eventually("the object is deleted", async || {
            let chronicle = chronicles.get_opt("life").await.ok()?;
            chronicle.is_none().then_some(())
        })
        .await;
    Ok(())
}
