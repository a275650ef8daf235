//! The desired state of a project (`operator.toml` and its specs), and the record of its generated files (`operator.lock`). Text in, values
//! out. No I/O.

mod admission;
mod builtin;
mod check;
mod controller;
mod deployment;
mod image;
mod lock;
mod marker;
mod misnamed;
mod monitoring;
mod owned;
mod read;
mod renamed;
mod resource;
mod rule;
mod runtime;
mod selector;
mod similar;
mod state;
mod state_file;
mod subresource;
mod versions;
mod webhook;
mod webhook_check;
mod workspace;

pub use admission::{Admission, AdmissionError, AdmissionProblem, url_path};
pub use builtin::is_cluster_scoped;
pub use check::{StateError, is_package_name};
pub use controller::{Controller, Table};
pub use deployment::{DeploymentSettings, DisruptionBudget, Share, Variable};
pub use image::{IMAGE_HELP, Image, is_image, registry};
pub use lock::{Entry, Lock, LockError, Owner, is_inside};
pub use marker::is_marked;
pub use misnamed::{Misnamed, misnamed};
pub use monitoring::Monitoring;
pub use owned::{Owned, OwnedCache, Update};
pub use read::{Read, ReadVerb};
pub use renamed::{Paths, Renamed};
pub use resource::{ResourceError, ResourceType, builtin_kinds, resolve, resolve_watched};
pub use rule::Rule;
pub use runtime::{Runtime, installed_from};
pub use selector::{Requirement, Selector, SelectorOperator};
pub use state::{
    FORMAT, Kind, NamedController, Namespaces, Packaging, Source, State, WatchedCache,
};
pub use state_file::StateFile;
pub use versions::{ConversionError, Conversions, Spoke, conversions};
pub use webhook::{
    Certificates, FailurePolicy, MatchPolicy, Operation, ReinvocationPolicy, Webhook, WebhookTable,
    WebhookType,
};
pub use webhook_check::{NOT_BEING_DELETED, NOT_OF_THE_OPERATOR, WebhookPlace};
pub use workspace::{inherited, is_workspace_of};

use std::collections::BTreeSet;

use crate::crd::Api;

/// A project in memory: its state, and the spec of each kind of the state, in the same order.
#[derive(Clone, Debug)]
pub struct Project {
    pub state: State,
    pub apis: Vec<Api>,
    /// The generated files that the user deleted. No other generated file may name them.
    pub removed: BTreeSet<String>,
    /// The generated files that the user took over.
    pub adopted: BTreeSet<String>,
}

impl Project {
    /// The kinds with their specs.
    pub fn kinds(&self) -> impl Iterator<Item = (&Kind, &Api)> {
        self.state.kinds.iter().zip(&self.apis)
    }
}
