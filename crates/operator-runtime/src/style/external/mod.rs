//! The style `external`: a provider observes, creates, updates and deletes an external resource for each object: a thing outside of the
//! cluster. The runtime decides when, and records what must survive a crash. (Messages for users call the external resource a thing.)

mod call;
mod create;
mod engine;
mod error;
mod limit;
mod memory;
mod options;
mod record;
mod removal;
mod state;

use std::{future::Future, sync::Arc};

pub use call::{AroundCalls, ProviderCall};
pub use error::ExternalError;
pub use options::{DeletionPolicy, DriftPolicy, ExternalOptions};
pub use state::State;

use super::{Object, Status};
use crate::{
    ControllerOptions, Controllers, Error, Result, Setup, Watches, context::Context,
    controllers::Style,
};

/// Manages one external resource for each object of a kind: a bucket, a database or a DNS record, outside of the cluster.
///
/// The runtime calls [`observe`](Self::observe) after each change of the object and at an interval, and [`create`](Self::create),
/// [`update`](Self::update) and [`delete`](Self::delete) as needed. The id of the external resource is recorded in the annotation
/// `<operator>/external-id` of the object: annotations survive a backup and its restoration, while a status does not.
///
/// A creation is recorded in the annotation `<operator>/creation-started` before the call. What happens after a crash between the call and
/// the record of its result depends on the [`Identity`].
///
/// ```
/// # use std::{collections::BTreeMap, sync::Mutex};
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use operator_runtime::{Context, Controllers, Created, External, Identity, Result, Setup};
///
/// /// Keeps the data of each ConfigMap under its name in another system.
/// #[derive(Default)]
/// struct Copies(Mutex<BTreeMap<String, BTreeMap<String, String>>>);
///
/// impl External for Copies {
///     type Resource = ConfigMap;
///     type Observed = BTreeMap<String, String>;
///     const FINALIZER: &'static str = "example.com/copies";
///
///     fn identity(&self, map: &ConfigMap) -> Result<Identity> {
///         Ok(Identity::Name(map.metadata.uid.clone().unwrap_or_default()))
///     }
///
///     async fn observe(&self, _: &ConfigMap, id: &str, _: &Context) -> Result<Option<Self::Observed>> {
///         Ok(self.0.lock().unwrap().get(id).cloned())
///     }
///
///     async fn create(&self, map: &ConfigMap, name: &str, _: &Context) -> Result<Created> {
///         self.0.lock().unwrap().insert(name.to_owned(), map.data.clone().unwrap_or_default());
///         Ok(Created::id(name))
///     }
///
///     fn difference(&self, map: &ConfigMap, copy: &Self::Observed) -> Result<Option<String>> {
///         Ok((map.data.as_ref() != Some(copy)).then(|| "the data differ".into()))
///     }
///
///     async fn update(&self, map: &ConfigMap, id: &str, _: &Self::Observed, _: &Context) -> Result<()> {
///         self.0.lock().unwrap().insert(id.to_owned(), map.data.clone().unwrap_or_default());
///         Ok(())
///     }
///
///     async fn delete(&self, _: &ConfigMap, id: &str, _: &Context) -> Result<()> {
///         self.0.lock().unwrap().remove(id);
///         Ok(())
///     }
/// }
///
/// async fn setup(_setup: Setup) -> Result<Copies> {
///     Ok(Copies::default())
/// }
///
/// let controllers = Controllers::new().add_external(setup, |watches| watches);
/// # drop(controllers);
/// ```
pub trait External: Send + Sync + 'static {
    /// The kind of the objects.
    type Resource: Object;

    /// The state of an external resource, as [`observe`](Self::observe) returns it.
    type Observed: Send + Sync + 'static;

    /// The finalizer that keeps an object until its external resource is deleted. By convention it is
    /// `<group of the kind>/<name of the operator>`.
    const FINALIZER: &'static str;

    /// Returns how the external resource of an object is found again after a crash. Choose the first variant that the other system allows.
    fn identity(&self, object: &Self::Resource) -> Result<Identity>;

    /// Returns the ids of the external resources that carry this tag; only for [`Identity::Lookup`].
    fn find(
        &self,
        _object: &Self::Resource,
        _tag: &str,
        _cx: &Context,
    ) -> impl Future<Output = Result<Vec<String>>> + Send {
        async { Err(Error::from(ExternalError::NoFind)) }
    }

    /// Returns the external resource with this id, or `None` if there is none. An error means that this is not known.
    fn observe(
        &self,
        object: &Self::Resource,
        id: &str,
        cx: &Context,
    ) -> impl Future<Output = Result<Option<Self::Observed>>> + Send;

    /// Creates the external resource, and returns its id. `key` depends on the [`identity`](Self::identity): it is the name, the client
    /// token, or the tag to set; for [`Identity::Assigned`] it is a unique text that you may ignore.
    ///
    /// If the other system has refused the creation, so that certainly nothing was created, return [`Created::refused`]. Any other error,
    /// such as a timeout, means that it may have been created.
    fn create(
        &self,
        object: &Self::Resource,
        key: &str,
        cx: &Context,
    ) -> impl Future<Output = Result<Created>> + Send;

    /// Changes the external resource so that there is no [`difference`](Self::difference).
    fn update(
        &self,
        object: &Self::Resource,
        id: &str,
        observed: &Self::Observed,
        cx: &Context,
    ) -> impl Future<Output = Result<()>> + Send;

    /// Deletes the external resource. It succeeds if there is none, or if it is being deleted already. The object is kept until
    /// [`observe`](Self::observe) finds none.
    fn delete(
        &self,
        object: &Self::Resource,
        id: &str,
        cx: &Context,
    ) -> impl Future<Output = Result<()>> + Send;

    /// Describes how the external resource differs from what the object asks for, for an event and a condition; `None` if it does not
    /// differ. Compare only what the object sets, and only what the other system returns.
    fn difference(
        &self,
        object: &Self::Resource,
        observed: &Self::Observed,
    ) -> Result<Option<String>>;

    /// Whether the external resource can be used; otherwise the condition `Ready` is `False`.
    fn is_ready(&self, _observed: &Self::Observed) -> bool {
        true
    }

    /// The status of the object. [`State`] has what is observed, and the conditions `Synced` and `Ready`.
    fn status(
        &self,
        _object: &Self::Resource,
        _state: &State<Self::Observed>,
    ) -> Result<Status<Self::Resource>> {
        Ok(Status::unchanged())
    }

    /// Whether the external resource is deleted with the object. Without this method, `spec.deletionPolicy` of the object decides, if there
    /// is one; see [`DeletionPolicy::of_spec`].
    fn deletion_policy(&self, object: &Self::Resource) -> Result<DeletionPolicy> {
        DeletionPolicy::of_spec(object)
    }

    /// What happens if somebody else has changed the external resource. Without this method, `spec.driftPolicy` of the object decides, if
    /// there is one; see [`DriftPolicy::of_spec`].
    fn drift_policy(&self, object: &Self::Resource) -> Result<DriftPolicy> {
        DriftPolicy::of_spec(object)
    }

    /// Intervals and limits. Called once, when the operator starts.
    fn options(&self) -> ExternalOptions {
        ExternalOptions::default()
    }

    /// The options of the controller, such as selectors and the number of workers; see [`Reconciler::options`](super::Reconciler::options).
    /// [`ExternalOptions::poll`] replaces the interval of `resync`. Objects cannot be [reduced](ControllerOptions::reduce), because the
    /// runtime compares whole objects with their external resources: with such options, the operator does not start.
    fn controller_options(&self) -> ControllerOptions<Self::Resource> {
        ControllerOptions::default()
    }

    /// The objects to reconcile because an object of a watched or owned kind changed; see
    /// [`Reconciler::parents`](super::Reconciler::parents).
    fn parents(
        &self,
        _changed: &crate::Changed,
        _cache: &crate::Store<Self::Resource>,
    ) -> Vec<crate::ObjectRef<Self::Resource>> {
        vec![]
    }
}

