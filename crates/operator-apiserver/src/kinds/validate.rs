//! Validates built-in kinds as far as clients need, with the messages and in the order of the API server's [validation]: first the
//! metadata, then for an update the immutable fields. Rarely used fields are not validated.
//!
//! [validation]: https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/core/validation/validation.go

use serde_json::Value;

use super::job::{self, cron_job};
use super::workload::{daemon_set, deployment, replica_set, stateful_set};
use super::{claim, config, event, lease, namespace, pod, priority_class, role, service, webhook};
use crate::model::failure::Cause;
use crate::model::kind::Kind;

/// The violations in an object of a built-in kind that is new or replaces `live`.
pub(crate) fn violations(kind: &Kind, live: Option<&Value>, object: &Value) -> Vec<Cause> {
    let mut found = Vec::new();
    let causes = &mut found;
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "namespaces") => namespace::check(live, object, causes),
        ("", "configmaps") => config::config_map(live, object, causes),
        ("", "secrets") => config::secret(live, object, causes),
        ("", "services") => service::check(live, object, causes),
        ("", "pods") => pod::check(live, object, causes),
        ("", "podtemplates") => pod::template(&object["template"], "template", causes),
        ("", "persistentvolumeclaims") => claim::check(live, object, causes),
        ("" | "events.k8s.io", "events") => event::check(&kind.group, live, object, causes),
        ("apps", "deployments") => deployment::check(live, object, causes),
        ("apps", "replicasets") => replica_set::check(live, object, causes),
        ("apps", "daemonsets") => daemon_set::check(live, object, causes),
        ("apps", "statefulsets") => stateful_set::check(live, object, causes),
        ("batch", "jobs") => job::check(live, object, causes),
        ("batch", "cronjobs") => cron_job::check(live, object, causes),
        ("coordination.k8s.io", "leases") => lease::check(object, causes),
        ("scheduling.k8s.io", "priorityclasses") => priority_class::check(live, object, causes),
        ("rbac.authorization.k8s.io", "roles" | "clusterroles") => {
            role::check_role(kind, object, causes);
        }
        ("rbac.authorization.k8s.io", _) => role::check_binding(kind, live, object, causes),
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations") => {
            webhook::check(true, object, causes);
        }
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations") => {
            webhook::check(false, object, causes);
        }
        _ => {}
    }
    found
}
