//! The kinds of an operator that have admission webhooks, whichever table of `operator.toml` lists them.

use heck::ToUpperCamelCase;

use super::{
    DefinedKind, KindId,
    builtin::is_unwatched,
    controller::{api_module, type_path},
    resource::{ResourceError, ResourceType},
    subresource::{Subresource, subresource},
};
use crate::config::{Config, ConfigError, Kind, Place, Webhook, WebhookType};
use crate::crd::{Api, Version};
use crate::diagnostic::Explain;

/// A kind with its admission webhooks.
#[derive(Clone, Debug, PartialEq)]
pub struct Admission {
    /// The module of its code.
    pub module: String,
    /// The kind, in the version in which the webhooks get its objects.
    pub resource: ResourceType,
    /// The same kind, if the project defines it.
    pub kind: Option<KindId>,
    /// The module of the kind's types in `src/api/`, if the project defines the kind.
    pub api_module: Option<String>,
    pub webhooks: Vec<Webhook>,
}

/// Why the webhooks of a kind cannot be generated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdmissionProblem {
    #[error(transparent)]
    Resource(#[from] ResourceError),
    #[error("`{0}` is a kind of the project")]
    OfProject(String),
    #[error("the API server calls no webhooks for `{0}`")]
    NotCalled(String),
    #[error("`{0}` is not stored, so the tool generates no webhooks for it")]
    NotStored(String),
    #[error("there is no Rust type for `{0}`")]
    NoType(String),
    #[error("none of the `versions` of {0} is served, so the API server calls no webhooks for it")]
    NotServed(String),
    #[error("{0} has no subresource `{1}`")]
    Subresource(String, String, Vec<String>),
    #[error("requests for {0}/{1} have objects of another kind")]
    OtherType(String, String, Vec<String>),
}

impl AdmissionProblem {
    fn at(&self, place: Place) -> ConfigError {
        ConfigError::at(place, self, self.help())
    }

    pub fn help(&self) -> String {
        let choose = |known: &[String]| match known {
            [] => "remove it from `subresources`".to_owned(),
            known => format!("choose from: {}", known.join(", ")),
        };
        match self {
            Self::Resource(error) => error.help(),
            Self::OfProject(_) => {
                "write `webhooks` into its [[kind]] table, and remove this table".into()
            }
            Self::NotCalled(_) | Self::NotStored(_) => {
                "choose another kind, such as \"v1/Pod\"".into()
            }
            Self::NoType(_) => {
                "add its CRD with `cargo operator add-crd FILE --types-only`, and write `webhooks` into its [[kind]] table".into()
            }
            Self::NotServed(_) => {
                "add a version that its CRD serves to `versions`, or set `served: true`".into()
            }
            Self::Subresource(.., known) => choose(known),
            Self::OtherType(.., known) => choose(known),
        }
    }
}

impl Admission {
    /// `src/webhooks/<module>.rs`.
    pub fn path(&self) -> String {
        format!("src/webhooks/{}.rs", self.module)
    }

    /// The name in reports: `KIND.GROUP`, or the kind as in its table.
    pub fn subject(&self) -> String {
        match self.kind {
            Some(_) => format!("{}.{}", self.resource.kind, self.resource.group),
            None => self.resource.to_string(),
        }
    }

    /// The struct of its webhooks, as it is generated.
    pub fn struct_name(&self) -> String {
        format!("{}Webhook", self.module.to_upper_camel_case())
    }

    /// Whether the kind is built into Kubernetes.
    pub fn is_builtin(&self) -> bool {
        self.kind.is_none()
    }

    /// The path under which the API server calls a webhook: `/validate-cache-example-com-memcached`, or `/mutate--pod`. It has no version, so
    /// that the operators of two releases answer it, even if their storage versions differ.
    pub fn url_path(&self, webhook: WebhookType) -> String {
        let ResourceType { group, kind, .. } = &self.resource;
        let (webhook, group, kind) = (webhook.name(), group.replace('.', "-"), kind.to_lowercase());
        format!("/{webhook}-{group}-{kind}")
    }

    /// The path of the kind's type in the operator's crate.
    pub fn type_path(&self) -> String {
        type_path(self.api_module.as_deref(), &self.resource)
    }

    /// The webhook of a type.
    pub fn webhook(&self, webhook: WebhookType) -> Option<&Webhook> {
        self.webhooks.iter().find(|it| it.webhook == webhook)
    }
}

