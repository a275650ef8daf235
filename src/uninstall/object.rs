//! An object that the manifests install, as it is found in the cluster, and to whom it belongs.

use std::fmt;

use serde_json::Value;

use crate::operator::ResourceType;

/// The kinds of the manifests, as `GROUP/KIND`, in the order in which they are deleted: webhooks before their server, permissions after the
/// operator that uses them. Each has what the names of its objects have after the name of the operator, also in earlier manifests. Those
/// without names are created by the operator.
const ORDER: [(&str, &[&str]); 18] = [
    (
        "admissionregistration.k8s.io/ValidatingWebhookConfiguration",
        &[""],
    ),
    (
        "admissionregistration.k8s.io/MutatingWebhookConfiguration",
        &[""],
    ),
    ("apps/Deployment", &[""]),
    ("policy/PodDisruptionBudget", &[""]),
    ("/Service", &["-metrics", "-webhook"]),
    ("networking.k8s.io/NetworkPolicy", &[""]),
    ("cert-manager.io/Certificate", &["-webhook", "-webhook-ca"]),
    (
        "cert-manager.io/Issuer",
        &["-webhook", "-webhook-self-signed"],
    ),
    ("coordination.k8s.io/Lease", &[]),
    ("/Secret", &[]),
    (
        "rbac.authorization.k8s.io/ClusterRoleBinding",
        &CLUSTER_ROLES,
    ),
    ("rbac.authorization.k8s.io/RoleBinding", &ROLES),
    ("rbac.authorization.k8s.io/ClusterRole", &CLUSTER_ROLES),
    ("rbac.authorization.k8s.io/Role", &ROLES),
    ("/ServiceAccount", &[""]),
    ("monitoring.coreos.com/ServiceMonitor", &[""]),
    ("monitoring.coreos.com/PrometheusRule", &[""]),
    ("/ConfigMap", &["-dashboard"]),
];

const CLUSTER_ROLES: [&str; 6] = [
    "",
    "-crds",
    "-metrics",
    "-metrics-reader",
    "-storage-migration",
    "-webhook",
];

const ROLES: [&str; 3] = ["", "-leader-election", "-webhook"];

const NAME: &str = "app.kubernetes.io/name";
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// An object to look for.
#[derive(Clone, Debug)]
pub struct Object {
    pub resource: ResourceType,
    pub namespace: Option<String>,
    pub name: String,
    mark: Mark,
}

/// How an object is recognized as one of the operator.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mark {
    /// By the label that all objects of the manifests have.
    Name,
    /// By the label that the operator sets on objects that it creates.
    ManagedBy,
    /// By its name alone: the lease has no labels.
    Unlabeled,
}

/// The owner of an object in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The operator.
    Operator,
    /// A package of which it is a part.
    Package(Package),
    /// Somebody else: it has the name, but not the label.
    Other,
}

/// The package manager that installed an object, and removes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Package {
    Helm { release: String, namespace: String },
    Olm { owner: String, namespace: String },
}

impl Package {
    /// The command that removes the rest.
    pub fn command(&self) -> String {
        match self {
            Self::Helm { release, namespace } => {
                format!("helm uninstall {release} --namespace {namespace}")
            }
            Self::Olm { owner, namespace } => {
                format!("kubectl delete clusterserviceversion {owner} --namespace {namespace}")
            }
        }
    }
}

impl Object {
    /// An object of the manifests; `None` if the value is not an object. `from` is the namespace of the manifests, `to` that of the
    /// installation.
    pub(super) fn of(value: &Value, from: &str, to: &str) -> Option<Self> {
        let text = |pointer| value.pointer(pointer).and_then(Value::as_str);
        let (group, version) = match text("/apiVersion")?.split_once('/') {
            Some(both) => both,
            None => ("", text("/apiVersion")?),
        };
        let moved = |namespace: &str| {
            if namespace == from {
                to.to_owned()
            } else {
                namespace.to_owned()
            }
        };
        let name = text("/metadata/name")?;
        let kind = text("/kind")?;
        Some(Self {
            resource: resource(group, version, kind, text("/metadata/namespace").is_some()),
            namespace: text("/metadata/namespace").map(moved),
            name: match kind {
                "Namespace" => moved(name),
                _ => name.to_owned(),
            },
            mark: Mark::Name,
        })
    }

    /// An object with the label of the operator.
    pub(super) fn labeled(resource: ResourceType, namespace: Option<String>, name: String) -> Self {
        Self {
            resource,
            namespace,
            name,
            mark: Mark::Name,
        }
    }

    /// An object that the operator creates in its namespace.
    pub(super) fn created(
        group: &str,
        kind: &str,
        namespace: &str,
        name: String,
        mark: Mark,
    ) -> Self {
        Self {
            resource: resource(group, "v1", kind, true),
            namespace: Some(namespace.to_owned()),
            name,
            mark,
        }
    }

    /// An object of a kind of the operator.
    pub(super) fn stored(resource: ResourceType, namespace: Option<String>, name: String) -> Self {
        Self {
            resource,
            namespace,
            name,
            mark: Mark::Unlabeled,
        }
    }

    pub(super) fn crd(name: String) -> Self {
        let group = "apiextensions.k8s.io";
        let resource = resource(group, "v1", "CustomResourceDefinition", false);
        Self::stored(resource, None, name)
    }

    /// The path of the object in the API.
    pub(super) fn path(&self) -> String {
        let collection = collection(&self.resource, self.namespace.as_deref());
        format!("{collection}/{}", self.name)
    }

