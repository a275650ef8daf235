//! Whether a namespace has anything besides what Kubernetes puts into each.

use kube::{
    api::ApiResource,
    discovery::{Discovery, Scope, verbs},
};

use super::{Cluster, UninstallError};

/// What Kubernetes and its distributions create in each namespace, by kind and name.
const DEFAULTS: [(&str, &str); 3] = [
    ("ConfigMap", "kube-root-ca.crt"),
    ("ConfigMap", "openshift-service-ca.crt"),
    ("ServiceAccount", "default"),
];

/// Kinds whose objects only describe others, and vanish with them.
const DERIVED: [&str; 4] = ["Event", "Endpoints", "EndpointSlice", "PodMetrics"];

/// An object that is in the namespace and that Kubernetes did not put there, as `KIND NAME`.
pub async fn occupant(
    cluster: &Cluster,
    namespace: &str,
) -> Result<Option<String>, UninstallError> {
    let discovery = Discovery::new(cluster.client.clone()).run().await;
    let discovery = discovery.map_err(|error| cluster.error("discover kinds".to_owned(), error))?;
    let mut resources: Vec<ApiResource> = vec![];
    for group in discovery.groups() {
        // also kinds that the preferred version of a group does not have
        let listed = group.resources_by_stability().into_iter();
        let listed = listed.filter(|(resource, capabilities)| {
            capabilities.scope == Scope::Namespaced
                && capabilities.supports_operation(verbs::LIST)
                && !DERIVED.contains(&resource.kind.as_str())
        });
        resources.extend(listed.map(|(resource, _)| resource));
    }
    for resource in resources {
        for object in cluster.list(&resource, Some(namespace)).await? {
            let name = object.metadata.name.unwrap_or_default();
            let is_default = DEFAULTS.contains(&(resource.kind.as_str(), name.as_str()));
            if !is_default && object.metadata.deletion_timestamp.is_none() {
                return Ok(Some(format!("{} {name}", resource.kind)));
            }
        }
    }
    Ok(None)
}
