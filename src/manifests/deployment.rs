//! The operator's Deployment: restricted, with a read-only root file system and a short-lived token; and the disruption budget of several
//! replicas, of which one works, because they elect a leader.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{
    Affinity, Capabilities, ConfigMapProjection, Container, ContainerPort, DownwardAPIProjection,
    DownwardAPIVolumeFile, EnvVar, EnvVarSource, HTTPGetAction, KeyToPath, LocalObjectReference,
    ObjectFieldSelector, PodAffinityTerm, PodAntiAffinity, PodSecurityContext, PodSpec,
    PodTemplateSpec, Probe, ProjectedVolumeSource, ResourceRequirements, SeccompProfile,
    SecurityContext, ServiceAccountTokenProjection, TopologySpreadConstraint, Volume, VolumeMount,
    VolumeProjection, WeightedPodAffinityTerm,
};
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::certificate::mounted;
use super::webhook;
use super::{Namespaces, Object, Operator, Role, Setting, non_empty_map};
use crate::config::{DisruptionBudget, IntOrPercent};

/// The name of the metrics port, by which the Service and the NetworkPolicy refer to it.
pub(super) const METRICS: &str = "metrics";
/// The name of the port of the probes, if the metrics have another one.
const HEALTH: &str = "health";
/// The port of the probes, and of metrics that are not protected.
pub const PORT: i32 = 8080;
/// The port of protected metrics.
const PROTECTED_PORT: i32 = 8443;

/// The ports of the probes and of the metrics, by name: one, unless the metrics are protected.
pub(super) fn ports(operator: &Operator<'_>) -> Vec<(&'static str, i32)> {
    if operator.config.monitoring.protected {
        vec![(HEALTH, PORT), (METRICS, PROTECTED_PORT)]
    } else {
        vec![(METRICS, PORT)]
    }
}

/// Where client libraries look for the token.
const TOKEN_FOLDER: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const TOKEN_SECONDS: i64 = 3600;
const TOKEN_VOLUME: &str = "service-account";

/// The Deployment; `None` without an image, because nothing could run.
pub(super) fn deployment(operator: &Operator<'_>) -> Option<Object> {
    let image = operator.config.image.clone()?;
    let deployment = Deployment {
        metadata: operator.metadata(&operator.config.name),
        spec: Some(DeploymentSpec {
            replicas: Some(operator.config.deployment.replicas().into()),
            selector: operator.selector(),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(operator.labels()),
                    annotations: non_empty_map(&operator.config.deployment.pod_annotations),
                    ..ObjectMeta::default()
                }),
                spec: Some(pod(operator, image)),
            },
            ..DeploymentSpec::default()
        }),
        status: None,
    };
    let mut settings = vec![
        (Setting::Image, "/spec/template/spec/containers/0/image"),
        (Setting::Replicas, "/spec/replicas"),
        (
            Setting::Resources,
            "/spec/template/spec/containers/0/resources",
        ),
    ];
    if matches!(operator.config.namespaces, Namespaces::Listed(_)) {
        let value = "/spec/template/spec/containers/0/env/0/value";
        settings.push((Setting::WatchNamespaces, value));
    }
    Some(Object {
        settings,
        ..Object::new(Role::Deployment, deployment)
    })
}

/// The budget of several replicas, or the one that the user sets. A pod that is not ready never blocks a drain.
/// <https://kubernetes.io/docs/tasks/run-application/configure-pdb/#unhealthy-pod-eviction-policy>
pub(super) fn disruption_budget(operator: &Operator<'_>) -> Option<Object> {
    let settings = &operator.config.deployment;
    let default = DisruptionBudget {
        min_available: None,
        max_unavailable: Some(IntOrPercent::Pods(1)),
    };
    let budget = match &settings.disruption_budget {
        Some(budget) => budget,
        None if settings.replicas() > 1 => &default,
        None => return None,
    };
    let share = |share: &Option<IntOrPercent>| {
        share.as_ref().map(|share| match share {
            IntOrPercent::Pods(pods) => IntOrString::Int((*pods).into()),
            IntOrPercent::Percentage(text) => IntOrString::String(text.clone()),
        })
    };
    let budget = PodDisruptionBudget {
        metadata: operator.metadata(&operator.config.name),
        spec: Some(PodDisruptionBudgetSpec {
            min_available: share(&budget.min_available),
            max_unavailable: share(&budget.max_unavailable),
            selector: Some(operator.selector()),
            unhealthy_pod_eviction_policy: Some("AlwaysAllow".to_owned()),
        }),
        status: None,
    };
    Some(Object::new(Role::DisruptionBudget, budget))
}

