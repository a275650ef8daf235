//! Pods are deleted after their lifetime. Those that are older than the operator are in the index from the first call, and deleted ones leave it.

use anyhow::Result;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use mixed::{controllers::pods::LIFETIME, log::Log};
use operator_runtime::{Settings, Shared};
use operator_testing::Server;
use serde_json::json;

use crate::support;

fn pod(name: &str, lifetime: &str) -> Result<Pod> {
    let pod = json!({
        "metadata": {"name": name, "labels": {"app": "web"}, "annotations": {LIFETIME: lifetime}},
        "spec": {
            "containers": [{"name": "main", "image": "registry.example.com/main:1"}],
            "terminationGracePeriodSeconds": 0,
        },
    });
    Ok(serde_json::from_value(pod)?)
}

#[tokio::test]
async fn pods_end_after_their_lifetime() -> Result<()> {
    let server = Server::start().await?;
    server.install_kustomization("manifests").await?;
    let pods: Api<Pod> = Api::namespaced(server.client(), server.namespace());
    for (name, lifetime) in [("a", "3600000"), ("b", "500"), ("c", "3600000")] {
        pods.create(&PostParams::default(), &pod(name, lifetime)?)
            .await?;
    }

    // the operator is started in the test, and stopped at its end
    let shared = Shared::default();
    let log = shared.get::<Log>();
    let user = format!("system:serviceaccount:{0}:{0}", support::NAME);
    let client = server.client_as(&user);
    let operator = support::operator(client, Settings::for_tests(), server.outcomes()).await?;
    let operator = operator.provide(shared);
    let (mut ready, handle) = (operator.ready_handle(), operator.shutdown_handle());
    let running = tokio::spawn(operator.run());
    assert!(ready.ready().await);
    let logged = async |expected: &str| {
        server
            .eventually(expected, async || {
                let lines = log.lines();
                lines.iter().any(|line| line == expected).then_some(())
            })
            .await;
    };
    logged("b was deleted").await;
    let lines = log.lines();
    let first = lines.iter().find(|line| line.starts_with("web: "));
    assert_eq!(first.map(String::as_str), Some("web: a, b, c"));
    logged("web: a, c").await;

    pods.delete("c", &DeleteParams::default()).await?;
    logged("c ended early").await;
    logged("web: a").await;
    assert!(!log.lines().contains(&"c was deleted".to_owned()));

    handle.shutdown();
    running.await??;
    // a daemon also ends with the operator, and its object remains
    logged("a ended early").await;
    let ended = log.take();
    assert!(!ended.contains(&"a was deleted".to_owned()), "{ended:?}");
    pods.get("a").await?;
    Ok(())
}
