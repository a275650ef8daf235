//! The five update strategies, which operator.toml names for each kind: a [`Bundle`] has a child of each, labelled with its value. Its status
//! lists the children that get a new value only once somebody deletes them.

use k8s_openapi::api::core::v1::{
    ConfigMap, Container, Pod, PodSpec, Secret, Service, ServiceAccount, ServicePort, ServiceSpec,
};
use kube::{ResourceExt, api::ObjectMeta};
use operator_runtime::{Applied, Declarative, Desired, Error, Observed, Result, Setup, Status};

use crate::api::bundle::v1::{Bundle, BundleStatus};

pub async fn setup(_setup: Setup) -> Result<BundleController> {
    Ok(BundleController)
}

pub struct BundleController;

impl Declarative for BundleController {
    type Resource = Bundle;

    fn desired(&self, bundle: &Bundle, observed: &Observed) -> Result<Desired<Bundle>> {
        let metadata = || labelled(bundle, observed);
        Ok(Desired::new()
            .child(ConfigMap {
                metadata: metadata(),
                ..Default::default()
            })
            .child(Service {
                metadata: metadata(),
                spec: Some(service()),
                ..Default::default()
            })
            .child(Pod {
                metadata: metadata(),
                spec: Some(pod()),
                ..Default::default()
            })
            .child(ServiceAccount {
                metadata: metadata(),
                ..Default::default()
            })
            .child(Secret {
                metadata: metadata(),
                ..Default::default()
            }))
    }

    fn status(
        &self,
        _bundle: &Bundle,
        _observed: &Observed,
        result: Result<&Applied, &Error>,
    ) -> Result<Status<Bundle>> {
        let Ok(applied) = result else {
            return Ok(Status::desired());
        };
        let waiting = applied.waiting().to_vec();
        Ok(Status::new(BundleStatus {
            waiting: Some(waiting).filter(|waiting| !waiting.is_empty()),
        }))
    }
}

fn labelled(bundle: &Bundle, observed: &Observed) -> ObjectMeta {
    let mut metadata = observed.child_metadata(bundle, bundle.name_any());
    let labels = metadata.labels.get_or_insert_default();
    labels.insert("value".into(), bundle.spec.value.clone());
    metadata
}

fn service() -> ServiceSpec {
    ServiceSpec {
        ports: Some(vec![ServicePort {
            port: 80,
            ..Default::default()
        }]),
        ..Default::default()
    }
}

fn pod() -> PodSpec {
    PodSpec {
        containers: vec![Container {
            name: "main".into(),
            image: Some("registry.example.com/main:1.0".into()),
            ..Default::default()
        }],
        ..Default::default()
    }
}
