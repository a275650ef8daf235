//! The rows of built-in kinds. Kinds that are not listed here have only a name and an age.

use serde_json::Value;

use super::{cluster, core, pod, workload};
use crate::model::kind::Kind;

/// The cells of an object, if its kind has columns of its own.
pub(crate) fn cells(kind: &Kind, object: &Value) -> Option<Vec<Value>> {
    let print: fn(&Value) -> Vec<Value> = match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "configmaps") => core::config_map,
        ("", "events") => core::event,
        ("events.k8s.io", "events") => core::new_event,
        ("", "namespaces") => core::namespace,
        ("", "nodes") => cluster::node,
        ("", "persistentvolumeclaims") => core::claim,
        ("", "persistentvolumes") => cluster::volume,
        ("", "pods") => pod::pod,
        ("", "secrets") => core::secret,
        ("", "serviceaccounts") => super::plain,
        ("", "services") => core::service,
        (
            "admissionregistration.k8s.io",
            "mutatingwebhookconfigurations" | "validatingwebhookconfigurations",
        ) => core::webhooks,
        ("apiextensions.k8s.io", "customresourcedefinitions")
        | ("rbac.authorization.k8s.io", "clusterroles" | "roles") => core::dated,
        ("apps", "daemonsets") => workload::daemon_set,
        ("apps", "deployments") => workload::deployment,
        ("apps", "replicasets") => workload::replica_set,
        ("apps", "statefulsets") => workload::stateful_set,
        ("batch", "cronjobs") => workload::cron_job,
        ("batch", "jobs") => workload::job,
        ("coordination.k8s.io", "leases") => core::lease,
        ("networking.k8s.io", "ingresses") => core::ingress,
        ("networking.k8s.io", "networkpolicies") => core::network_policy,
        ("policy", "poddisruptionbudgets") => core::disruption_budget,
        ("rbac.authorization.k8s.io", "clusterrolebindings" | "rolebindings") => core::binding,
        ("scheduling.k8s.io", "priorityclasses") => cluster::priority_class,
        _ => return None,
    };
    Some(print(object))
}
