//! The rules of built-in kinds that clients meet, in the words and the order of the API server's [validation]: after what it says of
//! the metadata, and of an update after what it compares in them. Rules of fields that are met rarely are missing.
//!
//! [validation]: https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/core/validation/validation.go

mod address;
mod claim;
mod config;
mod cron_job;
mod event;
mod job;
mod job_policy;
mod job_status;
pub(crate) mod metadata;
mod pod;
mod priority_class;
mod replicated;
mod rights;
mod rollout;
mod rule;
mod schedule;
mod selector;
pub(crate) mod service;
mod stateful_set;
mod status;

use serde_json::Value;

use self::rule::{invalid, non_negative};
use crate::api::model::failure::Cause;
use crate::api::model::kind::Kind;
use crate::api::model::metadata::is_deleting;

/// What is wrong with a new object of a built-in kind, or with one that replaces `live`.
pub(crate) fn violations(kind: &Kind, live: Option<&Value>, object: &Value) -> Vec<Cause> {
    let mut found = Vec::new();
    let causes = &mut found;
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "namespaces") => phase(live, object, causes),
        ("", "configmaps") => config::config_map(live, object, causes),
        ("", "secrets") => config::secret(live, object, causes),
        ("", "services") => service::check(live, object, causes),
        ("", "pods") => pod::check(live, object, causes),
        ("", "podtemplates") => pod::template(&object["template"], "template", causes),
        ("", "persistentvolumeclaims") => claim::check(live, object, causes),
        ("" | "events.k8s.io", "events") => event::check(&kind.group, live, object, causes),
        ("apps", "deployments") => replicated::deployment(live, object, causes),
        ("apps", "replicasets") => replicated::replica_set(live, object, causes),
        ("apps", "daemonsets") => replicated::daemon_set(live, object, causes),
        ("apps", "statefulsets") => stateful_set::check(live, object, causes),
        ("batch", "jobs") => job::check(live, object, causes),
        ("batch", "cronjobs") => cron_job::check(live, object, causes),
        ("coordination.k8s.io", "leases") => lease(&object["spec"], causes),
        ("scheduling.k8s.io", "priorityclasses") => priority_class::check(live, object, causes),
        ("rbac.authorization.k8s.io", "roles" | "clusterroles") => {
            rights::role(kind, object, causes);
        }
        ("rbac.authorization.k8s.io", _) => rights::binding(kind, live, object, causes),
        _ => {}
    }
    found
}

fn lease(spec: &Value, causes: &mut Vec<Cause>) {
    let duration = spec["leaseDurationSeconds"].as_i64();
    if let Some(seconds) = duration.filter(|seconds| *seconds <= 0) {
        let why = "must be greater than 0";
        causes.push(invalid("spec.leaseDurationSeconds", seconds, why));
    }
    non_negative("spec", spec, &["leaseTransitions"], causes);
}

/// The phase of a namespace that is being deleted, and of no other, is `Terminating`.
fn phase(live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    if live.is_none() {
        return;
    }
    let (expected, why) = match is_deleting(object) {
        true => (
            "Terminating",
            "may only be 'Terminating' if `deletionTimestamp` is not empty",
        ),
        false => (
            "Active",
            "may only be 'Active' if `deletionTimestamp` is empty",
        ),
    };
    let phase = &object["status"]["phase"];
    if phase != expected {
        causes.push(invalid("status.Phase", phase, why));
    }
}
