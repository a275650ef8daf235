//! The Pod is recreated and the Service is replaced; the status has the message of the Pod, and a deleted child returns.

use anyhow::Result;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use mixed::api::echo_server::v1::{EchoServer, EchoServerSpec};
use serde_json::json;

use crate::support;

#[tokio::test]
async fn echo_server_keeps_a_pod_and_a_service() -> Result<()> {
    let server = support::start().await?;
    let echos: Api<EchoServer> = Api::namespaced(server.client(), server.namespace());
    let pods: Api<Pod> = Api::namespaced(server.client(), server.namespace());
    let services: Api<Service> = Api::namespaced(server.client(), server.namespace());
    let get = async |name: &str| {
        let pod = pods.get_opt(name).await.ok()??;
        let service = services.get_opt(name).await.ok()??;
        (pod.metadata.deletion_timestamp.is_none()).then_some((pod, service))
    };

    let spec = EchoServerSpec {
        message: "hello".into(),
        ..Default::default()
    };
    let echo = EchoServer::new("echo", spec);
    echos.create(&PostParams::default(), &echo).await?;
    let (pod, service) = server
        .eventually("a Pod and a Service", async || get("echo").await)
        .await;

    let running = json!({ "status": { "phase": "Running", "message": "listening" } });
    pods.patch_status("echo", &PatchParams::default(), &Patch::Merge(running))
        .await?;
    server
        .eventually("the status has the message of the Pod", async || {
            let status = echos.get("echo").await.ok()?.status?;
            (status.message? == "listening").then_some(())
        })
        .await;

    let edit = json!({ "spec": { "port": 9090 } });
    echos
        .patch("echo", &PatchParams::default(), &Patch::Merge(edit))
        .await?;
    let (new_pod, new_service) = server
        .eventually("both have the new port", async || {
            let (pod, service) = get("echo").await?;
            let listens = pod.spec.as_ref()?.containers[0].ports.as_ref()?[0].container_port;
            let serves = service.spec.as_ref()?.ports.as_ref()?[0].port;
            ((listens, serves) == (9090, 9090)).then_some((pod, service))
        })
        .await;
    assert_ne!(new_pod.uid(), pod.uid(), "the Pod is recreated");
    assert_eq!(new_service.uid(), service.uid(), "the Service is replaced");
    let address = |service: &Service| service.spec.as_ref()?.cluster_ip.clone();
    assert_eq!(address(&new_service), address(&service));

    pods.delete("echo", &DeleteParams::default().grace_period(0))
        .await?;
    server
        .eventually("the Pod is recreated", async || {
            let (pod, _) = get("echo").await?;
            (pod.uid() != new_pod.uid()).then_some(())
        })
        .await;
    Ok(())
}
