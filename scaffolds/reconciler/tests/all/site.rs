//! A Site owns a Page, which owns a ConfigMap: the text goes down the chain, the condition comes up, and a deletion takes along what is below.

use anyhow::Result;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Resource, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use operator_testing::{Server, condition};
use reconciler::api::{
    page::v1::Page,
    site::v1::{Site, SiteSpec},
};
use serde_json::json;

use crate::support;

/// The kind and the uid of the object that controls another one.
fn controller<K: Resource>(object: &K) -> Option<(String, String)> {
    let mut owners = object.owner_references().iter();
    let owner = owners.find(|owner| owner.controller == Some(true))?;
    Some((owner.kind.clone(), owner.uid.clone()))
}

/// Waits until the Site is ready, and the ConfigMap has this text; the two objects below the Site.
async fn published(server: &Server, text: &str) -> (Page, ConfigMap) {
    let sites: Api<Site> = Api::namespaced(server.client(), server.namespace());
    let pages: Api<Page> = Api::namespaced(server.client(), server.namespace());
    let config_maps: Api<ConfigMap> = Api::namespaced(server.client(), server.namespace());
    let html = format!("<p>{text}</p>");
    server
        .eventually(&format!("{text} is published"), async || {
            let site = sites.get("home").await.ok()?;
            let page = pages.get_opt("home").await.ok()??;
            let config_map = config_maps.get_opt("home").await.ok()??;
            let is_owned = controller(&page)? == ("Site".into(), site.uid()?)
                && controller(&config_map)? == ("Page".into(), page.uid()?);
            let is_ready = condition(&site, "Ready")? == "True";
            (is_owned && is_ready && *config_map.data.as_ref()?.get("index.html")? == html)
                .then_some((page, config_map))
        })
        .await
}

#[tokio::test]
async fn site_owns_a_page_that_owns_a_config_map() -> Result<()> {
    let server = support::start().await?;
    let sites: Api<Site> = Api::namespaced(server.client(), server.namespace());
    let pages: Api<Page> = Api::namespaced(server.client(), server.namespace());
    let config_maps: Api<ConfigMap> = Api::namespaced(server.client(), server.namespace());
    let spec = SiteSpec {
        text: "hello".into(),
    };
    sites
        .create(&PostParams::default(), &Site::new("home", spec))
        .await?;
    let (page, config_map) = published(&server, "hello").await;

    let edit = Patch::Merge(json!({ "spec": { "text": "good morning" } }));
    sites.patch("home", &PatchParams::default(), &edit).await?;
    let (same_page, same_config_map) = published(&server, "good morning").await;
    assert_eq!(same_page.uid(), page.uid());
    assert_eq!(same_config_map.uid(), config_map.uid());

    // both return if the middle of the chain is deleted
    pages.delete("home", &DeleteParams::default()).await?;
    let (new_page, new_config_map) = published(&server, "good morning").await;
    assert_ne!(new_page.uid(), page.uid());
    assert_ne!(new_config_map.uid(), config_map.uid());

    sites.delete("home", &DeleteParams::default()).await?;
    server
        .eventually("all of the chain is deleted", async || {
            let is_gone = pages.get_opt("home").await.ok()?.is_none()
                && config_maps.get_opt("home").await.ok()?.is_none();
            is_gone.then_some(())
        })
        .await;
    Ok(())
}
