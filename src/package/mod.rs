//! The packages of an operator's objects: each is a function from objects to files.

pub mod helm;
pub mod kustomize;
pub mod olm;
mod yaml;

use crate::manifests::Role;

pub use yaml::text;

/// The file of an object, in the folder of a package.
fn path(role: &Role) -> String {
    let path = match role {
        Role::Namespace => "namespace",
        Role::ServiceAccount => "rbac/service-account",
        Role::LeaderElection => "rbac/leader-election",
        Role::CrdPermissions => "rbac/crds",
        Role::MigrationPermissions => "rbac/storage-migration",
        Role::ClusterPermissions => "rbac/cluster-role",
        Role::NamespacedPermissions => "rbac/role",
        Role::Deployment => "operator/deployment",
        Role::DisruptionBudget => "operator/disruption-budget",
        Role::NetworkPolicy => "network/policy",
        Role::Metrics => "monitoring/service",
        Role::MetricsPermissions => "rbac/metrics",
        Role::MetricsReader => "rbac/metrics-reader",
        Role::ServiceMonitor => "monitoring/service-monitor",
        Role::Alerts => "monitoring/alerts",
        Role::Dashboard => "monitoring/dashboard",
        Role::WebhookService => "webhook/service",
        Role::ValidatingWebhooks => "webhook/validating",
        Role::MutatingWebhooks => "webhook/mutating",
        Role::CertificatePermissions => "rbac/webhook",
        Role::Certificates => "webhook/certificates",
        Role::Sample(resource) => &format!("samples/{resource}"),
    };
    format!("{path}.yaml")
}
