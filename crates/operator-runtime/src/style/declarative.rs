//! The style `declarative`: a function from an object and its children to the children and the status that it should have. The runtime makes
//! the requests.

use std::{
    collections::BTreeMap, fmt::Debug, future::Future, marker::PhantomData, sync::Arc,
    time::Duration,
};

use kube::{
    Resource, ResourceExt, api::ObjectMeta, core::object::HasStatus, runtime::controller::Action,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::Reconciler;
use crate::{
    ControllerOptions, Controllers, Error, Result, Setup, Watches,
    context::{ChildKey, Context, OwnedKey, Uncontrolled, Wanted, child_labels},
    engine::{
        decode::forget_managers,
        kind::{GroupKind, Kind},
    },
    error::LONGEST_DELAY,
};

/// Describes what should exist for each object of one kind.
///
/// The runtime calls [`desired`](Self::desired) with an object (the parent) and what is known of its children, and makes the cluster match:
/// it creates and updates the children that are desired, each kind with its [`UpdateStrategy`](crate::UpdateStrategy), and deletes children
/// that are not desired any more. Only kinds that the controller owns and objects that this parent controls are touched. The first error
/// ends the reconciliation: nothing is deleted after it.
///
/// The methods make no requests and wait for nothing. They are called after every change of the
/// parent or of a child, after an error with a growing delay, and after the time of [`Desired::resync`].
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
    type Resource: Resource<DynamicType = (), Scope: 'static>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize
        + Send
        + Sync
        + 'static;

    /// The finalizer that keeps a parent until [`finalize`](Self::finalize) is done; `None` if there is nothing to do, as the garbage
    /// collector deletes the children. By convention it is `<group of the kind>/<name of the operator>`.
    const FINALIZER: Option<&'static str> = None;

    /// Checks the parent before anything else. If it returns an error, no child is touched, [`status`](Self::status) gets the error, and
    /// the parent is not looked at again until it or a child changes; for [`Error::temporary`], until its time is over.
    fn validate(&self, _parent: &Self::Resource) -> Result<()> {
        Ok(())
    }

    /// The children that the parent should have, with its status and the time after which to look again, if there is one.
    fn desired(
        &self,
        parent: &Self::Resource,
        observed: &Observed,
    ) -> Result<Desired<Self::Resource>>;

    /// The status of the parent after its children were written, or after the first error; `observed` has the children as they are now.
    /// Without this method, it is that of [`Desired::status`].
    fn status(
        &self,
        _parent: &Self::Resource,
        _observed: &Observed,
        _result: Result<&Applied, &Error>,
    ) -> Result<Status<Self::Resource>> {
        Ok(Status::of_desired())
    }

    /// What remains to be done for a parent that is being deleted; called only if there is a [`FINALIZER`](Self::FINALIZER), until it
    /// returns [`Finalized::Done`].
    fn finalize(&self, _parent: &Self::Resource, _observed: &Observed) -> Result<Finalized> {
        Ok(Finalized::Done)
    }

    /// The options of the controller; see [`Reconciler::options`]. A time of [`Desired::resync`] replaces that of the options.
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

    /// The parents to reconcile because an object of a kind in `watches` changed; see [`Reconciler::parents`].
    fn parents(
        &self,
        _changed: &crate::Changed,
        _cache: &crate::Store<Self::Resource>,
    ) -> Vec<crate::ObjectRef<Self::Resource>> {
        vec![]
    }
}

/// What a parent of kind `K` should have.
pub struct Desired<K> {
    children: Vec<Result<Wanted>>,
    status: Option<serde_json::Result<Value>>,
    resync: Option<Duration>,
    parent: PhantomData<fn(K)>,
}

impl<K> Desired<K> {
    /// No children.
    pub fn new() -> Self {
        Self {
            children: vec![],
            status: None,
            resync: None,
            parent: PhantomData,
        }
    }

    /// Adds a child. Without a namespace it is in that of the parent, or in the operator's own for a cluster-scoped parent. The runtime adds
    /// the owner reference. Children are written in the order in which they were added.
    #[must_use]
    pub fn child<C>(mut self, child: C) -> Self
    where
        C: Resource<DynamicType = (), Scope: 'static> + Serialize,
    {
        self.children.push(Wanted::of(&child));
        self
    }

    /// Adds children of one kind.
    #[must_use]
    pub fn children<C>(self, children: impl IntoIterator<Item = C>) -> Self
    where
        C: Resource<DynamicType = (), Scope: 'static> + Serialize,
    {
        children.into_iter().fold(self, Self::child)
    }

    /// The status of the parent. It is written if it differs, whether or not the children could be written.
    #[must_use]
    pub fn status(mut self, status: K::Status) -> Self
    where
        K: HasStatus<Status: Serialize>,
    {
        self.status = Some(serde_json::to_value(status));
        self
    }

