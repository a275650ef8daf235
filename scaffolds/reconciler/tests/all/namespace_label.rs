//! Objects are created, changed and deleted while the operator is down. When it is back, it handles all of them. While it runs, a label that
//! somebody else removes returns.

use std::collections::BTreeMap;

use anyhow::Result;
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use operator_runtime::{Operator, Settings};
use operator_testing::{Server, sample};
use reconciler::api::namespace_label::v1::NamespaceLabel;
use serde_json::json;

use crate::support;

async fn operator(server: &Server) -> Result<Operator> {
    let user = format!("system:serviceaccount:{0}:{0}", support::NAME);
    support::operator(
        server.client_as(&user),
        Settings::for_tests(),
        server.outcomes(),
    )
    .await
}

/// The labels of the namespace that objects set, by the names of the objects.
async fn labels(server: &Server) -> Result<BTreeMap<String, String>> {
    let namespaces: Api<Namespace> = Api::all(server.client());
    let namespace = namespaces.get(server.namespace()).await?;
    let labels = namespace.labels().iter().filter_map(|(key, value)| {
        let name = key.strip_prefix("programs.example.com/")?;
        Some((name.to_owned(), value.clone()))
    });
    Ok(labels.collect())
}

/// Waits until the labels are exactly these.
async fn has(server: &Server, expected: &[(&str, &str)]) {
    let expected: BTreeMap<_, _> = expected
        .iter()
        .map(|&(name, value)| (name.into(), value.into()))
        .collect();
    server
        .eventually(&format!("the labels are {expected:?}"), async || {
            (labels(server).await.ok()? == expected).then_some(())
        })
        .await;
}

fn objects(server: &Server) -> Api<NamespaceLabel> {
    Api::namespaced(server.client(), server.namespace())
}

async fn create(server: &Server, name: &str) -> Result<()> {
    let object = format!(
        "{{apiVersion: programs.example.com/v1, kind: NamespaceLabel, metadata: {{name: {name}}}, spec: {{value: one}}}}"
    );
    objects(server)
        .create(&PostParams::default(), &sample(&object)?)
        .await?;
    Ok(())
}

/// Removes a label as somebody else.
async fn remove_label(server: &Server, name: &str) -> Result<()> {
    let key = format!("programs.example.com/{name}");
    let edit = Patch::Merge(json!({ "metadata": { "labels": { key: null } } }));
    let namespaces: Api<Namespace> = Api::all(server.client());
    namespaces
        .patch(server.namespace(), &PatchParams::default(), &edit)
        .await?;
    Ok(())
}

#[tokio::test]
async fn namespace_label_misses_nothing_while_the_operator_is_down() -> Result<()> {
    let server = Server::start().await?;
    server.install_kustomization("manifests").await?;
    let objects = objects(&server);
    let first = operator(&server).await?;
    let handle = first.shutdown_handle();
    let running = tokio::spawn(first.run());
    for name in ["changed", "deleted", "kept"] {
        create(&server, name).await?;
    }
    let before = [("changed", "one"), ("deleted", "one"), ("kept", "one")];
    has(&server, &before).await;
    handle.shutdown();
    running.await??;

    let edit = Patch::Merge(json!({ "spec": { "value": "two" } }));
    objects
        .patch("changed", &PatchParams::default(), &edit)
        .await?;
    objects.delete("deleted", &DeleteParams::default()).await?;
    create(&server, "created").await?;
    remove_label(&server, "kept").await?;
    has(&server, &before[..2]).await;
    let deleted = objects.get("deleted").await?;
    assert!(
        deleted.metadata.deletion_timestamp.is_some(),
        "it waits for its finalizer"
    );

    server.run(operator(&server).await?.run());
    let after = [("changed", "two"), ("created", "one"), ("kept", "one")];
    has(&server, &after).await;
    server
        .eventually("the deleted object is removed", async || {
            objects
                .get_opt("deleted")
                .await
                .ok()?
                .is_none()
                .then_some(())
        })
        .await;
    Ok(())
}

#[tokio::test]
async fn namespace_label_returns_if_somebody_removes_it() -> Result<()> {
    let server = support::start().await?;
    create(&server, "a").await?;
    create(&server, "b").await?;
    let both = [("a", "one"), ("b", "one")];
    has(&server, &both).await;
    for name in ["a", "b"] {
        remove_label(&server, name).await?;
        has(&server, &both).await;
    }
    Ok(())
}
