//! An object of the operator, with the information that packages need about it.

use k8s_openapi::Resource;
use serde::Serialize;
use serde_json::Value;

/// An object that runs the operator, gives it permissions, or shows how it is used.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    pub role: Role,
    pub value: Value,
    /// JSON pointers ([RFC 6901](https://www.rfc-editor.org/rfc/rfc6901)) into `value`, to the fields that a user may choose at
    /// installation.
    pub settings: Vec<(Setting, &'static str)>,
}

/// The purpose of an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The namespace that the operator runs in.
    Namespace,
    ServiceAccount,
    /// The permissions for the lease.
    LeaderElection,
    /// The permissions for the CRDs that the operator applies itself.
    CrdPermissions,
    /// The permissions to migrate stored objects.
    MigrationPermissions,
    /// Permissions in the whole cluster.
    ClusterPermissions,
    /// Permissions in single namespaces.
    NamespacedPermissions,
    Deployment,
    /// How many replicas a drain of nodes may evict.
    DisruptionBudget,
    NetworkPolicy,
    /// The Service of the metrics.
    Metrics,
    /// The permissions to ask the API server who reads the metrics, and whether that is allowed.
    MetricsPermissions,
    /// The role of those who may read the metrics.
    MetricsReader,
    /// Where the Prometheus operator finds the metrics.
    ServiceMonitor,
    /// The alerts.
    Alerts,
    /// The dashboard.
    Dashboard,
    /// The Service of the webhooks.
    WebhookService,
    ValidatingWebhooks,
    MutatingWebhooks,
    /// The permissions for the certificates that the operator generates itself.
    CertificatePermissions,
    /// The objects from which cert-manager issues certificates.
    Certificates,
    /// An object of a kind, by its resource: `memcacheds.cache.example.com`.
    Sample(String),
}

/// A value that a user may choose at installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    Image,
    Replicas,
    Resources,
    /// The namespaces to watch, separated by commas; absent if the operator watches its own namespace.
    WatchNamespaces,
}

impl Object {
    pub fn new(role: Role, object: impl Resource + Serialize) -> Self {
        Self {
            role,
            value: serde_json::to_value(object).expect("maps with string keys and finite numbers"),
            settings: vec![],
        }
    }
}