/// How an external resource is found again if the operator crashes after it was created and before its id was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// The external resource has this name, which the object determines and which is its id. The other system refuses a second external
    /// resource of the name, or treats its creation as an update. An external resource of the name that this object has not created is not
    /// touched: it has to be imported.
    ///
    /// The name must be unique among all objects of the controller. If the other system has an external resource of each name in each zone,
    /// project or account, include that in the name. If two objects have the same name, the first one has the external resource, and the
    /// other one fails with [`ExternalError::NameInUse`] until the first one is deleted. If both have a record of it, for example because
    /// one is a copy, the deletion of the other one waits until a person has removed the wrong record.
    Name(String),
    /// The other system takes a client token, and returns the same external resource for the same token. The runtime generates the token
    /// and records it before the first call; the call is repeated with the same token.
    Token,
    /// The external resource is created with a tag, the uid of the object, by which [`External::find`] finds it. As a search may lag
    /// behind, the call is repeated only if nothing was found for [`ExternalOptions::grace`].
    Lookup,
    /// None of these. If the operator crashes at the wrong moment or an answer is lost, the object stops with the reason
    /// `CreationUncertain` until a person has decided.
    Assigned,
}

/// The result of [`External::create`].
#[derive(Debug)]
pub struct Created(Answer);

#[derive(Debug)]
enum Answer {
    Id(String),
    Refused(Error),
}

impl Created {
    /// The external resource was created and has this id, by which [`External::observe`] finds it. It must not be empty.
    pub fn id(id: impl Into<String>) -> Self {
        Self(Answer::Id(id.into()))
    }

    /// The other system has refused: certainly nothing was created. The creation is tried again, as after any error.
    pub fn refused(error: impl Into<Error>) -> Self {
        Self(Answer::Refused(error.into()))
    }
}

impl Controllers {
    /// Adds a controller of the style [`External`]: the function that sets up the provider, and the kinds that it watches.
    #[must_use]
    pub fn add_external<E, F>(
        self,
        setup: impl FnOnce(Setup) -> F + Send + 'static,
        watches: impl FnOnce(Watches) -> Watches,
    ) -> Self
    where
        E: External,
        F: Future<Output = Result<E>> + Send + 'static,
    {
        let setup = |context: Setup| {
            let around = context.get::<AroundCalls>();
            let provider = setup(context);
            async {
                let provider = Arc::new(provider.await?);
                engine::Engine::check(&*provider)?;
                Ok(move || Arc::new(engine::Engine::new(provider.clone(), around.clone())))
            }
        };
        self.register(None, Style::Unnamed, setup, watches)
    }
}