fn pod(operator: &Operator<'_>, image: String) -> PodSpec {
    let settings = &operator.config.deployment;
    let certificate = mounted(operator).map(|mounted| mounted.volume);
    let volumes = std::iter::once(token()).chain(certificate);
    PodSpec {
        service_account_name: Some(operator.config.name.clone()),
        automount_service_account_token: Some(false),
        affinity: Some(affinity(operator)),
        image_pull_secrets: non_empty_list(
            settings
                .image_pull_secrets
                .iter()
                .map(|name| LocalObjectReference { name: name.clone() }),
        ),
        node_selector: non_empty_map(&settings.node_selector),
        priority_class_name: settings.priority_class_name.clone(),
        termination_grace_period_seconds: grace_period(operator),
        tolerations: non_empty_list(settings.tolerations.iter().map(|it| it.0.clone())),
        topology_spread_constraints: non_empty_list(topology_spread(operator)),
        containers: vec![container(operator, image)],
        // The image has a numeric user. A user here would not be one of those that OpenShift allows in the namespace.
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".to_owned(),
                localhost_profile: None,
            }),
            ..PodSecurityContext::default()
        }),
        volumes: Some(volumes.collect()),
        ..PodSpec::default()
    }
}

/// The seconds that a pod has to end, if it needs more than Kubernetes gives it by default: those that reconciliations may take, those for
/// the release of the lease, which is tried until the renew deadline (at least ten), and ten for the webhook requests that are in flight
/// then.
/// <https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination>
fn grace_period(operator: &Operator<'_>) -> Option<i64> {
    const DEFAULT: i64 = 30;
    let timeout = operator.config.deployment.shutdown_timeout();
    let renewal = operator
        .config
        .deployment
        .duration("--renew-deadline", "RENEW_DEADLINE");
    let release = renewal.map_or(0, |renewal| renewal.as_secs()).max(10);
    let webhooks = if operator.has_webhooks() { 10 } else { 0 };
    let seconds = timeout
        .as_secs()
        .saturating_add(release)
        .saturating_add(webhooks);
    (seconds > DEFAULT).then_some(seconds)
}

/// The user's affinity; by default, replicas prefer different nodes. A single replica has this default too, because an overlay or the
/// values of a chart can raise the number.
fn affinity(operator: &Operator<'_>) -> Affinity {
    if let Some(affinity) = &operator.config.deployment.affinity {
        return affinity.0.clone();
    }
    let apart = WeightedPodAffinityTerm {
        weight: 100,
        pod_affinity_term: PodAffinityTerm {
            label_selector: Some(operator.selector()),
            topology_key: "kubernetes.io/hostname".to_owned(),
            ..PodAffinityTerm::default()
        },
    };
    Affinity {
        pod_anti_affinity: Some(PodAntiAffinity {
            preferred_during_scheduling_ignored_during_execution: Some(vec![apart]),
            ..PodAntiAffinity::default()
        }),
        ..Affinity::default()
    }
}

/// The user's topology spread constraints; one without a selector gets that of the operator's pods.
fn topology_spread(operator: &Operator<'_>) -> impl Iterator<Item = TopologySpreadConstraint> {
    let constraints = operator
        .config
        .deployment
        .topology_spread_constraints
        .iter();
    constraints.map(|constraint| {
        let mut constraint = constraint.0.clone();
        constraint
            .label_selector
            .get_or_insert_with(|| operator.selector());
        constraint
    })
}

fn container(operator: &Operator<'_>, image: String) -> Container {
    let settings = &operator.config.deployment;
    let port = |name: &str, container_port| ContainerPort {
        name: Some(name.to_owned()),
        container_port,
        ..ContainerPort::default()
    };
    let webhooks = operator
        .has_webhooks()
        .then(|| port(webhook::PORT_NAME, webhook::PORT));
    let own = ports(operator);
    let (probed, _) = own[0];
    let ports = own
        .into_iter()
        .map(|(name, number)| port(name, number))
        .chain(webhooks);
    let token = VolumeMount {
        name: TOKEN_VOLUME.to_owned(),
        mount_path: TOKEN_FOLDER.to_owned(),
        read_only: Some(true),
        ..VolumeMount::default()
    };
    let certificate = mounted(operator).map(|mounted| mounted.mount);
    let mounts = std::iter::once(token).chain(certificate);
    Container {
        name: "operator".to_owned(),
        image: Some(image),
        args: non_empty_list(settings.arguments().into_iter()),
        env: non_empty_list(environment(operator)),
        env_from: non_empty_list(settings.env_from.iter().map(|it| it.0.clone())),
        ports: Some(ports.collect()),
        liveness_probe: Some(probe("/healthz", probed, 20)),
        readiness_probe: Some(probe("/readyz", probed, 10)),
        resources: Some(resources(operator)),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            capabilities: Some(Capabilities {
                drop: Some(vec!["ALL".to_owned()]),
                add: None,
            }),
            read_only_root_filesystem: Some(true),
            run_as_non_root: Some(true),
            ..SecurityContext::default()
        }),
        volume_mounts: Some(mounts.collect()),
        ..Container::default()
    }
}