/// The kinds that have webhooks: those with a `[[kind]]`, in their order, then those with a `[[webhook]]`.
pub(super) fn all(
    config: &Config,
    kinds: &[DefinedKind<'_>],
    crds: &[Api],
    errors: &mut Vec<ConfigError>,
) -> Vec<Admission> {
    let mut admissions = vec![];
    for kind in kinds.iter().filter(|it| !it.table.webhooks.is_empty()) {
        let place = kind.id.place();
        match admitted_version(kind.table, kind.crd) {
            Some(version) => {
                let admission = of_kind(kind, version);
                check_subresources(&admission, &place, Some(version), errors);
                admissions.push(admission);
            }
            None => {
                let problem = AdmissionProblem::NotServed(kind.table.full_name());
                errors.push(problem.at(place.then("versions")));
            }
        }
    }
    for (index, table) in config.webhooks.iter().enumerate() {
        let place = Place::of("webhook").then(index);
        match resolve_admitted(&table.kind, &config.kinds, crds) {
            Ok(resource) => {
                let admission = Admission {
                    module: table.module_name(),
                    resource,
                    kind: None,
                    api_module: None,
                    webhooks: table.webhooks.clone(),
                };
                check_subresources(&admission, &place, None, errors);
                admissions.push(admission);
            }
            Err(problem) => errors.push(problem.at(place.then("kind"))),
        }
    }
    admissions
}

/// Finds the kind of a `[[webhook]]`: a built-in one with a type of k8s-openapi.
pub fn resolve_admitted(
    name: &str,
    kinds: &[Kind],
    crds: &[Api],
) -> Result<ResourceType, AdmissionProblem> {
    let (group, kind) = match name.split('/').collect::<Vec<_>>().as_slice() {
        [_, kind] => ("", kind.to_owned()),
        [group, _, kind] => (*group, kind.to_owned()),
        _ => ("", ""),
    };
    if is_unwatched(group, kind) {
        return Err(AdmissionProblem::NotStored(name.into()));
    }
    if kinds
        .iter()
        .any(|own| own.group == group && own.kind == kind)
    {
        return Err(AdmissionProblem::OfProject(name.into()));
    }
    let resource = match ResourceType::named(name, crds) {
        Err(ResourceError::Plural(_)) => Err(AdmissionProblem::NoType(name.into())),
        Err(ResourceError::Near(name, near) | ResourceError::Unknown(name, near)) => {
            Err(ResourceError::Meant(name, near).into())
        }
        resource => resource.map_err(AdmissionProblem::from),
    }?;
    // https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
    if resource.group == "admissionregistration.k8s.io" {
        return Err(AdmissionProblem::NotCalled(name.into()));
    }
    match resource.k8s_openapi_path() {
        Some(_) => Ok(resource),
        None if resource.is_builtin() => Err(ResourceError::Newer(name.into()).into()),
        None => Err(AdmissionProblem::NoType(name.into())),
    }
}

fn of_kind(kind: &DefinedKind<'_>, version: &Version) -> Admission {
    Admission {
        module: kind.table.module_name(),
        resource: ResourceType::of(kind.crd, &version.name),
        kind: Some(kind.id),
        api_module: Some(api_module(kind.table, &version.name)),
        webhooks: kind.table.webhooks.clone(),
    }
}

/// The version in which webhooks get the objects of a kind: the storage version, or else the first of its `versions` that is served. The
/// API server converts requests in other versions.
fn admitted_version<'a>(kind: &Kind, api: &'a Api) -> Option<&'a Version> {
    let is_usable = |version: &&Version| version.served && kind.versions.contains(&version.name);
    Some(api.storage_version()).filter(is_usable).or_else(|| {
        kind.versions
            .iter()
            .filter_map(|name| api.version(name))
            .find(is_usable)
    })
}

/// Checks that the webhooks' subresources exist, and have objects of the kind itself.
fn check_subresources(
    admission: &Admission,
    table: &Place,
    version: Option<&Version>,
    errors: &mut Vec<ConfigError>,
) {
    let resource = &admission.resource;
    for (number, webhook) in admission.webhooks.iter().enumerate() {
        for (item, name) in webhook.subresources.iter().enumerate() {
            let (kind, name) = (resource.name(), name.clone());
            let problem = match subresource(resource, version, &name) {
                Subresource::OfKind => continue,
                Subresource::OtherType(known) => AdmissionProblem::OtherType(kind, name, known),
                Subresource::Unknown(known) => AdmissionProblem::Subresource(kind, name, known),
            };
            let webhook = table.clone().then("webhooks").then(number);
            errors.push(problem.at(webhook.then("subresources").then(item)));
        }
    }
}
