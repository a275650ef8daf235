//! A cluster-scoped parent has a Namespace until its time is over; an invalid one touches nothing and says why.

use anyhow::Result;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, api::PostParams};
use mixed::api::temp_namespace::v1::{
    TempNamespace, TempNamespaceSpec, TempNamespaceStatusPhase as Phase,
};
use operator_testing::Server;

use crate::support;

async fn create(server: &Server, name: &str, seconds: i64) -> Result<()> {
    let temps: Api<TempNamespace> = Api::all(server.client());
    let spec = TempNamespaceSpec {
        delete_after_seconds: Some(seconds),
    };
    temps
        .create(&PostParams::default(), &TempNamespace::new(name, spec))
        .await?;
    Ok(())
}

async fn phase(server: &Server, name: &str, expected: Phase) -> Option<String> {
    let temps: Api<TempNamespace> = Api::all(server.client());
    server
        .eventually(&format!("{name} is {expected:?}"), async || {
            let status = temps.get(name).await.ok()?.status?;
            (status.phase? == expected).then_some(status.message)
        })
        .await
}

#[tokio::test]
async fn temp_namespace_is_deleted_when_its_time_is_over() -> Result<()> {
    let server = support::start().await?;
    let namespaces: Api<Namespace> = Api::all(server.client());
    create(&server, "preview", 2).await?;
    phase(&server, "preview", Phase::Active).await;
    namespaces.get("preview").await?;
    phase(&server, "preview", Phase::Expired).await;
    server
        .eventually("the namespace is deleted", async || {
            let namespace = namespaces.get_opt("preview").await.ok()?;
            namespace
                .is_none_or(|namespace| namespace.metadata.deletion_timestamp.is_some())
                .then_some(())
        })
        .await;
    Ok(())
}

#[tokio::test]
async fn temp_namespace_with_a_reserved_name_is_invalid() -> Result<()> {
    let server = support::start().await?;
    create(&server, "kube-preview", 60).await?;
    let message = phase(&server, "kube-preview", Phase::Invalid).await;
    assert_eq!(
        message.as_deref(),
        Some("names that begin with kube- are reserved")
    );
    let namespaces: Api<Namespace> = Api::all(server.client());
    assert!(namespaces.get_opt("kube-preview").await?.is_none());
    Ok(())
}
