//! The operator that `operator.toml` and the CRDs describe: kinds, controllers and webhooks by the names of the cluster. No I/O.

mod admission;
mod builtin;
mod controller;
mod misnamed;
mod resource;
mod similar;
mod subresource;
mod versions;

pub use admission::{Admission, AdmissionError, AdmissionProblem, url_path};
pub use builtin::is_cluster_scoped;
pub use controller::{Controller, Table};
pub use misnamed::{Misnamed, misnamed};
pub use resource::{ResourceError, ResourceType, builtin_kinds, resolve, resolve_watched};
pub use versions::{ConversionError, Conversions, Spoke, conversions};

use std::collections::BTreeSet;

use crate::{
    config::{Config, Kind, Source},
    crd::Api,
};

/// A project in memory: its state, and the spec of each kind of the config, in the same order.
#[derive(Clone, Debug)]
pub struct Project {
    pub config: Config,
    pub apis: Vec<Api>,
    /// The generated files that the user deleted. No other generated file may name them.
    pub removed: BTreeSet<String>,
    /// The generated files that the user took over.
    pub adopted: BTreeSet<String>,
}

impl Project {
    /// The kinds with their specs.
    pub fn kinds(&self) -> impl Iterator<Item = (&Kind, &Api)> {
        self.config.kinds.iter().zip(&self.apis)
    }

    /// The CRDs that the operator applies itself.
    pub fn ensured_crds(&self) -> impl Iterator<Item = &Api> {
        self.own_crds().filter(|_| self.config.ensure_crds)
    }

    /// The operator's own CRDs whose stored objects it migrates: those that have more than one version.
    pub fn migrated_crds(&self) -> impl Iterator<Item = &Api> {
        self.own_crds()
            .filter(|api| self.config.migrate_storage && api.versions.len() > 1)
    }

    /// The kinds of [`Self::migrated_crds`], each with the name of its CRD.
    pub fn migrated_kinds(&self) -> Vec<(String, ResourceType)> {
        let version = |api: &Api| {
            api.versions
                .first()
                .map_or(String::new(), |it| it.name.clone())
        };
        self.migrated_crds()
            .map(|api| (api.name(), ResourceType::of(api, &version(api))))
            .collect()
    }

    fn own_crds(&self) -> impl Iterator<Item = &Api> {
        self.kinds()
            .filter(|(kind, _)| kind.source() == Source::Own)
            .map(|(_, api)| api)
    }
}
