//! The style `declarative`: a function that gets an object and its children, and returns the children and the status that the object should
//! have. The runtime makes the requests.

mod desired;
mod engine;
mod observed;
mod related;

use std::{future::Future, sync::Arc};

use self::engine::Engine;
pub use self::{
    desired::{Applied, Desired, Finalized, Status},
    observed::Observed,
    related::RelatedObject,
};
use super::Object;
use crate::{ControllerOptions, Controllers, Error, Result, Setup, Watches, controllers::Style};

/// Describes the desired children and status of each object of one kind.
///
/// The runtime calls [`desired`](Self::desired) with an object (the parent) and its existing children, and makes the cluster match the
/// result: it creates and updates the desired children, each kind with its [`UpdateStrategy`](crate::UpdateStrategy), and deletes children
/// that are no longer desired. It changes only objects that the parent controls, of kinds that the controller owns. The first error ends
/// the reconciliation, so nothing is deleted after an error.
///
/// The methods make no requests and are not async. They are called after every change of the parent or of a child, after an error with a
/// growing delay, and after the time of [`Desired::resync`].
///
/// ```
/// use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
/// use kube::{ResourceExt, api::ObjectMeta};
/// use operator_runtime::{Controllers, Declarative, Desired, Observed, Result, Setup};
///
/// /// Keeps a copy of each Deployment's labels in a ConfigMap.
/// struct Labels;
///
/// impl Declarative for Labels {
///     type Resource = Deployment;
///
///     fn desired(&self, deployment: &Deployment, observed: &Observed) -> Result<Desired<Deployment>> {
///         let copy = ConfigMap {
///             metadata: observed.child_metadata(deployment, format!("{}-labels", deployment.name_any())),
///             data: deployment.metadata.labels.clone(),
///             ..ConfigMap::default()
///         };
///         Ok(Desired::new().child(copy))
///     }
/// }
///
/// async fn setup(_setup: Setup) -> Result<Labels> {
///     Ok(Labels)
/// }
///
/// let controllers = Controllers::new().add_declarative(setup, |watches| watches.owns::<ConfigMap>());
/// # drop(controllers);
/// ```
pub trait Declarative: Send + Sync + 'static {
    /// The kind of the parents.
    type Resource: Object;

    /// The finalizer that keeps a parent until [`finalize`](Self::finalize) is done. `None` if there is nothing to do, because the garbage
    /// collector deletes the children. By convention it is `<group of the kind>/<name of the operator>`.
    const FINALIZER: Option<&'static str> = None;

    /// Checks the parent before anything else. If this returns an error, the runtime changes no child, passes it to
    /// [`status`](Self::status) as [`Error::Invalid`] (a temporary error as it is), and does not reconcile the parent again until it or a child changes; after [`Error::temporary`], until its
    /// delay is over.
    fn validate(&self, _parent: &Self::Resource) -> Result<()> {
        Ok(())
    }

    /// Returns the objects that the other methods read besides the children, for example a Secret that the spec names. The runtime reads
    /// them before it calls these methods, which get them from [`Observed::related`], and reconciles the parent when one of them changes,
    /// or is created or deleted. Their kinds must be in `watches` and `reads` of `operator.toml`.
    ///
    /// Each reconciliation reads them from the API server. The function must depend on the parent alone: it is called for each parent when an
    /// object of a related kind changes.
    fn related(&self, _parent: &Self::Resource) -> Vec<RelatedObject> {
        vec![]
    }

    /// Returns the children that the parent should have, and optionally its status and the time after which to reconcile it again.
    fn desired(
        &self,
        parent: &Self::Resource,
        observed: &Observed,
    ) -> Result<Desired<Self::Resource>>;

    /// Returns the status of the parent after its children were written, or after the first error; `observed` contains the current
    /// children. Without this method, the runtime writes the status of [`Desired::status`].
    fn status(
        &self,
        _parent: &Self::Resource,
        _observed: &Observed,
        _result: Result<&Applied, &Error>,
    ) -> Result<Status<Self::Resource>> {
        Ok(Status::desired())
    }

    /// Cleans up for a parent that is being deleted. Called only if there is a [`FINALIZER`](Self::FINALIZER), until it returns
    /// [`Finalized::Done`].
    ///
    /// It is also called while an owned kind cannot be listed, for example because its CRD was deleted, so that this does not block the
    /// deletion of the parent. Then `observed` returns [`Error::Unlisted`] for this kind only. If `finalize` returns the error, it is
    /// called again later.
    fn finalize(&self, _parent: &Self::Resource, _observed: &Observed) -> Result<Finalized> {
        Ok(Finalized::Done)
    }

    /// The options of the controller; see [`Reconciler::options`](crate::Reconciler::options). The time of [`Desired::resync`] replaces
    /// that of the options.
    ///
    /// ```
    /// # use k8s_openapi::api::apps::v1::Deployment;
    /// # use operator_runtime::{ControllerOptions, Declarative, Desired, Observed, Result};
    /// # struct Labels;
    /// # impl Declarative for Labels {
    /// #     type Resource = Deployment;
    /// #     fn desired(&self, _: &Deployment, _: &Observed) -> Result<Desired<Deployment>> { Ok(Desired::new()) }
    /// fn options(&self) -> ControllerOptions<Deployment> {
    ///     ControllerOptions::default().labels("team=shop").retry_limit(5)
    /// }
    /// # }
    /// ```
    fn options(&self) -> ControllerOptions<Self::Resource> {
        ControllerOptions::default()
    }

    /// The parents to reconcile because an object of a kind in `watches` changed; see [`Reconciler::parents`](crate::Reconciler::parents).
    fn parents(
        &self,
        _changed: &crate::Changed,
        _cache: &crate::Store<Self::Resource>,
    ) -> Vec<crate::ObjectRef<Self::Resource>> {
        vec![]
    }
}

impl Controllers {
    /// Adds a controller of the style [`Declarative`]: the function that sets it up, and the kinds that it owns.
    #[must_use]
    pub fn add_declarative<D, F>(
        self,
        setup: impl FnOnce(Setup) -> F + Send + 'static,
        watches: impl FnOnce(Watches) -> Watches,
    ) -> Self
    where
        D: Declarative,
        F: Future<Output = Result<D>> + Send + 'static,
    {
        let setup = |context| {
            let declarative = setup(context);
            async {
                let engine = Arc::new(Engine::new(declarative.await?));
                Ok(move || engine.clone())
            }
        };
        self.register(None, Style::Unnamed, setup, |before| Watches {
            observes_children: true,
            ..watches(before)
        })
    }
}
