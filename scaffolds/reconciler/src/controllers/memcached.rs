//! The controller of [`Memcached`]: it runs a Deployment for each object, and the condition `Ready`
//! shows whether all replicas are ready.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec},
        core::v1::{
            Capabilities, Container, PodSecurityContext, PodSpec, PodTemplateSpec, SeccompProfile,
            SecurityContext,
        },
    },
    apimachinery::pkg::apis::meta::v1::LabelSelector,
};
use kube::{ResourceExt, api::ObjectMeta};
use operator_runtime::{Action, Condition, Context, Reconciler, Result, Setup};

use crate::api::memcached::v1alpha1::Memcached;

/// Called once, when the operator starts. `setup.get::<T>()` returns a value that `operator` in `lib.rs`
/// provides, such as flags or a client.
pub async fn setup(_setup: Setup) -> Result<MemcachedReconciler> {
    Ok(MemcachedReconciler)
}

/// State that reconciliations share goes into the fields of this struct.
pub struct MemcachedReconciler;

impl Reconciler for MemcachedReconciler {
    type Resource = Memcached;

    /// Makes the cluster match the object. Called after each change of the object or one of its children.
    async fn reconcile(&self, memcached: Arc<Memcached>, cx: &Context) -> Result<Action> {
        let applied = cx.apply(&deployment(&memcached, cx)).await;
        let mut status = memcached.status.clone().unwrap_or_default();
        status.observed_generation = memcached.metadata.generation;
        if let Ok(child) = &applied {
            let observed = child.status.as_ref();
            status.replicas = observed.and_then(|status| status.replicas);
        }
        let labels = labels(&memcached, cx);
        status.selector = Some(
            labels
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect::<Vec<_>>()
                .join(","),
        );
        ready(&applied).set_in(
            status.conditions.get_or_insert_default(),
            memcached.metadata.generation,
        )?;
        let updated = cx.update_status(&*memcached, &status).await;
        applied?;
        updated?;
        Ok(Action::await_change())
    }
}

/// Whether the Deployment has rolled out its current spec, and all replicas are ready.
fn ready(applied: &Result<Deployment>) -> Condition {
    let deployment = match applied {
        Ok(deployment) => deployment,
        Err(error) => return Condition::new("Ready", false, "ApplyFailed", error.summary()),
    };
    let desired = deployment
        .spec
        .as_ref()
        .and_then(|spec| spec.replicas)
        .unwrap_or(1);
    // the status may be that of an earlier generation, and a ready pod may run an earlier template
    let status = deployment.status.clone().unwrap_or_default();
    let is_current = status.observed_generation >= deployment.metadata.generation;
    let is_rolled_out = status.updated_replicas.unwrap_or(0) >= desired;
    let ready = status.ready_replicas.filter(|_| is_current).unwrap_or(0);
    let message = format!("{ready} of {desired} replicas are ready");
    if is_current && is_rolled_out && ready >= desired {
        Condition::new("Ready", true, "ReplicasReady", message)
    } else {
        Condition::new("Ready", false, "ReplicasNotReady", message)
    }
}

/// The desired state of the Deployment. [`Context::apply`] creates or updates it.
fn deployment(memcached: &Memcached, cx: &Context) -> Deployment {
    let labels = labels(memcached, cx);
    Deployment {
        metadata: cx.child_metadata(memcached, memcached.name_any()),
        spec: Some(DeploymentSpec {
            replicas: Some(memcached.spec.replicas()),
            selector: LabelSelector {
                match_labels: Some(labels.clone()),
                ..Default::default()
            },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels),
                    ..Default::default()
                }),
                spec: Some(pod(memcached)),
            },
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// A pod that the `restricted` pod security standard admits.
fn pod(memcached: &Memcached) -> PodSpec {
    PodSpec {
        automount_service_account_token: Some(false),
        containers: vec![Container {
            name: "memcached".into(),
            image: Some(memcached.spec.image.clone()),
            security_context: Some(SecurityContext {
                allow_privilege_escalation: Some(false),
                capabilities: Some(Capabilities {
                    drop: Some(vec!["ALL".into()]),
                    ..Default::default()
                }),
                ..Default::default()
            }),
            ..Default::default()
        }],
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            run_as_user: Some(65532),
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".into(),
                ..Default::default()
            }),
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// The labels of the pods. They never change, because a Deployment's selector is immutable.
fn labels(memcached: &Memcached, cx: &Context) -> BTreeMap<String, String> {
    let metadata = cx.child_metadata(memcached, memcached.name_any());
    let mut labels = metadata.labels.unwrap_or_default();
    labels.retain(|key, _| key == "app.kubernetes.io/instance");
    labels.insert("app.kubernetes.io/name".into(), "memcached".into());
    labels
}
