//! Resolves kinds in the syntax of `operator.toml`, `GROUP/VERSION/KIND`, to resource types with the plural.

use std::fmt;

use operator_apiserver::BuiltinKind;

use super::{
    builtin::{is_unwatched, watchable},
    suggest::{of_group, of_kind, whole_group, written},
};
use crate::config::{ConfigError, Kind, Place};
use crate::crd::{Api, Scope};
use crate::diagnostic::Explain;

/// A kind of the cluster, by its names in URLs and objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct ResourceType {
    /// Empty for the core group.
    pub group: String,
    pub version: String,
    pub kind: String,
    pub plural: String,
    pub namespaced: bool,
}

impl ResourceType {
    /// The kind that a CRD defines, in one of its versions.
    pub fn of(api: &Api, version: &str) -> Self {
        Self {
            group: api.group.clone(),
            version: version.to_owned(),
            kind: api.names.kind.clone(),
            plural: api.names.plural.clone(),
            namespaced: api.scope == Scope::Namespaced,
        }
    }

    /// Finds a kind among the built-in ones and those of the project. A plural in the entry (`KIND:PLURAL`) takes precedence.
    pub fn named(name: &str, apis: &[Api]) -> Result<Self, ResourceError> {
        let parts: Vec<&str> = name.split('/').collect();
        let (group, version, kind) = match parts.as_slice() {
            [version, kind] => ("", *version, *kind),
            [group, version, kind] => (*group, *version, *kind),
            _ => {
                let kind = name.rsplit('/').next().unwrap_or_default();
                return Err(ResourceError::Form(name.into(), of_kind(kind, apis)));
            }
        };
        let (kind, plural) = match kind.split_once(':') {
            Some((kind, plural)) => (kind, Some(plural)),
            None => (kind, None),
        };
        let plain = |text: &str| {
            text.bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.')
        };
        let parts = [version, kind, plural.unwrap_or("x")];
        let is_version =
            version.starts_with('v') && version[1..].starts_with(|c: char| c.is_ascii_digit());
        let is_core = group == "core";
        if parts.iter().any(|part| part.is_empty() || !plain(part))
            || !plain(group)
            || !is_version
            || is_core
        {
            // in GROUP/KIND, the group is at the place of the version
            let near = match of_group(version, kind, apis) {
                near if near.is_empty() => of_kind(kind, apis),
                near => near,
            };
            return Err(ResourceError::Form(name.into(), near));
        }
        let known = apis
            .iter()
            .find(|api| api.group == group && api.names.kind == kind)
            .map(|api| (api.names.plural.as_str(), api.scope == Scope::Namespaced))
            .or_else(|| {
                watchable()
                    .find(|it| (it.group, it.version, it.kind) == (group, version, kind))
                    .map(|it| (it.plural, it.namespaced))
            });
        let (plural, namespaced) = match (plural, known) {
            (Some(plural), known) => (plural, known.is_none_or(|known| known.1)),
            (None, Some(known)) => known,
            (None, None) => {
                let near = of_group(group, kind, apis);
                let known = whole_group(group);
                return Err(match (near.is_empty(), known.is_empty()) {
                    (false, _) => ResourceError::Near(name.into(), near),
                    (true, false) => ResourceError::Unknown(name.into(), known),
                    (true, true) => ResourceError::Plural(name.into()),
                });
            }
        };
        Ok(Self {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
            plural: plural.into(),
            namespaced,
        })
    }

    /// The plural, with the group unless it is the core group: `configmaps`, `deployments.apps`.
    pub fn name(&self) -> String {
        match self.group.as_str() {
            "" => self.plural.clone(),
            group => format!("{}.{group}", self.plural),
        }
    }

    /// Whether some version of the kind is built into Kubernetes.
    pub fn is_builtin(&self) -> bool {
        watchable().any(|it| self.is(it))
    }

    /// Whether it is the built-in kind, in any version.
    fn is(&self, other: &BuiltinKind) -> bool {
        (other.group, other.kind, other.plural) == (&self.group, &self.kind, &self.plural)
    }

    /// The module and the name of its type in k8s-openapi.
    pub fn foreign_type(&self) -> Option<(String, String)> {
        let path = self.k8s_openapi_path()?;
        let (module, name) = path.rsplit_once("::")?;
        Some((module.to_owned(), name.to_owned()))
    }

