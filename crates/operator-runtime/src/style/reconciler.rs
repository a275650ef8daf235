//! The trait that an operator's author implements.

use std::{fmt::Debug, future::Future, sync::Arc};

use kube::{
    Resource,
    runtime::{
        controller::Action,
        reflector::{ObjectRef, Store},
    },
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{Result, context::Context, engine::related::Changed};

/// Brings the cluster to the state that an object of one kind asks for.
pub trait Reconciler: Send + Sync + 'static {
    /// The kind, namespaced or cluster-scoped: a derived `CustomResource`, a plain struct that implements
    /// [`Resource`], or a type of `k8s-openapi`.
    type Resource: Resource<DynamicType = (), Scope: 'static>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize
        + Send
        + Sync
        + 'static;

    /// The [finalizer](https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/) that keeps
    /// an object until [`cleanup`](Self::cleanup) is done; `None` if there is nothing to clean up.
    ///
    /// By convention it is `<group of the kind>/<name of the operator>`. A finalizer of that name is removed from
    /// objects when it is not this one any more, so that a version of the operator without cleanup does not leave
    /// them undeletable. One of any other name is yours to remove.
    const FINALIZER: Option<&'static str> = None;

    /// Makes the world match `object`.
    ///
    /// It is called after the start; after every change to the object, to what it owns, and to a watched object for which
    /// [`parents`](Self::parents) gives it; after an error, with a growing delay; and after the time of [`Action::requeue`]. It is not
    /// called on an object that is being deleted, and never twice at once for one object.
    fn reconcile(
        &self,
        object: Arc<Self::Resource>,
        cx: &Context,
    ) -> impl Future<Output = Result<Action>> + Send;

    /// Undoes what the garbage collector cannot, before the object goes. It may be called again after it
    /// succeeded, and is called only if there is a [`FINALIZER`](Self::FINALIZER).
    ///
    /// The finalizer stays as long as this returns an error. A cleanup that waits for something returns
    /// [`Error::temporary`](crate::Error::temporary) with the time until it looks again.
    fn cleanup(
        &self,
        _object: Arc<Self::Resource>,
        _cx: &Context,
    ) -> impl Future<Output = Result<()>> + Send {
        async { Ok(()) }
    }

    /// The objects to reconcile because an object of a kind in `watches` changed. If the kind is in `owns` too, that may be a child, whose
    /// owner is reconciled anyway.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use k8s_openapi::api::apps::v1::Deployment;
    /// # use operator_runtime::{Action, Changed, Context, ObjectRef, Reconciler, Result, Store};
    /// # struct Labels;
    /// # impl Reconciler for Labels {
    /// #     type Resource = Deployment;
    /// #     async fn reconcile(&self, _: Arc<Deployment>, _: &Context) -> Result<Action> { Ok(Action::await_change()) }
    /// /// All Deployments in the namespace of the object.
    /// fn parents(&self, changed: &Changed, cache: &Store<Deployment>) -> Vec<ObjectRef<Deployment>> {
    ///     let objects = cache.state();
    ///     let near = objects.iter().filter(|it| it.metadata.namespace == changed.metadata.namespace);
    ///     near.map(|it| ObjectRef::from_obj(&**it)).collect()
    /// }
    /// # }
    /// ```
    fn parents(
        &self,
        _changed: &Changed,
        _cache: &Store<Self::Resource>,
    ) -> Vec<ObjectRef<Self::Resource>> {
        vec![]
    }
}
