//! Finds out whether a namespace contains anything besides the objects that Kubernetes creates in every namespace.

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde_json::Value;

use super::{Cluster, UninstallError, object::group_path};
use crate::operator::ResourceType;

/// The objects that Kubernetes and its distributions create in each namespace, by kind and name.
const DEFAULTS: [(&str, &str); 3] = [
    ("ConfigMap", "kube-root-ca.crt"),
    ("ConfigMap", "openshift-service-ca.crt"),
    ("ServiceAccount", "default"),
];

/// Kinds whose objects only describe others, and vanish with them.
const DERIVED: [&str; 4] = ["Event", "Endpoints", "EndpointSlice", "PodMetrics"];

/// The namespaced kinds that the cluster serves. All API groups must answer: objects of any kind could be in the namespace.
pub fn kinds(cluster: &Cluster) -> Result<Vec<ResourceType>, UninstallError> {
    // not by `kubectl api-resources`, which leaves out a group that does not answer
    let groups = cluster.get::<Value>("list the API groups".to_owned(), "/apis")?;
    let groups = groups.as_ref().map(|list| elements(&list["groups"]));
    let versions = groups.into_iter().flatten().flat_map(|group| {
        let name = group["name"].as_str().unwrap_or_default();
        let versions = elements(&group["versions"]);
        versions.filter_map(move |it| Some((name, it["version"].as_str()?)))
    });
    let versions: Vec<(&str, &str)> = std::iter::once(("", "v1")).chain(versions).collect();
    let served = versions
        .par_iter()
        .map(|(group, version)| served(cluster, group, version));
    let mut kinds: Vec<ResourceType> = vec![];
    for kind in served.collect::<Result<Vec<_>, _>>()?.into_iter().flatten() {
        // also kinds that the preferred version of a group, its first one, does not have
        if !kinds.iter().any(|known| known.name() == kind.name()) {
            kinds.push(kind);
        }
    }
    Ok(kinds)
}

/// The namespaced kinds in a version of a group.
fn served(
    cluster: &Cluster,
    group: &str,
    version: &str,
) -> Result<Vec<ResourceType>, UninstallError> {
    let path = group_path(group, version);
    let list = match cluster.get::<Value>(format!("discover the kinds of {group}"), &path) {
        Err(UninstallError::Refused { message, .. }) => Err(UninstallError::Group {
            group: group.to_owned(),
            message,
        }),
        list => list,
    };
    let list = list?.unwrap_or_default();
    let resources = elements(&list["resources"]).filter_map(|it| {
        let (name, kind) = (it["name"].as_str()?, it["kind"].as_str()?);
        let is_listed = elements(&it["verbs"]).any(|verb| verb == "list");
        let is_wanted = it["namespaced"] == true && is_listed && !DERIVED.contains(&kind);
        is_wanted.then(|| ResourceType {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            plural: name.to_owned(),
            namespaced: true,
        })
    });
    Ok(resources.collect())
}

fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// An object of these kinds in the namespace that Kubernetes did not create by default, as `KIND NAME`.
pub fn occupant(
    cluster: &Cluster,
    kinds: &[ResourceType],
    namespace: &str,
) -> Result<Option<String>, UninstallError> {
    let found: Vec<Option<String>> = kinds
        .par_iter()
        .map(|resource| {
            let objects = cluster.list(resource, Some(namespace), "")?.into_iter();
            let kind = resource.kind.as_str();
            let mut others = objects.filter(|object| {
                let is_default = DEFAULTS.contains(&(kind, object.name.as_str()));
                !is_default && object.deletion_timestamp.is_none()
            });
            Ok(others
                .next()
                .map(|object| format!("{kind} {}", object.name)))
        })
        .collect::<Result<_, _>>()?;
    Ok(found.into_iter().flatten().next())
}
