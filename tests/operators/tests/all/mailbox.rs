//! Runs the operator on an API server in memory, or on a real one with OPERATOR_TEST_SERVER=assets.

use anyhow::Result;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use operator_testing::{condition, sample_file};
use operators::api::mailbox::v1::Mailbox;
use operators::controllers::mailbox::Remote;
use serde_json::json;

use crate::support;

#[tokio::test]
async fn mailbox_manages_its_copy() -> Result<()> {
    // start an API server and the operator, which has the permissions of its service account
    let server = support::start().await?;
    let remote = support::shared(&server).get::<Remote>();

    let mailbox: Mailbox = sample_file("manifests/samples/mailboxes.web.example.com.yaml")?;
    let name = mailbox.name_any();
    let mailboxes: Api<Mailbox> = Api::namespaced(server.client(), support::NAMESPACES[0]);
    mailboxes.create(&PostParams::default(), &mailbox).await?;

    // the operator creates a copy, and records its id
    let id = server
        .eventually("the id is recorded", async || {
            let mailbox = mailboxes.get(&name).await.ok()?;
            mailbox.annotations().get("operators/external-id").cloned()
        })
        .await;
    let created = remote.copies().get(&id).cloned();
    assert!(created.is_some(), "the copy exists");
    server
        .eventually("Ready and Synced are True", async || {
            let mailbox = mailboxes.get(&name).await.ok()?;
            let is_true = |type_| condition(&mailbox, type_).as_deref() == Some("True");
            (is_true("Ready") && is_true("Synced")).then_some(())
        })
        .await;

    // the operator reverts changes to the copy when it observes them: every minute, or if the object changes
    remote.copies().insert(id.clone(), json!("changed"));
    let touched = json!({"metadata": {"labels": {"touched": "yes"}}});
    mailboxes
        .patch(&name, &PatchParams::default(), &Patch::Merge(touched))
        .await?;
    server
        .eventually("the change is reverted", async || {
            (remote.copies().get(&id).cloned() == created).then_some(())
        })
        .await;

    // the copy is deleted together with the object
    mailboxes.delete(&name, &DeleteParams::default()).await?;
    server
        .eventually("the object is deleted", async || {
            mailboxes.get_opt(&name).await.ok()?.is_none().then_some(())
        })
        .await;
    assert!(!remote.copies().contains_key(&id));
    Ok(())
}
