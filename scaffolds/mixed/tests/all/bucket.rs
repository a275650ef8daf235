//! A bucket in an outside system: created, changed, repaired, deleted, retained and imported.

use std::sync::Arc;

use anyhow::Result;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use mixed::{
    api::bucket::v1::{Bucket, BucketSpec},
    controllers::bucket::{Settings, Store},
};
use operator_testing::{Server, condition};
use serde_json::{Value, json};

use crate::support;

/// A server, the operator, and the object store.
async fn start() -> Result<(Server, Arc<Store>, Api<Bucket>)> {
    let server = support::start().await?;
    let store = support::shared(&server).get::<Store>();
    let buckets = Api::namespaced(server.client(), server.namespace());
    Ok((server, store, buckets))
}

async fn create(buckets: &Api<Bucket>, spec: Value) -> Result<()> {
    let spec: BucketSpec = serde_json::from_value(spec)?;
    let bucket = Bucket::new("logs", spec);
    buckets.create(&PostParams::default(), &bucket).await?;
    Ok(())
}

async fn patch(buckets: &Api<Bucket>, patch: Value) -> Result<()> {
    let patch = Patch::Merge(patch);
    let parameters = PatchParams::default();
    buckets.patch("logs", &parameters, &patch).await?;
    Ok(())
}

/// Triggers a reconciliation, which would come after a minute otherwise.
async fn touch(buckets: &Api<Bucket>, value: &str) -> Result<()> {
    patch(buckets, json!({"metadata": {"labels": {"touched": value}}})).await
}

/// Waits until the condition `Synced` has this status, for the current generation.
async fn synced(server: &Server, buckets: &Api<Bucket>, status: &str) -> Bucket {
    let what = format!("Synced is {status}");
    server
        .eventually(&what, async || {
            let bucket = buckets.get("logs").await.ok()?;
            let conditions = bucket.status.as_ref()?.conditions.as_ref()?;
            let generation = bucket.metadata.generation;
            let is_current = conditions
                .iter()
                .all(|it| it.observed_generation == generation);
            (is_current && condition(&bucket, "Synced")? == status).then_some(bucket)
        })
        .await
}

async fn delete(server: &Server, buckets: &Api<Bucket>) -> Result<()> {
    buckets.delete("logs", &DeleteParams::default()).await?;
    server
        .eventually("the object is deleted", async || {
            buckets.get_opt("logs").await.ok()?.is_none().then_some(())
        })
        .await;
    Ok(())
}

fn settings(versioned: bool) -> Settings {
    Settings {
        region: "eu".into(),
        versioned,
    }
}

#[tokio::test]
async fn bucket_is_created_changed_repaired_and_deleted() -> Result<()> {
    let (server, store, buckets) = start().await?;
    create(&buckets, json!({"region": "eu"})).await?;
    let bucket = synced(&server, &buckets, "True").await;
    assert_eq!(condition(&bucket, "Ready").as_deref(), Some("True"));
    let url = bucket.status.as_ref().and_then(|it| it.url.clone());
    assert_eq!(url.as_deref(), Some("https://default-logs.example.com"));
    assert_eq!(bucket.annotations()["mixed/external-id"], "default-logs");
    assert_eq!(store.buckets()["default-logs"], settings(false));

    patch(&buckets, json!({"spec": {"versioned": true}})).await?;
    synced(&server, &buckets, "True").await;
    assert_eq!(store.buckets()["default-logs"], settings(true));

    // somebody changes the bucket
    let drifted = settings(false);
    store.buckets().insert("default-logs".into(), drifted);
    touch(&buckets, "1").await?;
    server
        .eventually("the bucket is repaired", async || {
            (store.buckets()["default-logs"] == settings(true)).then_some(())
        })
        .await;
    delete(&server, &buckets).await?;
    assert_eq!(store.buckets().len(), 0);
    Ok(())
}

#[tokio::test]
async fn drift_is_only_reported_if_the_spec_says_so() -> Result<()> {
    let (server, store, buckets) = start().await?;
    create(&buckets, json!({"region": "eu", "driftPolicy": "Report"})).await?;
    synced(&server, &buckets, "True").await;
    let drifted = settings(true);
    store.buckets().insert("default-logs".into(), drifted);
    touch(&buckets, "1").await?;
    synced(&server, &buckets, "False").await;
    assert_eq!(store.buckets()["default-logs"], settings(true));

    patch(&buckets, json!({"spec": {"driftPolicy": "Repair"}})).await?;
    synced(&server, &buckets, "True").await;
    assert_eq!(store.buckets()["default-logs"], settings(false));
    Ok(())
}

#[tokio::test]
async fn bucket_is_retained() -> Result<()> {
    let (server, store, buckets) = start().await?;
    create(
        &buckets,
        json!({"region": "eu", "deletionPolicy": "Retain"}),
    )
    .await?;
    synced(&server, &buckets, "True").await;
    delete(&server, &buckets).await?;
    assert_eq!(store.buckets()["default-logs"], settings(false));

    // it was not created for a new object of the same name, which has to import it
    create(&buckets, json!({"region": "eu"})).await?;
    synced(&server, &buckets, "False").await;
    let imported = json!({"metadata": {"annotations": {"mixed/external-id": "default-logs"}}});
    patch(&buckets, imported).await?;
    synced(&server, &buckets, "True").await;
    delete(&server, &buckets).await?;
    assert_eq!(store.buckets().len(), 0);
    Ok(())
}

#[tokio::test]
async fn bucket_of_another_name_is_imported() -> Result<()> {
    let (server, store, buckets) = start().await?;
    store.buckets().insert("archive".into(), settings(true));
    let bucket: Bucket = serde_json::from_value(json!({
        "metadata": {"name": "logs", "annotations": {"mixed/external-id": "archive"}},
        "spec": {"region": "eu"},
    }))?;
    buckets.create(&PostParams::default(), &bucket).await?;
    synced(&server, &buckets, "True").await;
    let names: Vec<String> = store.buckets().keys().cloned().collect();
    assert_eq!(names, ["archive"], "no other bucket is created");
    assert_eq!(store.buckets()["archive"], settings(false));
    Ok(())
}
