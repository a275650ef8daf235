//! What each update strategy does to a child when its parent changes.

use anyhow::Result;
use k8s_openapi::{
    NamespaceResourceScope,
    api::core::v1::{ConfigMap, Pod, Secret, Service, ServiceAccount},
};
use kube::{
    Api, Resource, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use mixed::api::bundle::v1::{Bundle, BundleSpec};
use operator_testing::Server;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::support;

/// The uid of a child, once it has this value.
async fn with_value<K>(server: &Server, value: &str) -> String
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    let children: Api<K> = Api::namespaced(server.client(), server.namespace());
    server
        .eventually(
            &format!("the {} has the value {value}", K::kind(&())),
            async || {
                let child = children.get_opt("bundle").await.ok()??;
                (child.labels().get("value")? == value).then(|| child.uid())?
            },
        )
        .await
}

async fn waiting(server: &Server, expected: &[&str]) {
    let bundles: Api<Bundle> = Api::namespaced(server.client(), server.namespace());
    server
        .eventually(&format!("{expected:?} wait"), async || {
            let status = bundles.get("bundle").await.ok()?.status.unwrap_or_default();
            (status.waiting.unwrap_or_default() == expected).then_some(())
        })
        .await;
}

#[tokio::test]
async fn bundle_updates_each_child_by_its_strategy() -> Result<()> {
    let server = support::start().await?;
    let bundles: Api<Bundle> = Api::namespaced(server.client(), server.namespace());
    let accounts: Api<ServiceAccount> = Api::namespaced(server.client(), server.namespace());
    let bundle = Bundle::new(
        "bundle",
        BundleSpec {
            value: "one".into(),
        },
    );
    bundles.create(&PostParams::default(), &bundle).await?;
    let config_map = with_value::<ConfigMap>(&server, "one").await;
    let service = with_value::<Service>(&server, "one").await;
    let pod = with_value::<Pod>(&server, "one").await;
    let account = with_value::<ServiceAccount>(&server, "one").await;
    let secret = with_value::<Secret>(&server, "one").await;

    let edit = json!({ "spec": { "value": "two" } });
    bundles
        .patch("bundle", &PatchParams::default(), &Patch::Merge(edit))
        .await?;
    // apply and replace
    assert_eq!(with_value::<ConfigMap>(&server, "two").await, config_map);
    assert_eq!(with_value::<Service>(&server, "two").await, service);
    // recreate
    assert_ne!(with_value::<Pod>(&server, "two").await, pod);
    // on-delete, which reports what waits, and create-only
    waiting(&server, &["v1/ServiceAccount bundle"]).await;
    assert_eq!(with_value::<ServiceAccount>(&server, "one").await, account);
    assert_eq!(with_value::<Secret>(&server, "one").await, secret);

    accounts.delete("bundle", &DeleteParams::default()).await?;
    assert_ne!(with_value::<ServiceAccount>(&server, "two").await, account);
    waiting(&server, &[]).await;
    Ok(())
}