    pub fn is_namespace(&self) -> bool {
        self.resource.kind == "Namespace"
    }

    /// Whether the operator runs as long as this exists.
    pub fn is_deployment(&self) -> bool {
        self.resource.kind == "Deployment"
    }

    /// Whether it is this Service.
    pub(super) fn is_service(&self, namespace: &str, name: &str) -> bool {
        let is_there = self.namespace.as_deref() == Some(namespace);
        self.resource.kind == "Service" && is_there && self.name == name
    }

    /// The place of the object in the order of deletion. A namespace is the last.
    pub(super) fn place(&self) -> (bool, usize) {
        (self.is_namespace(), place(&self.resource.name()))
    }

    /// The owner of this object, which exists in the cluster as `found`. `operator` is the name of the operator.
    pub(super) fn claim(&self, found: &Value, operator: &str) -> Claim {
        let label = |name: &str| found["metadata"]["labels"][name].as_str();
        let annotation = |name: &str| found["metadata"]["annotations"][name].as_str();
        let namespace = || self.namespace.clone().unwrap_or_default();
        if let Some(owner) = label("olm.owner") {
            return Claim::Package(Package::Olm {
                owner: owner.to_owned(),
                namespace: label("olm.owner.namespace").map_or_else(namespace, str::to_owned),
            });
        }
        let is_own = match self.mark {
            Mark::Name => label(NAME) == Some(operator),
            Mark::ManagedBy => label(MANAGED_BY) == Some(operator),
            Mark::Unlabeled => true,
        };
        match label(MANAGED_BY) {
            _ if !is_own => Claim::Other,
            Some("Helm") => Claim::Package(Package::Helm {
                release: annotation("meta.helm.sh/release-name")
                    .unwrap_or(operator)
                    .to_owned(),
                namespace: annotation("meta.helm.sh/release-namespace")
                    .map_or_else(namespace, str::to_owned),
            }),
            _ => Claim::Operator,
        }
    }
}

/// The kinds of the manifests, in the order of deletion, each with the names that its objects may have.
pub(super) fn known(operator: &str) -> Vec<(ResourceType, Vec<String>)> {
    let named = |suffixes: &[&str]| {
        suffixes
            .iter()
            .map(|it| format!("{operator}{it}"))
            .collect()
    };
    let kinds = ORDER.iter().filter(|(_, suffixes)| !suffixes.is_empty());
    kinds
        .map(|(kind, suffixes)| (ordered(kind), named(suffixes)))
        .collect()
}

/// The place of a kind in the order of deletion, by its [name](ResourceType::name).
pub(super) fn place(name: &str) -> usize {
    let place = ORDER
        .iter()
        .position(|(kind, _)| ordered(kind).name() == name);
    place.unwrap_or(ORDER.len())
}

/// A kind of the [`ORDER`].
fn ordered(kind: &str) -> ResourceType {
    let (group, kind) = kind.split_once('/').expect("all have a slash");
    let is_cluster_scoped = kind.starts_with("Cluster") || kind.ends_with("Configuration");
    resource(group, "v1", kind, !is_cluster_scoped)
}

/// A kind of the manifests, with its regular plural.
fn resource(group: &str, version: &str, kind: &str, namespaced: bool) -> ResourceType {
    let singular = kind.to_lowercase();
    ResourceType {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
        plural: match singular.strip_suffix('y') {
            Some(stem) => format!("{stem}ies"),
            None => format!("{singular}s"),
        },
        namespaced,
    }
}

/// The path of a kind in the API, in a namespace or in all.
pub(super) fn collection(resource: &ResourceType, namespace: Option<&str>) -> String {
    let root = group_path(&resource.group, &resource.version);
    match namespace {
        Some(namespace) => format!("{root}/namespaces/{namespace}/{}", resource.plural),
        None => format!("{root}/{}", resource.plural),
    }
}

/// The path of a version of a group in the API.
pub(super) fn group_path(group: &str, version: &str) -> String {
    match group {
        "" => format!("/api/{version}"),
        group => format!("/apis/{group}/{version}"),
    }
}

/// Formats an object as `Deployment memcached-operator/memcached-operator`.
impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.resource.kind)?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        manifests::{Role, manifests},
        operator::example::{MEMCACHED, operator},
    };

    #[test]
    fn the_kinds_and_names_of_all_manifests_are_known() {
        let kind = format!("{MEMCACHED}webhooks = [\"validate\", \"mutate\"]\n");
        let all = "migrate-storage = true\nensure-crds = true\n";
        let rest =
            "[monitoring]\nprometheus = true\nprotected = true\n[deployment]\nreplicas = 2\n";
        for text in [
            format!("{all}{kind}{rest}"),
            format!("certificates = \"cert-manager\"\n{kind}"),
            format!("namespaces = [\"a\"]\n{kind}"),
        ] {
            let operator = operator(&text);
            for object in manifests(&operator)
                .objects
                .into_iter()
                .filter(|it| it.role != Role::Namespace)
            {
                let name = &operator.config.name;
                let object = Object::of(&object.value, name, name).unwrap();
                let kinds = known(name);
                let of_kind = kinds.iter().find(|(kind, _)| *kind == object.resource);
                let is_known = of_kind.is_some_and(|(_, names)| names.contains(&object.name));
                assert!(is_known, "{object}");
            }
        }
    }
}
