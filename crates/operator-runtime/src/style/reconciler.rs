//! The trait that users implement for a reconciler.

use std::{future::Future, sync::Arc};

use kube::runtime::reflector::{ObjectRef, Store};

use super::Object;

use crate::{Action, ControllerOptions, Result, context::Context, engine::related::Changed};

/// A change of the cache of a controller.
#[doc(hidden)]
pub struct Cached<'a, K: Object> {
    pub(crate) what: CacheChange<'a, K>,
    pub(crate) store: &'a Store<K>,
    pub(crate) context: &'a dyn Fn(&K) -> Context,
}

pub(crate) enum CacheChange<'a, K: Object> {
    /// The first list is complete, with these objects.
    Listed(&'a [ObjectRef<K>]),
    /// Objects were created or changed.
    Changed(&'a [ObjectRef<K>]),
    /// An object was deleted, or cannot be decoded any more. If it was deleted, its last state, if that is known.
    Removed(&'a ObjectRef<K>, Option<&'a Arc<K>>),
}

/// Makes the state of the cluster match the objects of one kind.
pub trait Reconciler: Send + Sync + 'static {
    /// The reconciled kind. With [`PartialObjectMeta<K>`](kube::core::PartialObjectMeta), the controller gets and caches only the metadata.
    type Resource: Object;

    /// The [finalizer](https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/) that keeps an object until
    /// [`cleanup`](Self::cleanup) has succeeded; `None` if there is nothing to clean up.
    ///
    /// By convention it is `<group of the kind>/<name of the operator>`, and `<name of the operator>/<name of the controller>` for a
    /// [named](crate::Controllers::add_named) controller. Two controllers of one kind cannot have the same finalizer. If an earlier version
    /// of the operator used such a name and the constant no longer has it, the runtime removes that finalizer from the objects, so that
    /// they can be deleted without the old cleanup. You must remove a former finalizer with any other name yourself.
    const FINALIZER: Option<&'static str> = None;

    /// Whether an object needs the [`FINALIZER`](Self::FINALIZER) now. From one that does not, it is removed without a cleanup.
    #[doc(hidden)]
    fn needs_finalizer(&self, _object: &Self::Resource) -> bool {
        true
    }

    /// Makes the state of the cluster match `object`.
    ///
    /// It is called after the start of the operator; after each change of the object, of a child, and of a watched object for which
    /// [`parents`](Self::parents) returns it; after an error, with an exponential backoff; and after the time of [`Action::requeue`]. It is
    /// not called for an object that is being deleted, and never concurrently for one object.
    fn reconcile(
        &self,
        object: Arc<Self::Resource>,
        cx: &Context,
    ) -> impl Future<Output = Result<Action>> + Send;

    /// Deletes everything that the garbage collector cannot delete, before the object is deleted. It is called only if there is a
    /// [`FINALIZER`](Self::FINALIZER), and may be called again after it has succeeded.
    ///
    /// The finalizer is kept as long as this returns an error. A cleanup that waits for something returns
    /// [`Error::temporary`](crate::Error::temporary) with the time until the next attempt.
    fn cleanup(
        &self,
        _object: Arc<Self::Resource>,
        _cx: &Context,
    ) -> impl Future<Output = Result<()>> + Send {
        async { Ok(()) }
    }

    /// Called after an object was deleted, with its last known state. Calls are best-effort: a deletion while the operator is not running
    /// is missed. Put work that must happen into [`cleanup`](Self::cleanup), with a [`FINALIZER`](Self::FINALIZER).
    ///
    /// It is also called for an object that no longer matches the selectors of the [options](Self::options), and when a list after a broken
    /// watch lacks an object. It is called at most once for each object: after the object's last reconciliation, and before the first
    /// reconciliation of a new object with the same name. While it runs, it occupies one of the [workers](ControllerOptions::workers). An
    /// object that could not be decoded when it was deleted is passed in its last state that could be decoded; if there is none, this is
    /// not called. An error is logged.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use operator_runtime::{Action, Context, Reconciler, Result};
    /// # struct Printer;
    /// # impl Reconciler for Printer {
    /// #     type Resource = Pod;
    /// #     async fn reconcile(&self, _: Arc<Pod>, _: &Context) -> Result<Action> { Ok(Action::await_change()) }
    /// async fn deleted(&self, pod: Arc<Pod>, _cx: &Context) -> Result<()> {
    ///     println!("{} is gone", pod.metadata.name.as_deref().unwrap_or_default());
    ///     Ok(())
    /// }
    /// # }
    /// ```
    fn deleted(
        &self,
        _object: Arc<Self::Resource>,
        _cx: &Context,
    ) -> impl Future<Output = Result<()>> + Send {
        async { Ok(()) }
    }

    /// Called once, after the last reconciliation of a controller that is stopped.
    #[doc(hidden)]
    fn stopped(&self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Called for each change of the cache, before the changed objects are reconciled.
    #[doc(hidden)]
    fn cached(&self, _change: Cached<'_, Self::Resource>) {}

    /// The options of the controller. Called each time before the controller starts.
    ///
    /// ```
    /// # use std::{sync::Arc, time::Duration};
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use operator_runtime::{Action, Context, ControllerOptions, Reconciler, Result};
    /// # struct Printer;
    /// # impl Reconciler for Printer {
    /// #     type Resource = Pod;
    /// #     async fn reconcile(&self, _: Arc<Pod>, _: &Context) -> Result<Action> { Ok(Action::await_change()) }
    /// fn options(&self) -> ControllerOptions<Pod> {
    ///     ControllerOptions::default().labels("app=web").resync(Duration::from_secs(45))
    /// }
    /// # }
    /// ```
    fn options(&self) -> ControllerOptions<Self::Resource> {
        ControllerOptions::default()
    }

    /// Returns the objects to reconcile because an object of a watched kind changed. If the kind is also owned, that object may be a child,
    /// whose owner is reconciled anyway.
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