    /// Reconciles the parent again after this time, though nothing has changed.
    #[must_use]
    pub fn resync(mut self, after: Duration) -> Self {
        self.resync = Some(after);
        self
    }
}

impl<K> Default for Desired<K> {
    fn default() -> Self {
        Self::new()
    }
}

/// A status to be written for a parent of kind `K`.
pub struct Status<K> {
    choice: Choice,
    parent: PhantomData<fn(K)>,
}

enum Choice {
    OfDesired,
    Value(serde_json::Result<Value>),
}

impl<K> Status<K> {
    /// This status.
    pub fn new(status: K::Status) -> Self
    where
        K: HasStatus<Status: Serialize>,
    {
        Self {
            choice: Choice::Value(serde_json::to_value(status)),
            parent: PhantomData,
        }
    }

    /// That of [`Desired::status`], if there is one.
    pub fn of_desired() -> Self {
        Self {
            choice: Choice::OfDesired,
            parent: PhantomData,
        }
    }
}

/// Whether a parent that is being deleted may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finalized {
    /// Its finalizer is removed.
    Done,
    /// [`Declarative::finalize`] is called again after this time, or after a change.
    After(Duration),
}

/// What became of the children that were desired, when none of them failed.
#[derive(Debug, Default)]
pub struct Applied {
    waiting: Vec<String>,
}

impl Applied {
    /// The children that are not as desired until they have been deleted, as `v1/Pod web-0`: those of the strategy
    /// [`OnDelete`](crate::UpdateStrategy::OnDelete) that should change, and those that are being deleted, unless they are applied.
    pub fn waiting(&self) -> &[String] {
        &self.waiting
    }
}

/// The children of a parent as they are in the cluster.
pub struct Observed {
    operator: String,
    namespace: String,
    owns: Vec<Kind>,
    owner: GroupKind,
    children: BTreeMap<OwnedKey, Value>,
}

impl Observed {
    /// The child of this kind and name in the namespace of the parent, or in the operator's own for a cluster-scoped parent.
    ///
    /// # Errors
    /// [`Error::Undeclared`] if the controller does not own the kind; [`Error::Json`] if the child does not decode.
    pub fn get<C>(&self, name: &str) -> Result<Option<C>>
    where
        C: Resource<DynamicType = (), Scope: 'static> + DeserializeOwned,
    {
        let children = self.of_kind::<C>()?;
        let mut named = children.filter(|(key, _)| {
            let namespace = key.namespace.as_deref();
            key.name == name && namespace.is_none_or(|it| it == self.namespace)
        });
        named.next().map(|(_, live)| decode(live)).transpose()
    }

    /// All children of this kind, by namespace and name.
    ///
    /// # Errors
    /// Those of [`get`](Self::get).
    pub fn list<C>(&self) -> Result<Vec<C>>
    where
        C: Resource<DynamicType = (), Scope: 'static> + DeserializeOwned,
    {
        self.of_kind::<C>()?.map(|(_, live)| decode(live)).collect()
    }

    fn of_kind<C>(&self) -> Result<impl Iterator<Item = (&ChildKey, &Value)>>
    where
        C: Resource<DynamicType = (), Scope: 'static>,
    {
        let kind = Kind::of::<C>();
        let Some(index) = self.owns.iter().position(|owned| owned.is_same(&kind)) else {
            return Err(Error::undeclared(&kind, &self.owner, self.owns.iter()));
        };
        let children = self.children.iter();
        Ok(children.filter_map(move |((of, key), live)| (*of == index).then_some((key, live))))
    }

    /// Metadata for a child of `parent`: its name, and the
    /// [recommended labels](https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/)
    /// `app.kubernetes.io/instance` and `app.kubernetes.io/managed-by`.
    pub fn child_metadata<K>(&self, parent: &K, name: impl Into<String>) -> ObjectMeta
    where
        K: Resource<DynamicType = ()>,
    {
        ObjectMeta {
            name: Some(name.into()),
            labels: Some(child_labels(&parent.name_any(), &self.operator)),
            ..ObjectMeta::default()
        }
    }
}

fn decode<C: DeserializeOwned>(live: &Value) -> Result<C> {
    let mut live = live.clone();
    forget_managers(&mut live);
    Ok(serde_json::from_value(live)?)
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
            async { Ok(Engine(declarative.await?)) }
        };
        self.add(setup, |before| Watches {
            observes_children: true,
            ..watches(before)
        })
    }
}

/// After a deletion that did not happen, because the object has changed. Normally its watch triggers the next reconciliation before.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// A [`Declarative`] as a [`Reconciler`].
struct Engine<D>(D);

impl<D: Declarative> Reconciler for Engine<D> {
    type Resource = D::Resource;
    const FINALIZER: Option<&'static str> = D::FINALIZER;