    /// The path of its type in k8s-openapi, for a built-in kind that exists in all versions of Kubernetes that k8s-openapi supports.
    pub fn k8s_openapi_path(&self) -> Option<String> {
        /// Kinds that are newer than Kubernetes 1.33.
        const NEWER: [&str; 7] = [
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "DeviceClass",
            "ResourceClaim",
            "ResourceClaimTemplate",
            "ResourceSlice",
            "VolumeAttributesClass",
        ];
        let mut of_version = watchable().filter(|it| it.version == self.version);
        if !of_version.any(|it| self.is(it)) || NEWER.contains(&self.kind.as_str()) {
            return None;
        }
        let module = match self.group.as_str() {
            "" => "api::core",
            "apiextensions.k8s.io" => "apiextensions_apiserver::pkg::apis::apiextensions",
            "apiregistration.k8s.io" => "kube_aggregator::pkg::apis::apiregistration",
            group => &format!("api::{}", group.split('.').next().unwrap_or(group)),
        };
        Some(format!(
            "k8s_openapi::{module}::{}::{}",
            self.version, self.kind
        ))
    }
}

/// Formats the kind as in `operator.toml`: `GROUP/VERSION/KIND`, or `VERSION/KIND` for the core group.
impl fmt::Display for ResourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.group.is_empty() {
            write!(f, "{}/", self.group)?;
        }
        write!(f, "{}/{}", self.version, self.kind)
    }
}

/// The reason why a kind in `operator.toml` is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResourceError {
    #[error("`{0}` is not of the form GROUP/VERSION/KIND, or VERSION/KIND for the core group")]
    Form(String, Vec<String>),
    #[error("the plural of `{0}` is unknown")]
    Plural(String),
    #[error("there is no built-in kind `{0}`")]
    Near(String, Vec<String>),
    #[error("there is no built-in kind `{0}`")]
    Unknown(String, Vec<String>),
    #[error("there is no built-in kind `{0}`")]
    Meant(String, Vec<String>),
    #[error("`{0}` cannot be watched, so no controller can reconcile it")]
    Unwatched(String),
    #[error("there is no Rust type for `{0}`")]
    NoType(String),
    #[error("k8s-openapi's types for Kubernetes 1.33 have no `{0}`, which is newer")]
    Newer(String),
    #[error("`{0}` is not served, so no controller can watch it")]
    NotServed(String, String),
    #[error("{1} defines `{0}` and does not generate types for this version")]
    NoVersion(String, String),
    #[error("`{0}` already has a controller, because its [[kind]] has a `scaffold`")]
    Own(String),
}

impl ResourceError {
    /// The error about a kind that is named at a place.
    pub(super) fn at(&self, place: Place) -> ConfigError {
        ConfigError::at(place, self, self.help())
    }
}

impl Explain for ResourceError {
    fn help(&self) -> String {
        match self {
            Self::Form(_, near) if near.is_empty() => {
                "write it as \"apps/v1/Deployment\" or \"v1/ConfigMap\"".into()
            }
            Self::Form(_, near) | Self::Meant(_, near) => write(near),
            Self::Near(kind, near) => format!(
                "{}, or \"{kind}:PLURAL\" if it is another kind of that name",
                write(near)
            ),
            Self::Unknown(kind, known) => format!(
                "{}, or \"{kind}:PLURAL\" if it is newer than this tool",
                write(known)
            ),
            Self::Plural(kind) => format!(
                "add its plural, as in \"{kind}:PLURAL\", or add its CRD with `cargo operator add-crd --types-only FILE`"
            ),
            Self::Unwatched(_) => "choose a kind whose objects are stored, such as \"v1/Pod\"".into(),
            Self::NoType(_) => "add its CRD with `cargo operator add-crd FILE --scaffold controller`, which generates its types and does not install it".into(),
            Self::Newer(_) => "choose another kind; `owns`, `watches` and `reads` can name this one".into(),
            Self::NotServed(_, served) => format!("choose a version that its CRD serves: {served}"),
            Self::NoVersion(_, crd) => format!("add the version to `versions` of the kind whose `crd` is {crd:?}"),
            Self::Own(_) => "edit that controller, or remove `scaffold` from its [[kind]] if another operator installs the CRD".into(),
        }
    }
}

