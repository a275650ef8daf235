//! The defaults of built-in kinds, after the API server's own [`defaults.go`] of each group.
//!
//! The OpenAPI document has only few of the defaults, so they are written down here, for the kinds that operators create.
//!
//! [`defaults.go`]: https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/core/v1/defaults.go

use serde_json::Value;

use super::job::{self, cron_job};
use super::workload::{daemon_set, deployment, replica_set, stateful_set};
use super::{
    claim, config, crd, namespace, network_policy, node, pod, priority_class, role, service,
    volume, webhook,
};
use crate::model::kind::Kind;

/// Sets the defaults of the kind.
pub(crate) fn fill(kind: &Kind, object: &mut Value) {
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "namespaces") => namespace::fill(object),
        ("", "secrets") => config::fill_secret(object),
        ("", "pods") => pod::fill(object),
        ("", "podtemplates") => pod::fill_template(&mut object["template"]),
        ("", "replicationcontrollers") => replica_set::fill_controller(object),
        ("", "services") => service::fill(object),
        ("", "persistentvolumeclaims") => claim::fill(object),
        ("", "persistentvolumes") => volume::fill(object),
        ("", "nodes") => node::fill(object),
        ("apps", "deployments") => deployment::fill(object),
        ("apps", "replicasets") => replica_set::fill(object),
        ("apps", "statefulsets") => stateful_set::fill(object),
        ("apps", "daemonsets") => daemon_set::fill(object),
        ("batch", "jobs") => job::fill(object),
        ("batch", "cronjobs") => cron_job::fill(object),
        ("scheduling.k8s.io", "priorityclasses") => priority_class::fill(object),
        ("networking.k8s.io", "networkpolicies") => network_policy::fill(object),
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => {
            role::fill_binding(object);
        }
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations") => {
            webhook::fill(true, object);
        }
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations") => {
            webhook::fill(false, object);
        }
        ("apiextensions.k8s.io", "customresourcedefinitions") => crd::fill(object),
        _ => {}
    }
}