/// The user's resources, or those of a small operator: what a cache of a few thousand objects needs. Its only data on the node's disk is
/// its log, of which the kubelet keeps 50 MiB by default.
fn resources(operator: &Operator<'_>) -> ResourceRequirements {
    let chosen = operator.config.deployment.resources.as_ref();
    chosen.map_or_else(
        || ResourceRequirements {
            requests: Some(quantities("10m", "32Mi", "64Mi")),
            limits: Some(quantities("500m", "128Mi", "1Gi")),
            claims: None,
        },
        |chosen| chosen.0.clone(),
    )
}

/// The names of the variables of the container.
pub fn variables(operator: &Operator<'_>) -> Vec<String> {
    environment(operator).map(|it| it.name).collect()
}

/// The variables that the operator reads; without one for namespaces, it watches the whole cluster.
fn environment(operator: &Operator<'_>) -> impl Iterator<Item = EnvVar> {
    // Invariant: the namespaces come first, because `Setting::WatchNamespaces` points there.
    let certificate = mounted(operator).map(|mounted| mounted.variable);
    let metrics = operator.config.monitoring.protected.then(|| EnvVar {
        name: "METRICS_ADDRESS".to_owned(),
        value: Some(format!("0.0.0.0:{PROTECTED_PORT}")),
        value_from: None,
    });
    let own = watched_namespaces(operator)
        .into_iter()
        .chain(certificate)
        .chain(metrics);
    own.chain(operator.config.deployment.env.in_container())
}

/// A list, or nothing instead of an empty one.
fn non_empty_list<T>(items: impl Iterator<Item = T>) -> Option<Vec<T>> {
    let items: Vec<T> = items.collect();
    Some(items).filter(|items| !items.is_empty())
}

fn watched_namespaces(operator: &Operator<'_>) -> Option<EnvVar> {
    let (value, value_from) = match &operator.config.namespaces {
        Namespaces::All => return None,
        Namespaces::Own => {
            let field_ref = Some(field("metadata.namespace"));
            (
                None,
                Some(EnvVarSource {
                    field_ref,
                    ..EnvVarSource::default()
                }),
            )
        }
        Namespaces::Listed(names) => (Some(names.join(",")), None),
    };
    Some(EnvVar {
        name: "WATCH_NAMESPACE".to_owned(),
        value,
        value_from,
    })
}

fn probe(path: &str, port: &str, seconds: i32) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.to_owned()),
            port: IntOrString::String(port.to_owned()),
            ..HTTPGetAction::default()
        }),
        period_seconds: Some(seconds),
        ..Probe::default()
    }
}

fn quantities(cpu: &str, memory: &str, disk: &str) -> BTreeMap<String, Quantity> {
    [
        ("cpu", cpu),
        ("ephemeral-storage", disk),
        ("memory", memory),
    ]
    .map(|(name, amount)| (name.to_owned(), Quantity(amount.to_owned())))
    .into()
}

fn field(path: &str) -> ObjectFieldSelector {
    ObjectFieldSelector {
        field_path: path.to_owned(),
        api_version: None,
    }
}

/// The volume that the ServiceAccount admission plugin would add, if the service account did not turn that off (src/manifests/rbac.rs).
fn token() -> Volume {
    let token = VolumeProjection {
        service_account_token: Some(ServiceAccountTokenProjection {
            path: "token".to_owned(),
            expiration_seconds: Some(TOKEN_SECONDS),
            audience: None,
        }),
        ..VolumeProjection::default()
    };
    let certificates = VolumeProjection {
        config_map: Some(ConfigMapProjection {
            name: "kube-root-ca.crt".to_owned(),
            items: Some(vec![KeyToPath {
                key: "ca.crt".to_owned(),
                path: "ca.crt".to_owned(),
                mode: None,
            }]),
            optional: None,
        }),
        ..VolumeProjection::default()
    };
    let namespace = VolumeProjection {
        downward_api: Some(DownwardAPIProjection {
            items: Some(vec![DownwardAPIVolumeFile {
                path: "namespace".to_owned(),
                field_ref: Some(field("metadata.namespace")),
                ..DownwardAPIVolumeFile::default()
            }]),
        }),
        ..VolumeProjection::default()
    };
    Volume {
        name: TOKEN_VOLUME.to_owned(),
        projected: Some(ProjectedVolumeSource {
            sources: Some(vec![token, certificates, namespace]),
            default_mode: None,
        }),
        ..Volume::default()
    }
}
