//! The child has the text of its parent, follows it, and returns when it is deleted.

use anyhow::Result;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use mixed::api::greeting::v1::{Greeting, GreetingSpec};
use operator_testing::{Server, condition};
use serde_json::json;

use crate::support;

async fn text(server: &Server, expected: &str) -> ConfigMap {
    let config_maps: Api<ConfigMap> = Api::namespaced(server.client(), server.namespace());
    server
        .eventually(&format!("the ConfigMap has {expected}"), async || {
            let config_map = config_maps.get_opt("hello").await.ok()??;
            (config_map.data.as_ref()?.get("text")? == expected).then_some(config_map)
        })
        .await
}

#[tokio::test]
async fn greeting_keeps_its_config_map() -> Result<()> {
    let server = support::start().await?;
    let greetings: Api<Greeting> = Api::namespaced(server.client(), server.namespace());
    let config_maps: Api<ConfigMap> = Api::namespaced(server.client(), server.namespace());

    let spec = GreetingSpec {
        text: "hello".into(),
    };
    let greeting = Greeting::new("hello", spec);
    greetings.create(&PostParams::default(), &greeting).await?;
    let created = text(&server, "hello").await;
    server
        .eventually("Ready is True", async || {
            let greeting = greetings.get("hello").await.ok()?;
            (condition(&greeting, "Ready")? == "True").then_some(())
        })
        .await;

    let edit = json!({ "spec": { "text": "good morning" } });
    greetings
        .patch("hello", &PatchParams::default(), &Patch::Merge(edit))
        .await?;
    let edited = text(&server, "good morning").await;
    assert_eq!(edited.uid(), created.uid());

    let by_another = json!({ "data": { "text": "changed" } });
    config_maps
        .patch("hello", &PatchParams::default(), &Patch::Merge(by_another))
        .await?;
    text(&server, "good morning").await;

    config_maps
        .delete("hello", &DeleteParams::default())
        .await?;
    server
        .eventually("the ConfigMap is recreated", async || {
            let config_map = config_maps.get_opt("hello").await.ok()??;
            (config_map.uid() != created.uid()).then_some(())
        })
        .await;
    Ok(())
}
