//! Admission webhooks: the traits that users implement, and their typed requests and answers.

mod endpoint;
mod request;
mod review;
mod verdict;
mod version;

use std::future::Future;

use kube::Resource;
use serde::{Serialize, de::DeserializeOwned};

pub(super) use self::{
    endpoint::{Endpoint, Mutating, Validating},
    review::{Answer, Request},
    version::answer,
};
pub use self::{
    request::{AdmissionRequest, Operation},
    verdict::Verdict,
};
use crate::Result;

/// Decides whether requests may proceed.
///
/// While the operator is down, the `failurePolicy` of the webhook decides. An error or a panic refuses the request.
/// It is not called for an update of an object that is being deleted: the update is allowed, so that finalizers can be removed.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use operator_runtime::{Result, webhook::{AdmissionRequest, Validate, Verdict}};
///
/// struct Owners;
///
/// impl Validate for Owners {
///     type Resource = ConfigMap;
///
///     async fn validate(&self, request: &AdmissionRequest<ConfigMap>) -> Result<Verdict> {
///         let Some(map) = &request.object else {
///             return Ok(Verdict::allow()); // a deletion
///         };
///         let has_owner = map.metadata.labels.iter().flatten().any(|(name, _)| name == "owner");
///         Ok(match has_owner {
///             true => Verdict::allow(),
///             false => Verdict::allow().required("metadata.labels[owner]", ""),
///         })
///     }
/// }
///
/// # async fn example() {
/// let verdict = Owners.validate(&AdmissionRequest::create(ConfigMap::default())).await;
/// assert!(!verdict.unwrap().is_allowed());
/// # }
/// ```
pub trait Validate: Send + Sync + 'static {
    /// The kind of the objects: for a subresource with a kind of its own, that kind, for example `Eviction`.
    type Resource: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static;

    /// Decides on a request.
    fn validate(
        &self,
        request: &AdmissionRequest<Self::Resource>,
    ) -> impl Future<Output = Result<Verdict>> + Send;
}

/// Changes objects before the API server validates and stores them.
///
/// The webhook may be called more than once for a request: applied to its own result, it should change nothing.
/// It is not called for an update of an object that is being deleted: the update is allowed, so that finalizers can be removed.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use operator_runtime::{Result, webhook::{AdmissionRequest, Mutate, Verdict}};
///
/// struct Labels;
///
/// impl Mutate for Labels {
///     type Resource = Pod;
///
///     async fn mutate(&self, pod: &mut Pod, request: &AdmissionRequest<Pod>) -> Result<Verdict> {
///         let labels = pod.metadata.labels.get_or_insert_default();
///         labels.entry("creator".into()).or_insert_with(|| request.user.uid.clone().unwrap_or_default());
///         Ok(Verdict::allow())
///     }
/// }
/// ```
pub trait Mutate: Send + Sync + 'static {
    /// The kind of the objects: for a subresource with a kind of its own, that kind, for example `Eviction`.
    type Resource: Resource<DynamicType = ()> + DeserializeOwned + Serialize + Send + Sync + 'static;

    /// Changes `object` in place. The API server gets a JSON patch of the difference only, so that fields and values that the type does not
    /// have are kept: an item of a list that is kept, moved or changed keeps its unknown fields too. Nothing is changed if the verdict
    /// refuses the request.
    ///
    /// On a deletion, `object` is the object before it, and must not be changed.
    fn mutate(
        &self,
        object: &mut Self::Resource,
        request: &AdmissionRequest<Self::Resource>,
    ) -> impl Future<Output = Result<Verdict>> + Send;
}
