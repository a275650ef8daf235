//! Whether a namespace has anything besides what Kubernetes puts into each.

use super::{Cluster, UninstallError};

/// What Kubernetes and its distributions create in each namespace, by kind and name.
const DEFAULTS: [(&str, &str); 3] = [
    ("ConfigMap", "kube-root-ca.crt"),
    ("ConfigMap", "openshift-service-ca.crt"),
    ("ServiceAccount", "default"),
];

/// Resources whose objects only describe others, and vanish with them.
const DERIVED: [&str; 5] = [
    "events",
    "events.events.k8s.io",
    "endpoints",
    "endpointslices.discovery.k8s.io",
    "pods.metrics.k8s.io",
];

/// How many resources one kubectl lists.
const RESOURCES: usize = 50;

/// An object in the namespace that Kubernetes did not put there, as `KIND NAME`.
pub fn occupant(cluster: &Cluster, namespace: &str) -> Result<Option<String>, UninstallError> {
    let mut resources = cluster.namespaced()?;
    resources.retain(|name| !DERIVED.contains(&name.as_str()));
    for resources in resources.chunks(RESOURCES) {
        let objects = cluster.list_in(namespace, resources)?;
        let found = objects.into_iter().find(|object| {
            let name = (object.kind.as_str(), object.metadata.name.as_str());
            !DEFAULTS.contains(&name) && object.metadata.deletion_timestamp.is_none()
        });
        if let Some(found) = found {
            return Ok(Some(format!("{} {}", found.kind, found.metadata.name)));
        }
    }
    Ok(None)
}
