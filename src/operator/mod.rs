//! The operator that `operator.toml` and the CRDs describe: kinds, controllers and webhooks by the names of the cluster. No I/O.
//!
//! [`resolve`] creates it from both, and reports all names that do not fit together. No later stage can fail because of a name in
//! `operator.toml`.

mod admission;
mod builtin;
mod controller;
#[cfg(test)]
pub mod example;
mod misnamed;
mod resolve;
mod resource;
mod subresource;
mod suggest;
mod versions;

pub use admission::{Admission, AdmissionProblem, resolve_admitted};
pub use builtin::is_cluster_scoped;
pub use controller::{Child, Controller, Related, WATCHED};
pub use misnamed::{Misnamed, misnamed};
pub use resolve::resolve;
pub use resource::{ResourceError, ResourceType, builtin_kinds, watched};
pub use versions::{Conversions, Spoke};

use std::{borrow::Cow, ops::Index};

use crate::{
    config::{Certificates, Config, Kind, Place, Source},
    crd::Api,
    rust::version_module,
};

/// An operator. All objects that run it have its name.
#[derive(Clone, Debug)]
pub struct Operator<'a> {
    /// The settings. A package changes some of them, such as namespaces that its users choose.
    pub config: Cow<'a, Config>,
    /// The namespace that it runs in.
    pub namespace: String,
    /// Who chooses the namespaces for which the API server calls its webhooks.
    pub selection: NamespaceSelection,
    /// The kinds that the project defines.
    pub kinds: Vec<DefinedKind<'a>>,
    /// The controllers of the kinds, in the order of the kinds, then the controllers with a name.
    pub controllers: Vec<Controller>,
    /// The kinds that have admission webhooks: those that the project defines, in their order, then the others.
    pub admissions: Vec<Admission>,
}

/// Who chooses the namespaces for which the API server calls the webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceSelection {
    /// The manifests, in the webhook configurations.
    Manifests,
    /// The package of the operator when it is installed: a value of the Helm chart, or OLM.
    Package,
}

/// A kind that the project defines.
#[derive(Clone, Debug)]
pub struct DefinedKind<'a> {
    pub id: KindId,
    pub table: &'a Kind,
    pub crd: &'a Api,
    /// The conversions between its versions; `None` if the operator converts nothing.
    pub conversions: Option<Conversions<'a>>,
}

/// The position of a kind in [`Operator::kinds`], which is the position of its table, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindId(pub usize);

/// The subject of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    Operator,
    Kind(KindId),
}

impl KindId {
    /// The table of the kind in `operator.toml`.
    pub fn place(self) -> Place {
        Place::of("kind").then(self.0)
    }
}

impl<'a> Index<KindId> for Operator<'a> {
    type Output = DefinedKind<'a>;

    fn index(&self, id: KindId) -> &Self::Output {
        &self.kinds[id.0]
    }
}

impl Operator<'_> {
    /// The kinds whose CRDs its manifests install.
    pub fn own_kinds(&self) -> impl Iterator<Item = &DefinedKind<'_>> {
        self.kinds
            .iter()
            .filter(|kind| kind.table.source() == Source::Own)
    }

    /// The CRDs that it applies itself.
    pub fn ensured_crds(&self) -> impl Iterator<Item = &Api> {
        self.own_kinds()
            .filter(|_| self.config.ensure_crds)
            .map(|kind| kind.crd)
    }

    /// Its own CRDs whose stored objects it migrates: those that have more than one version.
    pub fn migrated_crds(&self) -> impl Iterator<Item = &Api> {
        self.own_kinds()
            .map(|kind| kind.crd)
            .filter(|crd| self.config.migrate_storage && crd.versions.len() > 1)
    }

    /// The kinds between whose versions it converts.
    pub fn converted(&self) -> impl Iterator<Item = &DefinedKind<'_>> {
        self.kinds.iter().filter(|kind| kind.conversions.is_some())
    }

    /// Whether it serves webhooks.
    pub fn has_webhooks(&self) -> bool {
        !self.admissions.is_empty() || self.converted().next().is_some()
    }

    /// Whether it serves webhooks whose certificates are of this origin.
    pub fn has_certificates(&self, origin: Certificates) -> bool {
        self.has_webhooks() && self.config.certificates == origin
    }

    /// The kind of a Rust type, by the path of the type: one of `src/api/`, or a built-in kind.
    pub fn kind_of_type(&self, path: &[String]) -> Option<ResourceType> {
        if let [_, api, module, version, _] = path
            && api == "api"
            && path[0] != "k8s_openapi"
        {
            let kind = self
                .kinds
                .iter()
                .find(|kind| kind.table.module_name() == *module)?;
            let mut versions = kind.crd.versions.iter();
            let version = versions.find(|it| version_module(&it.name) == *version)?;
            return Some(ResourceType::of(kind.crd, &version.name));
        }
        let path = path.join("::");
        builtin_kinds()
            .filter_map(|name| ResourceType::named(&name, &[]).ok())
            .find(|resource| resource.k8s_openapi_path().as_ref() == Some(&path))
    }
}
