//! The child has its owner and the text, follows a change, and its name is in the status.

use anyhow::Result;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Resource, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use mixed::api::poster::v1::{Poster, PosterSpec};
use serde_json::json;

use crate::support;

#[tokio::test]
async fn poster_has_a_child_with_its_text() -> Result<()> {
    let server = support::start().await?;
    let posters: Api<Poster> = Api::namespaced(server.client(), server.namespace());
    let text = "Circus".to_owned();
    let poster = Poster::new("wall", PosterSpec { text });
    posters.create(&PostParams::default(), &poster).await?;
    let poster = server
        .eventually("the status has the name of the child", async || {
            let poster = posters.get("wall").await.ok()?;
            (poster.status.as_ref()?.config_map.as_deref()? == "wall").then_some(poster)
        })
        .await;

    let children: Api<ConfigMap> = Api::namespaced(server.client(), server.namespace());
    let text = |child: &ConfigMap| child.data.as_ref().map(|data| data["text"].clone());
    let child = children.get("wall").await?;
    assert_eq!(text(&child).as_deref(), Some("Circus"));
    assert_eq!(
        child.owner_references().first(),
        poster.controller_owner_ref(&()).as_ref()
    );

    let edit = Patch::Merge(json!({"spec": {"text": "Theater"}}));
    posters
        .patch("wall", &PatchParams::default(), &edit)
        .await?;
    server
        .eventually("the child has the new text", async || {
            let child = children.get("wall").await.ok()?;
            (text(&child)? == "Theater").then_some(())
        })
        .await;

    posters.delete("wall", &DeleteParams::default()).await?;
    server
        .eventually("Kubernetes deletes the child", async || {
            let child = children.get_opt("wall").await.ok()?;
            child.is_none().then_some(())
        })
        .await;
    Ok(())
}