/// `write "v1/Pod"`, or several with `or`.
fn write(kinds: &[String]) -> String {
    let kinds: Vec<String> = kinds.iter().map(|kind| format!("{kind:?}")).collect();
    match kinds.as_slice() {
        [earlier @ .., last] if !earlier.is_empty() => {
            format!("write {} or {last}", earlier.join(", "))
        }
        kinds => format!("write {}", kinds.concat()),
    }
}

/// The built-in kinds that have types in k8s-openapi, as in `owns`.
pub fn builtin_kinds() -> impl Iterator<Item = String> {
    watchable()
        .map(|it| written(&(it.group, it.version, it.kind)))
        .filter(|kind| {
            let resource = ResourceType::named(kind, &[]);
            resource.is_ok_and(|resource| resource.k8s_openapi_path().is_some())
        })
}

/// Finds the kind of a controller: a built-in one with a type of k8s-openapi, or a kind of the project that has only types.
pub fn watched<'a>(
    name: &str,
    kinds: impl Iterator<Item = (&'a Kind, &'a Api)>,
) -> Result<ResourceType, ResourceError> {
    let (group, kind) = match name.split('/').collect::<Vec<_>>().as_slice() {
        [_, kind] => ("", kind.to_owned()),
        [group, _, kind] => (*group, kind.to_owned()),
        _ => ("", ""),
    };
    if is_unwatched(group, kind) {
        return Err(ResourceError::Unwatched(name.into()));
    }
    let kinds: Vec<(&Kind, &Api)> = kinds.collect();
    let is_meant = |(own, _): &&(&Kind, &Api)| own.group == group && own.kind == kind;
    let Some((own, api)) = kinds.iter().find(is_meant) else {
        let resource = ResourceType::named(name, &[]).map_err(|_| {
            let apis: Vec<Api> = kinds.iter().map(|(_, api)| (*api).clone()).collect();
            unwatchable(name, &apis)
        })?;
        return match resource.k8s_openapi_path() {
            Some(_) => Ok(resource),
            None if resource.is_builtin() => Err(ResourceError::Newer(name.into())),
            None => Err(ResourceError::NoType(name.into())),
        };
    };
    let resource = ResourceType::named(name, std::slice::from_ref(api))?;
    if own.has_controller() {
        return Err(ResourceError::Own(name.into()));
    }
    let version = api.version(&resource.version);
    if !version.is_some_and(|version| version.served) {
        let served = api.versions.iter().filter(|version| version.served);
        let served: Vec<&str> = served.map(|version| version.name.as_str()).collect();
        return Err(ResourceError::NotServed(name.into(), served.join(", ")));
    }
    if !own.versions.contains(&resource.version) {
        return Err(ResourceError::NoVersion(name.into(), own.crd.clone()));
    }
    Ok(resource)
}

