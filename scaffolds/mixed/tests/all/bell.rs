//! The events that are recorded about a bell, and the raw ones of its watch.

use std::collections::BTreeSet;

use anyhow::Result;
use k8s_openapi::api::core::v1::Event;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use mixed::{
    api::bell::v1::{Bell, BellSpec},
    log::Log,
};
use operator_runtime::Shared;
use serde_json::json;

use crate::support;

#[tokio::test]
async fn bell_has_events_of_both_types() -> Result<()> {
    let server = support::start().await?;
    let bells: Api<Bell> = Api::namespaced(server.client(), server.namespace());
    let tone = "high".to_owned();
    let bell = Bell::new("door", BellSpec { tone });
    bells.create(&PostParams::default(), &bell).await?;

    let events: Api<Event> = Api::namespaced(server.client(), server.namespace());
    let expected = [
        "Normal Ringing: the bell rings",
        "Warning Loud: cover your ears",
        "Warning OutOfTune: the tone is not a frequency: invalid float literal",
    ];
    server
        .eventually("all events are recorded", async || {
            let events = events.list(&ListParams::default()).await.ok()?;
            let about_bell = events
                .iter()
                .filter(|event| event.involved_object.name.as_deref() == Some("door"));
            let texts = about_bell.filter_map(|event| {
                let (type_, reason) = (event.type_.as_ref()?, event.reason.as_ref()?);
                Some(format!("{type_} {reason}: {}", event.message.as_ref()?))
            });
            let texts: BTreeSet<String> = texts.collect();
            texts.iter().eq(expected).then_some(())
        })
        .await;
    Ok(())
}

#[tokio::test]
async fn bell_hears_each_event_of_the_watch() -> Result<()> {
    let shared = Shared::default();
    let log = shared.get::<Log>();
    let mut ready = None;
    let server = support::start_with(|operator| {
        ready = Some(operator.ready_handle());
        operator.provide(shared)
    })
    .await?;
    // an object that exists before the first list is not added, but listed
    if let Some(mut ready) = ready {
        assert!(ready.ready().await);
    }
    let bells: Api<Bell> = Api::namespaced(server.client(), server.namespace());
    let calls = async |kind: &str| {
        let expected = ["broken".to_owned(), format!("silent {kind}")];
        server
            .eventually(&format!("{kind} is heard"), async || {
                (log.lines() == expected).then_some(())
            })
            .await;
        log.take();
    };

    // no other handler accepts a bell without a tone
    let bell = Bell::new(
        "silent",
        BellSpec {
            tone: String::new(),
        },
    );
    bells.create(&PostParams::default(), &bell).await?;
    calls("Added").await;
    let edit = Patch::Merge(json!({"status": {"rung": 1}}));
    bells
        .patch_status("silent", &PatchParams::default(), &edit)
        .await?;
    calls("Modified").await;
    assert!(bells.get("silent").await?.annotations().is_empty());
    bells.delete("silent", &DeleteParams::default()).await?;
    calls("Deleted").await;
    Ok(())
}
