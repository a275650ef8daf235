//! `cargo operator uninstall`: removes an installed operator from a cluster. The operator is removed last, because only it can remove its
//! finalizers and convert its objects.
//!
//! In: an [`Installation`], which is what the manifests of the project install, and the [`Choice`] of the user. Out: a [`Survey`] of what
//! exists, then [`Step`]s as they happen. Nothing is deleted that the survey did not attribute to the operator. All requests are made by
//! kubectl. [`StaleObjects`] is the list of what the manifests no longer contain, for those who delete it themselves.

#![allow(
    clippy::disallowed_methods,
    reason = "kubectl is a program, and deletions end within a time"
)]

mod cluster;
mod error;
mod namespace;
mod object;
mod remove;
mod stale;
mod survey;

use std::time::Duration;

use serde_json::Value;

use crate::operator::ResourceType;

pub use cluster::Cluster;
pub use error::UninstallError;
pub use object::{Claim, Object, Package};
pub use remove::{Ending, Step, remove};
pub use stale::{STALE, StaleObjects};
pub use survey::{Stored, Survey, SurveyedKind, stale, survey};

/// An installed operator: the objects of its manifests, and the kinds that it reconciles.
pub struct Installation {
    /// The name of the operator.
    pub name: String,
    /// The namespace in which it is installed.
    pub namespace: String,
    /// The objects of the manifests, without CRDs and samples.
    pub objects: Vec<Value>,
    pub kinds: Vec<InstalledKind>,
}

/// A kind that the operator defines or reconciles.
#[derive(Clone, Debug)]
pub struct InstalledKind {
    pub resource: ResourceType,
    /// The name of its CRD, if the project installs it.
    pub crd: Option<String>,
    /// The finalizers that the operator puts on its objects.
    pub finalizers: Vec<String>,
}

/// The decisions of the user.
pub struct Choice {
    /// Whether to delete only the objects that the manifests no longer contain.
    pub stale: bool,
    /// The names of the CRDs to delete, with all their objects.
    pub crds: Vec<String>,
    /// Whether to delete the namespace, if nothing else is in it.
    pub namespace: bool,
    /// Whether objects may stay that have finalizers of the operator.
    pub abandons_finalizers: bool,
    /// How long to wait in total.
    pub timeout: Duration,
}
