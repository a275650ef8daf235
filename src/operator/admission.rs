//! The kinds of a project that have admission webhooks, whichever table of `operator.toml` lists them.

use heck::ToUpperCamelCase;

use super::{
    Project,
    builtin::is_unwatched,
    controller::{api_module, type_path},
    resource::{ResourceError, ResourceType, resolve},
    subresource::{Subresource, subresource},
};
use crate::config::Kind;
use crate::config::Place;
use crate::config::{Certificates, Webhook, WebhookType};
use crate::crd::{Api, Version};
use crate::diagnostic::Explain;

/// A kind with its admission webhooks.
#[derive(Clone, Debug)]
pub struct Admission<'a> {
    /// The module of its code.
    pub module: String,
    /// The kind, in the version in which the webhooks get its objects.
    pub resource: ResourceType,
    /// Where the project defines that kind.
    pub definition: Option<(&'a Kind, &'a Api)>,
    pub webhooks: &'a [Webhook],
}

/// Why the webhooks of a kind cannot be generated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct AdmissionError {
    pub place: Place,
    pub problem: Box<AdmissionProblem>,
}

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

impl AdmissionError {
    pub fn help(&self) -> String {
        self.problem.help()
    }
}

impl AdmissionProblem {
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

impl Admission<'_> {
    /// `src/webhooks/<module>.rs`.
    pub fn path(&self) -> String {
        format!("src/webhooks/{}.rs", self.module)
    }

    /// What reports call it: `KIND.GROUP`, or the kind as in its table.
    pub fn subject(&self) -> String {
        match self.definition {
            Some((kind, _)) => kind.full_name(),
            None => self.resource.to_string(),
        }
    }

    /// The struct of its webhooks, as it is generated.
    pub fn struct_name(&self) -> String {
        format!("{}Webhook", self.module.to_upper_camel_case())
    }

    /// Whether the kind is built into Kubernetes.
    pub fn is_builtin(&self) -> bool {
        self.definition.is_none()
    }

    /// The path under which the API server calls a webhook, as kubebuilder forms it: `/mutate--v1-pod`.
    pub fn url_path(&self, webhook: WebhookType) -> String {
        url_path(&self.resource, webhook)
    }

    /// The path of the kind's type in the operator's crate.
    pub fn type_path(&self) -> String {
        type_path(self.definition, &self.resource)
    }

    /// The module of the kind's types in `src/api/`, if the project defines the kind.
    pub fn api_module(&self) -> Option<String> {
        api_module(self.definition, &self.resource)
    }

    /// The webhook of a type.
    pub fn webhook(&self, webhook: WebhookType) -> Option<&Webhook> {
        self.webhooks.iter().find(|it| it.webhook == webhook)
    }
}

/// The path under which the API server calls the webhook of a kind.
pub fn url_path(resource: &ResourceType, webhook: WebhookType) -> String {
    let ResourceType {
        group,
        version,
        kind,
        ..
    } = resource;
    let (webhook, group, kind) = (webhook.name(), group.replace('.', "-"), kind.to_lowercase());
    format!("/{webhook}-{group}-{version}-{kind}")
}

impl Project {
    /// Whether the operator serves webhooks.
    pub fn has_webhooks(&self) -> bool {
        let serves =
            |(kind, api): (&Kind, &Api)| !kind.webhooks.is_empty() || kind.is_converted(api);
        !self.config.webhooks.is_empty() || self.kinds().any(serves)
    }

    /// Whether the certificates of its webhooks are its own.
    pub fn manages_certificates(&self) -> bool {
        self.has_webhooks() && self.config.certificates == Certificates::Managed
    }

    /// Whether something else issues the certificates of its webhooks.
    pub fn mounts_certificates(&self) -> bool {
        self.has_webhooks() && self.config.certificates == Certificates::CertManager
    }

    /// The kinds that have webhooks: those with a `[[kind]]`, in their order, then those with a `[[webhook]]`.
    pub fn admissions(&self) -> Result<Vec<Admission<'_>>, AdmissionError> {
        let of_kinds = self
            .kinds()
            .enumerate()
            .filter(|(_, (kind, _))| !kind.webhooks.is_empty())
            .map(|(index, (kind, api))| of_kind(index, kind, api));
        let tables = self.config.webhooks.iter().enumerate();
        let others = tables.map(|(index, table)| {
            let place = |problem: AdmissionProblem| AdmissionError {
                place: Place::of("webhook").then(index).then("kind"),
                problem: problem.into(),
            };
            let resource = self.resolve_admitted(&table.kind).map_err(place)?;
            let admission = Admission {
                module: table.module_name(),
                resource,
                definition: None,
                webhooks: &table.webhooks,
            };
            check_subresources(&admission, &Place::of("webhook").then(index), None)?;
            Ok(admission)
        });
        of_kinds.chain(others).collect()
    }

    /// Finds the kind of a `[[webhook]]`: a built-in one with a type of k8s-openapi.
    pub fn resolve_admitted(&self, name: &str) -> Result<ResourceType, AdmissionProblem> {
        let (group, kind) = match name.split('/').collect::<Vec<_>>().as_slice() {
            [_, kind] => ("", kind.to_owned()),
            [group, _, kind] => (*group, kind.to_owned()),
            _ => ("", ""),
        };
        if is_unwatched(group, kind) {
            return Err(AdmissionProblem::NotStored(name.into()));
        }
        let mut kinds = self.config.kinds.iter();
        if kinds.any(|own| own.group == group && own.kind == kind) {
            return Err(AdmissionProblem::OfProject(name.into()));
        }
        let resource = match resolve(name, &self.apis) {
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
}

fn of_kind<'a>(
    index: usize,
    kind: &'a Kind,
    api: &'a Api,
) -> Result<Admission<'a>, AdmissionError> {
    let version = admitted_version(kind, api).ok_or_else(|| AdmissionError {
        place: Place::of("kind").then(index).then("versions"),
        problem: AdmissionProblem::NotServed(kind.full_name()).into(),
    })?;
    let admission = Admission {
        module: kind.module_name(),
        resource: ResourceType::of(api, &version.name),
        definition: Some((kind, api)),
        webhooks: &kind.webhooks,
    };
    check_subresources(&admission, &Place::of("kind").then(index), Some(version))?;
    Ok(admission)
}

/// The version in which webhooks get the objects of a kind: the storage version, or else the first of its `versions` that is served. The API
/// server converts requests in other versions.
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
    admission: &Admission<'_>,
    table: &Place,
    version: Option<&Version>,
) -> Result<(), AdmissionError> {
    let resource = &admission.resource;
    for (number, webhook) in admission.webhooks.iter().enumerate() {
        for (item, name) in webhook.subresources.iter().enumerate() {
            let (kind, name) = (resource.name(), name.clone());
            let problem = match subresource(resource, version, &name) {
                Subresource::OfKind => continue,
                Subresource::OtherType(known) => AdmissionProblem::OtherType(kind, name, known),
                Subresource::Unknown(known) => AdmissionProblem::Subresource(kind, name, known),
            };
            let entry = table.clone().then("webhooks").then(number);
            let place = entry.then("subresources").then(item);
            let problem = problem.into();
            return Err(AdmissionError { place, problem });
        }
    }
    Ok(())
}
