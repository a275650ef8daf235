//! Pods are ended by percentage down to the minimum, not in a dry run, and no more after the deletion.

use std::time::Duration;

use anyhow::Result;
use k8s_openapi::api::{core::v1::Pod, events::v1::Event};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use mixed::api::pod_terminator::v1::{PodTerminator, PodTerminatorSpec};
use operator_runtime::Settings;
use operator_testing::{Server, sample_file};
use serde_json::json;
use tokio::time::sleep;

use crate::support;

async fn names(pods: &Api<Pod>) -> Result<Vec<String>> {
    let pods = pods.list(&ListParams::default()).await?;
    Ok(pods.iter().map(ResourceExt::name_any).collect())
}

#[tokio::test(start_paused = true)]
async fn pod_terminator_ends_a_part_of_the_pods_and_leaves_the_minimum() -> Result<()> {
    let server = Server::in_memory();
    server.install_kustomization("manifests").await?;
    let user = format!("system:serviceaccount:{0}:{0}", support::NAME);
    let client = server.client_as(&user);
    let operator = support::operator(client, Settings::for_tests(), server.outcomes()).await?;
    server.run(operator.run());
    let pods: Api<Pod> = Api::default_namespaced(server.client());
    let mut pod: Pod = sample_file("manifests/samples/pods.yaml")?;
    for index in 0..8 {
        pod.metadata.name = Some(format!("web-{index}"));
        pod.metadata.labels = Some([("app".into(), "web".into())].into());
        pods.create(&PostParams::default(), &pod).await?;
    }
    pod.metadata.name = Some("db".into());
    pod.metadata.labels = None;
    pods.create(&PostParams::default(), &pod).await?;

    // a dry run only names them
    let terminators: Api<PodTerminator> = Api::all(server.client());
    let spec = PodTerminatorSpec {
        selector: [("app".into(), "web".into())].into(),
        percent: Some(50),
        minimum: Some(3),
        period_seconds: Some(30),
        dry_run: Some(true),
    };
    let terminator = PodTerminator::new("web", spec);
    terminators
        .create(&PostParams::default(), &terminator)
        .await?;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(names(&pods).await?.len(), 9);
    let events: Api<Event> = Api::default_namespaced(server.client());
    let events = events.list(&ListParams::default()).await?;
    let would_end = events
        .iter()
        .filter(|event| event.reason.as_deref() == Some("WouldEnd"));
    assert_eq!(would_end.count(), 4);

    // 8 pods, then 4, then the minimum, and never those without the label
    let change = Patch::Merge(json!({"spec": {"dryRun": false}}));
    terminators
        .patch("web", &PatchParams::default(), &change)
        .await?;
    for expected in [4, 3, 3] {
        sleep(Duration::from_secs(1)).await;
        let names = names(&pods).await?;
        assert_eq!(names.len(), expected + 1, "{names:?}");
        assert!(names.contains(&"db".to_owned()));
        sleep(Duration::from_secs(30)).await;
    }
    assert_eq!(
        terminators.get("web").await?.status.and_then(|it| it.ended),
        Some(5)
    );

    // after the deletion, new pods live on
    terminators.delete("web", &DeleteParams::default()).await?;
    sleep(Duration::from_secs(1)).await;
    assert!(terminators.get_opt("web").await?.is_none());
    for index in 0..8 {
        pod.metadata.name = Some(format!("later-{index}"));
        pod.metadata.labels = Some([("app".into(), "web".into())].into());
        pods.create(&PostParams::default(), &pod).await?;
    }
    sleep(Duration::from_secs(120)).await;
    assert_eq!(names(&pods).await?.len(), 12);
    Ok(())
}
