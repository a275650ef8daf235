//! Each pod is printed, and an event has the line.

use anyhow::Result;
use k8s_openapi::api::{core::v1::Pod, events::v1::Event};
use kube::{
    Api,
    api::{ListParams, PostParams},
};
use operator_testing::sample_file;

use crate::support;

#[tokio::test]
async fn pod_printer_prints_each_pod() -> Result<()> {
    let server = support::start().await?;
    let pods: Api<Pod> = Api::namespaced(server.client(), server.namespace());
    let mut pod: Pod = sample_file("manifests/samples/pods.yaml")?;
    for name in ["web-0", "web-1"] {
        pod.metadata.name = Some(name.into());
        pods.create(&PostParams::default(), &pod).await?;
        let line = format!("default/{name} runs registry.k8s.io/pause:3.10");
        let events: Api<Event> = Api::default_namespaced(server.client());
        server
            .eventually("the pod is printed", async || {
                let events = events.list(&ListParams::default()).await.ok()?;
                let mut notes = events.items.iter().filter_map(|event| event.note.as_ref());
                notes.any(|note| *note == line).then_some(())
            })
            .await;
    }
    Ok(())
}
