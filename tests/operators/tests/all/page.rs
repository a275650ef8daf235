//! Runs the operator on an API server in memory, or on a real one with OPERATOR_TEST_SERVER=assets.

use anyhow::Result;
use k8s_openapi::api::core::v1::{ConfigMap, Event};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams},
};
use operator_testing::sample_file;
use operators::api::page::v1::Page;
use serde_json::json;

use crate::support;

#[tokio::test]
async fn page_manages_its_config_map() -> Result<()> {
    // start an API server and the operator, which has the permissions of its service account
    let server = support::start().await?;

    let page: Page = sample_file("manifests/samples/pages.web.example.com.yaml")?;
    let name = page.name_any();
    let config_maps: Api<ConfigMap> = Api::namespaced(server.client(), support::NAMESPACES[0]);

    // the name is already in use by a ConfigMap that the operator does not control
    let metadata = ObjectMeta {
        name: Some(name.clone()),
        ..Default::default()
    };
    let foreign = ConfigMap {
        metadata,
        ..Default::default()
    };
    let foreign = config_maps.create(&PostParams::default(), &foreign).await?;
    let pages: Api<Page> = Api::namespaced(server.client(), support::NAMESPACES[0]);
    pages.create(&PostParams::default(), &page).await?;
    let events: Api<Event> = Api::all(server.client());
    server
        .eventually("an event reports that the name is in use", async || {
            let events = events.list(&ListParams::default()).await.ok()?;
            let reports_it = |event: &Event| {
                event.reason.as_deref() == Some("ChildTaken")
                    && event.involved_object.name.as_ref() == Some(&name)
            };
            events.items.iter().any(reports_it).then_some(())
        })
        .await;
    assert!(
        config_maps.get(&name).await?.data.is_none(),
        "the operator must not change this ConfigMap"
    );

    // once it is deleted, the operator creates its own
    config_maps.delete(&name, &DeleteParams::default()).await?;
    let created = server
        .eventually("the ConfigMap is created", async || {
            config_maps
                .get_opt(&name)
                .await
                .ok()?
                .filter(|current| current.uid() != foreign.uid())
        })
        .await;

    assert!(
        created
            .data
            .as_ref()
            .is_some_and(|data| data.contains_key("spec.json"))
    );

    // the operator reverts changes to the ConfigMap
    let drift = json!({"data": {"spec.json": "changed"}});
    config_maps
        .patch(&name, &PatchParams::default(), &Patch::Merge(drift))
        .await?;
    server
        .eventually("the change is reverted", async || {
            config_maps
                .get_opt(&name)
                .await
                .ok()?
                .filter(|current| current.data == created.data)
        })
        .await;

    // the operator recreates a deleted ConfigMap
    config_maps.delete(&name, &DeleteParams::default()).await?;
    server
        .eventually("the ConfigMap is recreated", async || {
            config_maps
                .get_opt(&name)
                .await
                .ok()?
                .filter(|current| current.uid() != created.uid())
        })
        .await;

    // the ConfigMap is deleted together with the object
    pages.delete(&name, &DeleteParams::default()).await?;
    server
        .eventually("the object is deleted", async || {
            pages.get_opt(&name).await.ok()?.is_none().then_some(())
        })
        .await;
    server
        .eventually("the ConfigMap is deleted", async || {
            config_maps
                .get_opt(&name)
                .await
                .ok()?
                .is_none()
                .then_some(())
        })
        .await;
    Ok(())
}
