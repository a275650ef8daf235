//! Reconciles [`Queue`]: a Deployment runs for each object, and the condition `Ready` tells whether its replicas are there.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec},
        core::v1::{
            Capabilities, ConfigMap, ConfigMapVolumeSource, Container, PodSecurityContext, PodSpec,
            PodTemplateSpec, SeccompProfile, SecurityContext, Volume, VolumeMount,
        },
    },
    apimachinery::pkg::apis::meta::v1::LabelSelector,
};
use kube::{ResourceExt, api::ObjectMeta};
use operator_runtime::{Action, Condition, Context, Reconciler, Result, Setup};

use crate::{Options, api::queue::v1beta1::Queue, topics};

/// Called once at the start. `setup.get::<T>()` has what `operator` in `lib.rs` provides: flags, clients, state of your own.
pub async fn setup(setup: Setup) -> Result<QueueReconciler> {
    let options = setup.get::<Options>();
    Ok(QueueReconciler {
        image: options.and_then(|options| options.broker_image.clone()),
    })
}

/// What the reconciler keeps between its calls goes into fields.
pub struct QueueReconciler {
    /// Of all queues, if somebody set it.
    image: Option<String>,
}

impl Reconciler for QueueReconciler {
    type Resource = Queue;

    /// Called after every change of the object and of what it owns: makes the cluster what the object asks for.
    async fn reconcile(&self, queue: Arc<Queue>, cx: &Context) -> Result<Action> {
        let applied = self.apply(&queue, cx).await;
        let mut status = queue.status.clone().unwrap_or_default();
        status.observed_generation = queue.metadata.generation;
        if let Ok(child) = &applied {
            let observed = child.status.as_ref();
            status.replicas = observed.and_then(|status| status.replicas);
        }
        let topics = queue.spec.topics.as_ref().map_or(0, Vec::len);
        status.topics = i32::try_from(topics).ok();
        let labels = labels(&queue, cx);
        status.selector = Some(
            labels
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect::<Vec<_>>()
                .join(","),
        );
        ready(&applied).set_in(
            status.conditions.get_or_insert_default(),
            queue.metadata.generation,
        )?;
        let told = cx.update_status(&*queue, &status).await;
        applied?;
        told?;
        Ok(Action::await_change())
    }
}

impl QueueReconciler {
    /// The topics first: the pods mount them.
    async fn apply(&self, queue: &Queue, cx: &Context) -> Result<Deployment> {
        cx.apply(&config_map(queue, cx)).await?;
        let image = self.image.as_ref().unwrap_or(&queue.spec.image);
        cx.apply(&deployment(queue, image, cx)).await
    }
}

/// Whether the Deployment runs what its current spec asks for.
fn ready(applied: &Result<Deployment>) -> Condition {
    let deployment = match applied {
        Ok(deployment) => deployment,
        Err(error) => return Condition::new("Ready", false, "ApplyFailed", error.to_string()),
    };
    let wanted = deployment
        .spec
        .as_ref()
        .and_then(|spec| spec.replicas)
        .unwrap_or(1);
    // a status of an earlier generation tells nothing of the current one, nor do pods of an earlier template
    let status = deployment.status.clone().unwrap_or_default();
    let is_current = status.observed_generation >= deployment.metadata.generation;
    let is_rolled_out = status.updated_replicas.unwrap_or(0) >= wanted;
    let running = status.ready_replicas.filter(|_| is_current).unwrap_or(0);
    let message = format!("{running} of {wanted} replicas are ready");
    if is_current && is_rolled_out && running >= wanted {
        Condition::new("Ready", true, "ReplicasReady", message)
    } else {
        Condition::new("Ready", false, "ReplicasNotReady", message)
    }
}

/// The topics of a queue, as its brokers read them.
fn config_map(queue: &Queue, cx: &Context) -> ConfigMap {
    let topics = topics::file(queue.spec.topics.as_deref().unwrap_or_default());
    let limits = queue.spec.limits.clone().unwrap_or_default();
    ConfigMap {
        metadata: cx.child_metadata(queue, format!("{}-topics", queue.name_any())),
        data: Some(BTreeMap::from([
            ("topics".into(), topics),
            (
                "limits".into(),
                format!("max-message {}\n", limits.message_bytes()),
            ),
        ])),
        ..Default::default()
    }
}

/// The child: what it should be, with no regard to what it is.
fn deployment(queue: &Queue, image: &str, cx: &Context) -> Deployment {
    let labels = labels(queue, cx);
    Deployment {
        metadata: cx.child_metadata(queue, queue.name_any()),
        spec: Some(DeploymentSpec {
            replicas: Some(queue.spec.replicas()),
            selector: LabelSelector {
                match_labels: Some(labels.clone()),
                ..Default::default()
            },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels),
                    ..Default::default()
                }),
                spec: Some(pod(queue, image)),
            },
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// A pod that the `restricted` pod security standard admits.
fn pod(queue: &Queue, image: &str) -> PodSpec {
    PodSpec {
        automount_service_account_token: Some(false),
        containers: vec![Container {
            name: "queue".into(),
            image: Some(image.to_owned()),
            volume_mounts: Some(vec![VolumeMount {
                name: "topics".into(),
                mount_path: "/etc/queue".into(),
                read_only: Some(true),
                ..Default::default()
            }]),
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
        volumes: Some(vec![Volume {
            name: "topics".into(),
            config_map: Some(ConfigMapVolumeSource {
                name: format!("{}-topics", queue.name_any()),
                ..Default::default()
            }),
            ..Default::default()
        }]),
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

/// What tells the pods of one object from those of another, and nothing else: the selector of a Deployment can't be changed.
fn labels(queue: &Queue, cx: &Context) -> BTreeMap<String, String> {
    let metadata = cx.child_metadata(queue, queue.name_any());
    let mut labels = metadata.labels.unwrap_or_default();
    labels.retain(|key, _| key == "app.kubernetes.io/instance");
    labels.insert("app.kubernetes.io/name".into(), "queue".into());
    labels
}
