//! Two children with different update strategies: each [`EchoServer`] has a Pod, which is recreated when it should change, and a Service,
//! which is replaced. The status repeats what the Pod reports.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Container, ContainerPort, Pod, PodSpec, Service, ServicePort, ServiceSpec,
};
use kube::ResourceExt;
use operator_runtime::{Declarative, Desired, Observed, Result, Setup};

use crate::api::echo_server::v1::{EchoServer, EchoServerStatus};

pub async fn setup(_setup: Setup) -> Result<EchoServerController> {
    Ok(EchoServerController)
}

pub struct EchoServerController;

impl Declarative for EchoServerController {
    type Resource = EchoServer;

    fn desired(&self, echo: &EchoServer, observed: &Observed) -> Result<Desired<EchoServer>> {
        let pod = observed.get::<Pod>(&echo.name_any())?;
        let observed_status = pod.and_then(|pod| pod.status).unwrap_or_default();
        Ok(Desired::new()
            .child(pod_of(echo, observed))
            .child(service_of(echo, observed))
            .status(EchoServerStatus {
                phase: observed_status.phase,
                message: observed_status.message,
            }))
    }
}

fn pod_of(echo: &EchoServer, observed: &Observed) -> Pod {
    let mut metadata = observed.child_metadata(echo, echo.name_any());
    metadata
        .labels
        .get_or_insert_default()
        .extend(selector(echo));
    Pod {
        metadata,
        spec: Some(PodSpec {
            containers: vec![Container {
                name: "echo".into(),
                image: Some(echo.spec.image().into()),
                args: Some(vec![echo.spec.message.clone()]),
                ports: Some(vec![ContainerPort {
                    container_port: echo.spec.port(),
                    ..Default::default()
                }]),
                ..Default::default()
            }],
            ..Default::default()
        }),
        ..Default::default()
    }
}

fn service_of(echo: &EchoServer, observed: &Observed) -> Service {
    Service {
        metadata: observed.child_metadata(echo, echo.name_any()),
        spec: Some(ServiceSpec {
            selector: Some(selector(echo)),
            ports: Some(vec![ServicePort {
                port: echo.spec.port(),
                ..Default::default()
            }]),
            ..Default::default()
        }),
        ..Default::default()
    }
}

fn selector(echo: &EchoServer) -> BTreeMap<String, String> {
    BTreeMap::from([("echo".into(), echo.name_any())])
}
