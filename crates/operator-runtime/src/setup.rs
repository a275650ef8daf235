//! The setup of a controller: what its setup function gets, and the kinds that it watches.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    sync::{Arc, MutexGuard},
};

use kube::{Client, Resource};
use prometheus_client::registry::Registry;

use crate::{
    engine::kind::{Kind, Scope},
    metrics::Metrics,
    settings::Settings,
    shared::Shared,
};

type Values = HashMap<TypeId, Arc<dyn Any + Send + Sync>>;

/// The argument of setup functions, which are called once, before the first reconciliation, and of [hooks](crate::Hook).
///
/// ```
/// use std::sync::Arc;
/// use operator_runtime::{Result, Setup};
///
/// struct Prices(u32);
/// struct ShopReconciler { prices: Arc<Prices> }
///
/// async fn setup(setup: Setup) -> Result<ShopReconciler> {
///     // given to the operator with `.provide(Prices(3))`
///     let prices = setup.get::<Prices>().ok_or_else(|| anyhow::anyhow!("no prices"))?;
///     Ok(ShopReconciler { prices })
/// }
/// ```
#[derive(Clone)]
pub struct Setup {
    pub(crate) client: Client,
    pub(crate) operator: String,
    pub(crate) controller: String,
    pub(crate) settings: Arc<Settings>,
    pub(crate) values: Arc<Values>,
    pub(crate) metrics: Arc<Metrics>,
}

impl Setup {
    /// The client of the operator.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The operator's name.
    pub fn operator(&self) -> &str {
        &self.operator
    }

    /// The controller's name: that of [`add_named`](crate::Controllers::add_named), or its kind in lower case. It is empty in the setup of
    /// webhooks.
    ///
    /// ```
    /// # use operator_runtime::{Result, Setup};
    /// struct Printer { prefix: String }
    ///
    /// async fn setup(setup: Setup) -> Result<Printer> {
    ///     Ok(Printer { prefix: format!("{}: ", setup.controller()) })
    /// }
    /// ```
    pub fn controller(&self) -> &str {
        &self.controller
    }

    /// The settings that the operator was started with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The value that was passed to [`Operator::provide`](crate::Operator::provide); `None` if there is none of this type.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.values.get(&TypeId::of::<T>())?.clone().downcast().ok()
    }

    /// The value of this type that all controllers of the operator share; the first call creates it.
    pub fn shared<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        self.get::<Shared>().unwrap_or_default().get()
    }

    /// The registry for your own metrics, which are exported with those of the runtime.
    pub fn metrics(&self) -> MutexGuard<'_, Registry> {
        self.metrics.registry()
    }
}

/// The kinds that a controller watches besides its own.
///
/// ```
/// use k8s_openapi::api::{apps::v1::Deployment, core::v1::Node};
/// use operator_runtime::Watches;
///
/// Watches::default()
///     .owns::<Deployment>()
///     .owns_named("cert-manager.io", "v1", "Certificate", "certificates")
///     .watches::<Node>();
/// ```
#[derive(Clone, Debug, Default)]
pub struct Watches {
    pub(crate) owns: Vec<Owns>,
    pub(crate) watches: Vec<Kind>,
    pub(crate) status_in_object: bool,
    /// Whether the controller tracks all children of an object, so that those that are no longer desired can be deleted.
    pub(crate) observes_children: bool,
}

/// An owned kind.
#[derive(Clone, Debug)]
pub(crate) struct Owns {
    pub kind: Kind,
    /// Whether the cache of children has their content, or only the metadata.
    pub caches_content: bool,
    pub update: UpdateStrategy,
}

/// How an existing child is updated when the controller desires different content, or when somebody else has changed a field that the
/// operator set.
///
/// Differences that the API server causes do not count as changes: defaults that it adds, values that it stores in another form (`1000m` as
/// `1`), empty values that it drops, and additions by admission, such as a sidecar. For [`Replace`](Self::Replace),
/// [`Recreate`](Self::Recreate) and [`OnDelete`](Self::OnDelete), the child has an annotation `<operator>/desired-hash` with a hash of the
/// content that was sent last, so that the same is true after a restart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UpdateStrategy {
    /// The child is updated by [server-side apply](https://kubernetes.io/docs/reference/using-api/server-side-apply/); fields of other
    /// managers are kept.
    #[default]
    Apply,
    /// The child is updated by `PUT`. Fields of other managers are kept, as with [`Apply`](Self::Apply), and so are an allocated address or an
    /// injected container; fields that the operator no longer desires are removed. Before each `PUT`, the child is read from the API server,
    /// because the cache lacks the managed fields of others.
    Replace,
    /// The child is deleted, and created again after it has disappeared. Before the deletion, a dry run checks that the API server would
    /// create it.
    Recreate,
    /// The child stays as it is until somebody deletes it; then it is created as desired.
    OnDelete,
    /// The child is created if it does not exist, and never changed.
    CreateOnly,
}

