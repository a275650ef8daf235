//! A Page that no Site owns works as well, and reports why it is not ready.

use anyhow::Result;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use operator_testing::{Server, condition, sample};
use reconciler::api::page::v1::{Page, PageSpec};

use crate::support;

async fn is_ready(server: &Server, expected: &str) {
    let pages: Api<Page> = Api::namespaced(server.client(), server.namespace());
    server
        .eventually(&format!("Ready is {expected}"), async || {
            let page = pages.get("alone").await.ok()?;
            (condition(&page, "Ready")? == expected).then_some(())
        })
        .await;
}

#[tokio::test]
async fn page_without_a_site_is_published() -> Result<()> {
    let server = support::start().await?;
    let pages: Api<Page> = Api::namespaced(server.client(), server.namespace());
    let config_maps: Api<ConfigMap> = Api::namespaced(server.client(), server.namespace());
    let foreign: ConfigMap = sample("{apiVersion: v1, kind: ConfigMap, metadata: {name: alone}}")?;
    config_maps.create(&PostParams::default(), &foreign).await?;
    let spec = PageSpec {
        text: "hello".into(),
    };
    pages
        .create(&PostParams::default(), &Page::new("alone", spec))
        .await?;
    is_ready(&server, "False").await;

    config_maps
        .delete("alone", &DeleteParams::default())
        .await?;
    is_ready(&server, "True").await;
    let config_map = config_maps.get("alone").await?;
    assert_eq!(
        config_map.data.unwrap_or_default()["index.html"],
        "<p>hello</p>"
    );
    Ok(())
}
