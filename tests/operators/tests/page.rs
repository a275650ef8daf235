//! Runs the whole operator on an API server: one inside this process, or a real one with OPERATOR_TEST_SERVER=assets.

use anyhow::Result;
use k8s_openapi::api::core::v1::{ConfigMap, Event};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams},
};
use operator_testing::sample_file;
use operators::api::page::v1::Page;
use serde_json::json;

mod support;

#[tokio::test]
async fn page_keeps_its_config_map() -> Result<()> {
    // the operator, on a server with its manifests and fixtures; it has only the permissions of its service account
    let server = support::start().await?;

    let page: Page = sample_file("manifests/samples/pages.web.example.com.yaml")?;
    let name = page.name_any();
    let config_maps: Api<ConfigMap> = Api::namespaced(server.client(), support::NAMESPACES[0]);

    // somebody else's ConfigMap has the name
    let metadata = ObjectMeta {
        name: Some(name.clone()),
        ..Default::default()
    };
    let others = ConfigMap {
        metadata,
        ..Default::default()
    };
    let others = config_maps.create(&PostParams::default(), &others).await?;
    let pages: Api<Page> = Api::namespaced(server.client(), support::NAMESPACES[0]);
    pages.create(&PostParams::default(), &page).await?;
    let events: Api<Event> = Api::all(server.client());
    server
        .eventually("an event says that the name is taken", async || {
            let events = events.list(&ListParams::default()).await.ok()?;
            let says = |event: &Event| {
                event.reason.as_deref() == Some("ChildTaken")
                    && event.involved_object.name.as_ref() == Some(&name)
            };
            events.items.iter().any(says).then_some(())
        })
        .await;
    assert!(
        config_maps.get(&name).await?.data.is_none(),
        "what belongs to others is left alone"
    );

    // the name is free
    config_maps.delete(&name, &DeleteParams::default()).await?;
    let made = server
        .eventually("the ConfigMap is made", async || {
            config_maps
                .get_opt(&name)
                .await
                .ok()?
                .filter(|found| found.uid() != others.uid())
        })
        .await;

    assert!(
        made.data
            .as_ref()
            .is_some_and(|data| data.contains_key("spec.json"))
    );

    // what others change in the child is set right
    let changed = json!({"data": {"spec.json": "changed"}});
    config_maps
        .patch(&name, &PatchParams::default(), &Patch::Merge(changed))
        .await?;
    server
        .eventually("the ConfigMap is as it was", async || {
            config_maps
                .get_opt(&name)
                .await
                .ok()?
                .filter(|found| found.data == made.data)
        })
        .await;

    // a child that goes comes back
    config_maps.delete(&name, &DeleteParams::default()).await?;
    server
        .eventually("the ConfigMap returns", async || {
            config_maps
                .get_opt(&name)
                .await
                .ok()?
                .filter(|found| found.uid() != made.uid())
        })
        .await;

    // all of it goes with the object
    pages.delete(&name, &DeleteParams::default()).await?;
    server
        .eventually("the object is gone", async || {
            pages.get_opt(&name).await.ok()?.is_none().then_some(())
        })
        .await;
    server
        .eventually("the ConfigMap is gone", async || {
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
