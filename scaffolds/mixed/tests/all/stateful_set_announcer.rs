//! Each StatefulSet is announced.

use anyhow::Result;
use k8s_openapi::api::{apps::v1::StatefulSet, events::v1::Event};
use kube::{
    Api,
    api::{ListParams, PostParams},
};
use operator_testing::sample_file;

use crate::support;

#[tokio::test]
async fn stateful_set_announcer_records_an_event() -> Result<()> {
    let server = support::start().await?;
    let stateful_set: StatefulSet = sample_file("manifests/samples/statefulsets.apps.yaml")?;
    let stateful_sets: Api<StatefulSet> = Api::default_namespaced(server.client());
    stateful_sets
        .create(&PostParams::default(), &stateful_set)
        .await?;
    let events: Api<Event> = Api::default_namespaced(server.client());
    server
        .eventually("an event announces it", async || {
            let events = events.list(&ListParams::default()).await.ok()?;
            let mut notes = events
                .items
                .iter()
                .filter_map(|event| event.note.as_deref());
            notes
                .any(|note| note == "there is a StatefulSet statefulset-sample")
                .then_some(())
        })
        .await;
    Ok(())
}
