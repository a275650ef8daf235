//! An object that is being deleted is asked again until it may go.

use anyhow::Result;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use mixed::api::hold::v1::{Hold, HoldSpec};
use serde_json::json;

use crate::support;

#[tokio::test]
async fn hold_stays_as_long_as_it_is_held() -> Result<()> {
    let server = support::start().await?;
    let holds: Api<Hold> = Api::namespaced(server.client(), server.namespace());
    let hold = Hold::new("held", HoldSpec { held: Some(true) });
    holds.create(&PostParams::default(), &hold).await?;
    server
        .eventually("it has the finalizer", async || {
            let hold = holds.get("held").await.ok()?;
            hold.metadata.finalizers.filter(|names| !names.is_empty())
        })
        .await;
    holds.delete("held", &DeleteParams::default()).await?;
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    assert!(
        holds
            .get("held")
            .await?
            .metadata
            .deletion_timestamp
            .is_some()
    );

    let release = json!({ "spec": { "held": false } });
    holds
        .patch("held", &PatchParams::default(), &Patch::Merge(release))
        .await?;
    server
        .eventually("it is gone", async || {
            holds.get_opt("held").await.ok()?.is_none().then_some(())
        })
        .await;
    Ok(())
}