    async fn reconcile(&self, parent: Arc<D::Resource>, cx: &Context) -> Result<Action> {
        let mut observed = observe(cx, &*parent).await?;
        let mut desired_status = None;
        let result = self
            .write(&parent, &mut observed, &mut desired_status, cx)
            .await;
        let applied = result.as_ref().map(|(applied, _)| applied);
        let status = self.0.status(&parent, &observed, applied);
        let written = match status.map(|status| status.choice) {
            Ok(Choice::Value(status)) => write_status(&*parent, status, cx).await,
            Ok(Choice::OfDesired) => match desired_status {
                Some(status) => write_status(&*parent, status, cx).await,
                None => Ok(()),
            },
            Err(error) => Err(error),
        };
        let (_, resync) = result?;
        written?;
        Ok(resync.map_or_else(Action::await_change, Action::requeue))
    }

    async fn cleanup(&self, parent: Arc<D::Resource>, cx: &Context) -> Result<()> {
        let observed = observe(cx, &*parent).await?;
        match self.0.finalize(&parent, &observed)? {
            Finalized::Done => Ok(()),
            Finalized::After(delay) => {
                cx.delay_cleanup(delay);
                Ok(())
            }
        }
    }

    fn options(&self) -> ControllerOptions<D::Resource> {
        self.0.options()
    }

    fn parents(
        &self,
        changed: &crate::Changed,
        cache: &crate::Store<D::Resource>,
    ) -> Vec<crate::ObjectRef<D::Resource>> {
        self.0.parents(changed, cache)
    }
}

impl<D: Declarative> Engine<D> {
    /// Writes and deletes children. `observed` follows what is written.
    async fn write(
        &self,
        parent: &D::Resource,
        observed: &mut Observed,
        status: &mut Option<serde_json::Result<Value>>,
        cx: &Context,
    ) -> Result<(Applied, Option<Duration>)> {
        self.0.validate(parent).map_err(|error| match error {
            error @ Error::Temporary { .. } => error,
            error if error.is_permanent() => error,
            error => Error::permanent(error),
        })?;
        let desired = self.0.desired(parent, observed)?;
        *status = desired.status;
        // All are checked before one is written.
        let mut children = BTreeMap::new();
        let mut order = vec![];
        for wanted in desired.children {
            let child = cx.child(wanted?)?;
            cx.check_place(&child)?;
            let key = (cx.index(child.owned), child.key.clone());
            order.push(key.clone());
            if let Some(doubled) = children.insert(key, child) {
                return Err(Error::DesiredTwice {
                    kind: doubled.kind.to_string(),
                    name: doubled.key.name,
                });
            }
        }
        let mut applied = Applied::default();
        for key in order {
            let child = &children[&key];
            let version = &child.kind.resource.api_version;
            let seen = observed.children.get(&key);
            let known = match seen.filter(|live| live["apiVersion"] == **version) {
                Some(live) => Some(live.clone()),
                None => {
                    cx.cached_or_live(child.owned, &child.kind, &child.key)
                        .await?
                }
            };
            let written = cx.write_child(child, Uncontrolled::Refuse, known).await?;
            if written.waits {
                let name = format!("{} {}", child.kind, child.key.name);
                applied.waiting.push(name);
            }
            observed.children.insert(key, written.live);
        }
        let undesired = observed
            .children
            .keys()
            .filter(|key| !children.contains_key(key));
        let undesired: Vec<_> = undesired.cloned().collect();
        let mut resync = desired.resync.map(|after| after.min(LONGEST_DELAY));
        if !undesired.is_empty() && !cx.is_current(parent.meta().generation).await? {
            // its watch is behind, and reports it soon
            return Ok((applied, Some(RETRY_DELAY)));
        }
        let mut first_error = None;
        for key in undesired {
            let Some(live) = observed.children.get(&key) else {
                continue;
            };
            match cx.prune(&key, live).await {
                Ok(true) => {
                    observed.children.remove(&key);
                }
                Ok(false) => resync = Some(RETRY_DELAY),
                Err(error) => {
                    first_error.get_or_insert(error);
                }
            }
        }
        if let Some(error) = first_error {
            return Err(error);
        }
        Ok((applied, resync))
    }
}

async fn observe<K: Resource<DynamicType = ()>>(cx: &Context, parent: &K) -> Result<Observed> {
    Ok(Observed {
        operator: cx.operator().to_owned(),
        namespace: parent
            .namespace()
            .unwrap_or_else(|| cx.namespace().to_owned()),
        owns: cx.owns().iter().map(|owned| owned.kind.clone()).collect(),
        owner: cx.kind().clone(),
        children: cx.children().await?,
    })
}

async fn write_status<K>(parent: &K, status: serde_json::Result<Value>, cx: &Context) -> Result<()>
where
    K: Resource<DynamicType = ()> + Serialize,
{
    cx.update_status(parent, &status?).await
}
