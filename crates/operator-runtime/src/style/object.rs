//! The kinds of objects that controllers reconcile.

use std::fmt::Debug;

use kube::Resource;
use serde::{Serialize, de::DeserializeOwned};

/// A kind of objects, namespaced or cluster-scoped: a derived `CustomResource`, a struct that implements [`Resource`], a type of
/// `k8s-openapi`, or [`PartialObjectMeta<K>`](kube::core::PartialObjectMeta). Every type with these traits implements `Object`.
pub trait Object:
    Resource<DynamicType = (), Scope: 'static>
    + Clone
    + Debug
    + DeserializeOwned
    + Serialize
    + Send
    + Sync
    + 'static
{
}

impl<K> Object for K where
    K: Resource<DynamicType = (), Scope: 'static>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize
        + Send
        + Sync
        + 'static
{
}