impl Watches {
    /// Declares a kind of children: a change of a child reconciles the object that controls it.
    ///
    /// [`Context::apply`](crate::Context::apply) reads such a child from a cache. For Secrets and ConfigMaps, the cache has only the
    /// metadata, because these objects may be large, and the watch also transfers objects that the operator does not own. Each apply reads
    /// them from the API server, unless the kind is declared by [`owns_with_content`](Self::owns_with_content). A child that is applied in
    /// a different version than that of `K` is also read from the API server.
    #[must_use]
    pub fn owns<K: Resource<DynamicType = (), Scope: 'static>>(self) -> Self {
        self.and_owns(Kind::of::<K>())
    }

    /// Like [`owns`](Self::owns), but caches the content for any kind.
    #[must_use]
    pub fn owns_with_content<K: Resource<DynamicType = (), Scope: 'static>>(mut self) -> Self {
        self.owns.push(Owns {
            kind: Kind::of::<K>(),
            caches_content: true,
            update: UpdateStrategy::default(),
        });
        self
    }

    /// Sets the update strategy of the owned kind that was declared last.
    ///
    /// # Panics
    /// If no owned kind was declared before.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::{Pod, Service};
    /// # use operator_runtime::{UpdateStrategy, Watches};
    /// let watches = Watches::default();
    /// watches.owns::<Service>().owns::<Pod>().update(UpdateStrategy::Recreate);
    /// ```
    #[must_use]
    pub fn update(mut self, strategy: UpdateStrategy) -> Self {
        let owns = self.owns.last_mut();
        owns.expect("`update` follows `owns`").update = strategy;
        self
    }

    /// Like [`owns`](Self::owns), for a kind without a Rust type: its group (empty for the core group), version, kind and plural.
    #[must_use]
    pub fn owns_named(self, group: &str, version: &str, kind: &str, plural: &str) -> Self {
        self.and_owns(Kind::new(group, version, kind, plural, Scope::Namespaced))
    }

    /// Like [`owns_named`](Self::owns_named), for a cluster-scoped kind.
    #[must_use]
    pub fn owns_cluster_named(self, group: &str, version: &str, kind: &str, plural: &str) -> Self {
        self.and_owns(Kind::new(group, version, kind, plural, Scope::Cluster))
    }

    /// Declares a watched kind, which may also be an owned kind: [`Reconciler::parents`](crate::Reconciler::parents) returns the objects
    /// that a change reconciles.
    #[must_use]
    pub fn watches<K: Resource<DynamicType = (), Scope: 'static>>(self) -> Self {
        self.and_watches(Kind::of::<K>())
    }

    /// Like [`watches`](Self::watches), for a kind without a Rust type: its group (empty for the core group), version, kind and plural.
    #[must_use]
    pub fn watches_named(self, group: &str, version: &str, kind: &str, plural: &str) -> Self {
        self.and_watches(Kind::new(group, version, kind, plural, Scope::Namespaced))
    }

    /// Like [`watches_named`](Self::watches_named), for a cluster-scoped kind.
    #[must_use]
    pub fn watches_cluster_named(
        self,
        group: &str,
        version: &str,
        kind: &str,
        plural: &str,
    ) -> Self {
        self.and_watches(Kind::new(group, version, kind, plural, Scope::Cluster))
    }

    /// Declares that the kind of the controller has no
    /// [status subresource](https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#status-subresource),
    /// so that the status is written to the object. Without this declaration, the first write learns it from an error. If the kind has got
    /// the subresource since, the first write learns that, too.
    #[must_use]
    pub fn status_in_object(mut self) -> Self {
        self.status_in_object = true;
        self
    }

    fn and_owns(mut self, kind: Kind) -> Self {
        let caches_content = !kind.is_data();
        self.owns.push(Owns {
            kind,
            caches_content,
            update: UpdateStrategy::default(),
        });
        self
    }

    fn and_watches(mut self, kind: Kind) -> Self {
        self.watches.push(kind);
        self
    }
}

/// Inserts a value under its type.
pub(crate) fn insert_value<T: Send + Sync + 'static>(values: &mut Values, value: T) {
    values.insert(TypeId::of::<T>(), Arc::new(value));
}
