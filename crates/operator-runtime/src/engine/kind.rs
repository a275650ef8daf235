//! A kind as strings, so that built-in and foreign kinds are handled alike, and the namespaces in which it is watched.

use k8s_openapi::{ClusterResourceScope, apimachinery::pkg::apis::meta::v1::OwnerReference};
use kube::{
    Resource,
    core::{ApiResource, DynamicObject, Request},
};
use std::{any::TypeId, fmt};

/// The scope of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Namespaced,
    Cluster,
}

impl Scope {
    /// The scope that the type `K` declares; a dynamic scope counts as namespaced.
    pub fn of<K: Resource<Scope: 'static>>() -> Self {
        if TypeId::of::<K::Scope>() == TypeId::of::<ClusterResourceScope>() {
            Self::Cluster
        } else {
            Self::Namespaced
        }
    }

    /// The namespaces to watch, where `None` stands for all of them.
    pub fn watched(self, namespaces: &[String]) -> Vec<Option<String>> {
        match self {
            Self::Namespaced if !namespaces.is_empty() => {
                namespaces.iter().cloned().map(Some).collect()
            }
            _ => vec![None],
        }
    }
}

/// Whether a group is one of Kubernetes. The status of its kinds is written by Kubernetes.
pub(crate) fn is_builtin(group: &str) -> bool {
    !group.contains('.') || group.ends_with(".k8s.io")
}

/// The identity of a kind in all its versions: two groups may each have a `Cluster`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupKind {
    pub group: String,
    pub kind: String,
}

impl GroupKind {
    pub fn of<K: Resource<DynamicType = ()>>() -> Self {
        Self {
            group: K::group(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
        }
    }

    /// The kind of the referenced object.
    pub fn of_reference(owner: &OwnerReference) -> Self {
        let group = owner.api_version.rsplit_once('/');
        Self {
            group: group.map_or_else(String::new, |(group, _)| group.into()),
            kind: owner.kind.clone(),
        }
    }
}

/// Formats the kind as Kubernetes does: `Deployment.apps`, `ConfigMap`.
impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.group {
            "" => f.write_str(&self.kind),
            group => write!(f, "{}.{group}", self.kind),
        }
    }
}

/// A kind with its group, version, plural and scope.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub resource: ApiResource,
    pub scope: Scope,
}

impl Kind {
    pub fn new(group: &str, version: &str, kind: &str, plural: &str, scope: Scope) -> Self {
        let api_version = if group.is_empty() {
            version.into()
        } else {
            format!("{group}/{version}")
        };
        let resource = ApiResource {
            group: group.into(),
            version: version.into(),
            api_version,
            kind: kind.into(),
            plural: plural.into(),
        };
        Self { resource, scope }
    }

    /// The kind of the type `K`.
    pub fn of<K: Resource<DynamicType = (), Scope: 'static>>() -> Self {
        Self {
            resource: ApiResource::erase::<K>(&()),
            scope: Scope::of::<K>(),
        }
    }

    /// Whether this is Secret or ConfigMap, whose objects may be large.
    pub fn is_data(&self) -> bool {
        self.resource.group.is_empty() && ["Secret", "ConfigMap"].contains(&&*self.resource.kind)
    }

    /// Whether the other is this kind, in any version.
    pub fn is_same(&self, other: &Self) -> bool {
        self.resource.group == other.resource.group && self.resource.kind == other.resource.kind
    }

    /// Requests for objects of this version, in a namespace or in none.
    pub fn requests(&self, namespace: Option<&str>) -> Request {
        Request::new(DynamicObject::url_path(&self.resource, namespace))
    }
}

/// Formats the kind as in `operator.toml`: `apps/v1/Deployment`, `v1/ConfigMap`.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.resource.api_version, self.resource.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Namespace},
    };

    #[test]
    fn a_cluster_scoped_kind_is_watched_once_for_any_namespaces() {
        let namespaces = ["a".to_owned(), "b".to_owned()];
        assert_eq!(Scope::of::<Namespace>().watched(&namespaces), [None]);
        assert_eq!(
            Scope::of::<ConfigMap>().watched(&namespaces),
            [Some("a".to_owned()), Some("b".to_owned())]
        );
        assert_eq!(Scope::of::<ConfigMap>().watched(&[]), [None]);
    }

    #[test]
    fn a_kind_is_displayed_as_in_operator_toml() {
        let kind = |group, kind| Kind::new(group, "v1", kind, "", Scope::Namespaced).to_string();
        assert_eq!(kind("apps", "Deployment"), "apps/v1/Deployment");
        assert_eq!(kind("", "ConfigMap"), "v1/ConfigMap");
    }

    #[test]
    fn a_group_kind_is_displayed_as_kubernetes_prints_it() {
        let printed = GroupKind::of::<Deployment>().to_string();
        assert_eq!(printed, "Deployment.apps");
        assert_eq!(GroupKind::of::<ConfigMap>().to_string(), "ConfigMap");
    }
}
