//! Runs the operator on an API server in memory, or on a real one with OPERATOR_TEST_SERVER=assets.

use anyhow::Result;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::events::v1::Event;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use operator_testing::{Server, sample_file};
use serde_json::json;

use crate::support;

/// Waits until the operator has recorded an event with this reason about the object.
async fn reported(server: &Server, name: &str, reason: &str) {
    let events: Api<Event> = Api::all(server.client());
    let is_meant = |event: &Event| {
        let regarding = event.regarding.clone().unwrap_or_default();
        event.reason.as_deref() == Some(reason) && regarding.name.as_deref() == Some(name)
    };
    server
        .eventually(&format!("{reason} is reported"), async || {
            let events = events.list(&ListParams::default()).await.ok()?;
            events.items.iter().any(is_meant).then_some(())
        })
        .await;
}

#[tokio::test]
async fn secret_changes_calls_its_handlers() -> Result<()> {
    // start an API server and the operator, which has the permissions of its service account
    let server = support::start().await?;

    let mut secret: Secret = sample_file("manifests/samples/secrets.yaml")?;
    secret
        .labels_mut()
        .insert("mixed/secret-changes".into(), "yes".into());
    let name = secret.name_any();
    let secrets: Api<Secret> = Api::namespaced(server.client(), server.namespace());
    secrets.create(&PostParams::default(), &secret).await?;
    reported(&server, &name, "Created").await;

    // a changed label is an update
    let touched = json!({"metadata": {"labels": {"touched": "yes"}}});
    secrets
        .patch(&name, &PatchParams::default(), &Patch::Merge(touched))
        .await?;
    reported(&server, &name, "Changed").await;

    // the runtime records the state that was handled
    server
        .eventually("the change is handled", async || {
            let secret = secrets.get(&name).await.ok()?;
            let handled = secret.annotations().get("mixed/secret-changes.handled")?;
            handled.contains("touched").then_some(())
        })
        .await;

    secrets.delete(&name, &DeleteParams::default()).await?;
    reported(&server, &name, "CleanedUp").await;
    server
        .eventually("the object is deleted", async || {
            secrets.get_opt(&name).await.ok()?.is_none().then_some(())
        })
        .await;
    Ok(())
}
