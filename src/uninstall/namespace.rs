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

/// The kinds with namespaces that the cluster serves. All API groups must answer: objects of any kind could be in the namespace.
pub async fn kinds(cluster: &Cluster) -> Result<Vec<ApiResource>, UninstallError> {
    let groups = cluster.client.list_api_groups().await;
    let groups = groups.map_err(|error| cluster.error("list the API groups".to_owned(), error))?;
    let groups = groups.groups.into_iter().map(|group| group.name);
    let mut kinds = vec![];
    for group in std::iter::once(String::new()).chain(groups) {
        let discovery = Discovery::new(cluster.client.clone()).filter(&[&group]);
        let discovery = discovery.run().await.map_err(|error| match error {
            kube::Error::Api(status) if status.code >= 500 => UninstallError::Group {
                group: group.clone(),
                message: status.message.clone(),
            },
            error => cluster.error(format!("discover the kinds of {group}"), error),
        })?;
        for group in discovery.groups() {
            // also kinds that the preferred version of a group does not have
            let listed = group.resources_by_stability().into_iter();
            let listed = listed.filter(|(resource, capabilities)| {
                capabilities.scope == Scope::Namespaced
                    && capabilities.supports_operation(verbs::LIST)
                    && !DERIVED.contains(&resource.kind.as_str())
            });
            kinds.extend(listed.map(|(resource, _)| resource));
        }
    }
    Ok(kinds)
}

/// An object of these kinds that is in the namespace and that Kubernetes did not put there, as `KIND NAME`.
pub async fn occupant(
    cluster: &Cluster,
    kinds: &[ApiResource],
    namespace: &str,
) -> Result<Option<String>, UninstallError> {
    for resource in kinds {
        for object in cluster.list(resource, Some(namespace)).await? {
            let name = object.metadata.name.unwrap_or_default();
            let is_default = DEFAULTS.contains(&(resource.kind.as_str(), name.as_str()));
            if !is_default && object.metadata.deletion_timestamp.is_none() {
                return Ok(Some(format!("{} {name}", resource.kind)));
            }
        }
    }
    Ok(None)
}
