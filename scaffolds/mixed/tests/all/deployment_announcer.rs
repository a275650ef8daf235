//! Deployments are announced while the watch of StatefulSets fails, and StatefulSets once it works.

use anyhow::Result;
use k8s_openapi::api::{
    apps::v1::{Deployment, StatefulSet},
    events::v1::Event,
    rbac::v1::ClusterRole,
};
use kube::{
    Api,
    api::{ListParams, PostParams},
};
use operator_runtime::Settings;
use operator_testing::{Server, sample_file};

use crate::support;

/// Waits for an event with this note.
async fn announced(server: &Server, note: &str) {
    let events: Api<Event> = Api::default_namespaced(server.client());
    server
        .eventually(note, async || {
            let events = events.list(&ListParams::default()).await.ok()?;
            let mut notes = events
                .items
                .iter()
                .filter_map(|event| event.note.as_deref());
            notes.any(|it| it == note).then_some(())
        })
        .await;
}

#[tokio::test]
async fn a_failing_watch_of_one_kind_leaves_the_other_alive() -> Result<()> {
    let server = Server::start().await?;
    server.install_kustomization("manifests").await?;
    let roles: Api<ClusterRole> = Api::all(server.client());
    let complete = roles.get(support::NAME).await?;
    let mut role = complete.clone();
    for rule in role.rules.iter_mut().flatten() {
        rule.resources
            .iter_mut()
            .for_each(|it| it.retain(|it| it != "statefulsets"));
    }
    let role = roles
        .replace(support::NAME, &PostParams::default(), &role)
        .await?;

    let user = format!("system:serviceaccount:{0}:{0}", support::NAME);
    let client = server.client_as(&user);
    let operator = support::operator(client, Settings::for_tests(), server.outcomes()).await?;
    server.run(operator.run());
    let deployments: Api<Deployment> = Api::default_namespaced(server.client());
    let stateful_sets: Api<StatefulSet> = Api::default_namespaced(server.client());
    let stateful_set: StatefulSet = sample_file("manifests/samples/statefulsets.apps.yaml")?;
    stateful_sets
        .create(&PostParams::default(), &stateful_set)
        .await?;
    let deployment: Deployment = sample_file("manifests/samples/deployments.apps.yaml")?;
    deployments
        .create(&PostParams::default(), &deployment)
        .await?;
    announced(&server, "there is a Deployment deployment-sample").await;

    let mut repaired = complete;
    repaired.metadata = role.metadata;
    roles
        .replace(support::NAME, &PostParams::default(), &repaired)
        .await?;
    announced(&server, "there is a StatefulSet statefulset-sample").await;
    Ok(())
}