/// The error about a kind that is neither built in nor in the project.
fn unwatchable(name: &str, apis: &[Api]) -> ResourceError {
    match ResourceType::named(name, apis) {
        Err(ResourceError::Near(name, near) | ResourceError::Unknown(name, near)) => {
            ResourceError::Meant(name, near)
        }
        Err(error @ ResourceError::Form(..)) => error,
        _ => ResourceError::NoType(name.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_resolved() {
        let resolved = |name| {
            ResourceType::named(name, &[]).map(|resource| (resource.plural, resource.namespaced))
        };
        assert_eq!(
            resolved("apps/v1/Deployment"),
            Ok(("deployments".into(), true))
        );
        assert_eq!(resolved("v1/Namespace"), Ok(("namespaces".into(), false)));
        assert_eq!(resolved("x.io/v1/Ox:oxen"), Ok(("oxen".into(), true)));
        for (meant, near) in [
            ("apps/v1/Deploymnt", "apps/v1/Deployment"),
            ("v1/service", "v1/Service"),
            ("app/v1/Deployment", "apps/v1/Deployment"),
        ] {
            assert_eq!(
                resolved(meant),
                Err(ResourceError::Near(meant.into(), vec![near.into()]))
            );
        }
        assert_eq!(
            resolved("x.io/v1/Ox"),
            Err(ResourceError::Plural("x.io/v1/Ox".into()))
        );
        assert!(matches!(
            resolved("v1/Foo"),
            Err(ResourceError::Unknown(_, known)) if known.contains(&"v1/Pod".to_owned())
        ));
        for bad in [
            "Deployment",
            "a/b/c/d",
            "apps/Deployment:deployments",
            "core/v1/Service:services",
            "v1/",
            "x.io/v1/Ox:",
            "x/v1/\"; drop",
        ] {
            assert!(
                matches!(resolved(bad), Err(ResourceError::Form(name, _)) if name == bad),
                "{bad}"
            );
        }
    }

    macro_rules! types {
        ($($type:path,)+) => {
            [$((stringify!($type), names::<$type>())),+]
        };
    }

    fn names<K: kube::Resource<DynamicType = ()>>() -> String {
        let (api_version, kind, plural) = (K::api_version(&()), K::kind(&()), K::plural(&()));
        format!("{api_version}/{kind}:{plural}")
    }

    #[test]
    fn built_in_kinds_have_the_types_of_the_oldest_version_of_kubernetes() {
        let types = types! {
            k8s_openapi::api::core::v1::ConfigMap,
            k8s_openapi::api::core::v1::Endpoints,
            k8s_openapi::api::core::v1::Event,
            k8s_openapi::api::core::v1::LimitRange,
            k8s_openapi::api::core::v1::Namespace,
            k8s_openapi::api::core::v1::Node,
            k8s_openapi::api::core::v1::PersistentVolume,
            k8s_openapi::api::core::v1::PersistentVolumeClaim,
            k8s_openapi::api::core::v1::Pod,
            k8s_openapi::api::core::v1::PodTemplate,
            k8s_openapi::api::core::v1::ReplicationController,
            k8s_openapi::api::core::v1::ResourceQuota,
            k8s_openapi::api::core::v1::Secret,
            k8s_openapi::api::core::v1::Service,
            k8s_openapi::api::core::v1::ServiceAccount,
            k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration,
            k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy,
            k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicyBinding,
            k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration,
            k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
            k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService,
            k8s_openapi::api::apps::v1::ControllerRevision,
            k8s_openapi::api::apps::v1::DaemonSet,
            k8s_openapi::api::apps::v1::Deployment,
            k8s_openapi::api::apps::v1::ReplicaSet,
            k8s_openapi::api::apps::v1::StatefulSet,
            k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler,
            k8s_openapi::api::batch::v1::CronJob,
            k8s_openapi::api::batch::v1::Job,
            k8s_openapi::api::certificates::v1::CertificateSigningRequest,
            k8s_openapi::api::coordination::v1::Lease,
            k8s_openapi::api::discovery::v1::EndpointSlice,
            k8s_openapi::api::events::v1::Event,
            k8s_openapi::api::flowcontrol::v1::FlowSchema,
            k8s_openapi::api::flowcontrol::v1::PriorityLevelConfiguration,
            k8s_openapi::api::networking::v1::IPAddress,
            k8s_openapi::api::networking::v1::Ingress,
            k8s_openapi::api::networking::v1::IngressClass,
            k8s_openapi::api::networking::v1::NetworkPolicy,
            k8s_openapi::api::networking::v1::ServiceCIDR,
            k8s_openapi::api::node::v1::RuntimeClass,
            k8s_openapi::api::policy::v1::PodDisruptionBudget,
            k8s_openapi::api::rbac::v1::ClusterRole,
            k8s_openapi::api::rbac::v1::ClusterRoleBinding,
            k8s_openapi::api::rbac::v1::Role,
            k8s_openapi::api::rbac::v1::RoleBinding,
            k8s_openapi::api::scheduling::v1::PriorityClass,
            k8s_openapi::api::storage::v1::CSIDriver,
            k8s_openapi::api::storage::v1::CSINode,
            k8s_openapi::api::storage::v1::CSIStorageCapacity,
            k8s_openapi::api::storage::v1::StorageClass,
            k8s_openapi::api::storage::v1::VolumeAttachment,
        };
        let mut paths = vec![];
        for builtin in watchable() {
            let name = written(&(builtin.group, builtin.version, builtin.kind));
            let kind = ResourceType::named(&name, &[]).unwrap();
            if let Some(path) = kind.k8s_openapi_path() {
                paths.push((path, format!("{name}:{}", kind.plural)));
            }
        }
        let types = types
            .into_iter()
            .map(|(path, names)| (path.to_owned(), names));
        assert_eq!(paths, types.collect::<Vec<_>>());
        let renamed = ResourceType::named("v1/ConfigMap:maps", &[]).unwrap();
        assert_eq!(renamed.k8s_openapi_path(), None);
    }
}
