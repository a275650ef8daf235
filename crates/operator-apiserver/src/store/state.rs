//! The state of the server, and the immediate effects of storing or removing an object.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::affected::concerns;
use super::conversion::Conversions;
use super::endpoint::Endpoints;
use super::initial::namespace_that_needs;
use super::objects::Store;
use super::registry::Registry;
use crate::kinds::resource::{CRDS, NAMESPACES};
use crate::model::key::Key;

/// Returns the keys of the objects to reconcile after a change of an object.
pub(crate) type Observer = fn(&State, &Key, &Value) -> BTreeSet<Key>;

/// The state of the server.
#[derive(Clone)]
pub(crate) struct State {
    pub registry: Registry,
    pub store: Store,
    /// Whether garbage collection or the deletion of a namespace may have work to do.
    pub unsettled: bool,
    /// The objects that the garbage collector must check.
    pub affected: BTreeSet<Key>,
    /// Whether the names that CRDs use may have changed.
    pub renamed: bool,
    /// Whether the admission plugin OwnerReferencesPermissionEnforcement is enabled.
    pub enforces_owner_references: bool,
    /// The objects whose stored form contains fields that reading drops; see `decode::Lost`.
    pub untidy: BTreeSet<Key>,
    /// The registered services that answer webhook calls.
    pub endpoints: Endpoints,
    /// The conversions by webhooks of the current request.
    pub conversions: Conversions,
    /// The number of addresses and ports that were allocated to Services.
    pub allocated: u32,
    /// Returns the keys to add to `queue` after each change; set if workload controllers run.
    observer: Option<Observer>,
    /// The keys that workload controllers must reconcile.
    pub queue: BTreeSet<Key>,
}

impl State {
    pub fn new() -> Self {
        let mut state = Self {
            registry: Registry::default(),
            store: Store::default(),
            unsettled: false,
            affected: BTreeSet::new(),
            renamed: false,
            enforces_owner_references: false,
            untidy: BTreeSet::new(),
            endpoints: Endpoints::default(),
            conversions: Conversions::default(),
            allocated: 0,
            observer: None,
            queue: BTreeSet::new(),
        };
        state.create_namespaces();
        state.create_service();
        state.create_priority_classes();
        state.create_roles();
        state.store.begin();
        state
    }

    /// Stores an object, with the immediate effects of this.
    pub fn put(&mut self, key: Key, object: Value) -> Arc<Value> {
        let before = self.store.find(&key);
        self.untidy.remove(&key);
        let stored = self.store.put(key.clone(), object);
        if concerns(before.as_deref(), &stored) {
            self.unsettled = true;
            self.mark_affected(&key, before.as_deref(), Some(&stored));
        }
        self.after_put(&key, &stored);
        self.notice(&key, &stored);
        stored
    }

    /// Removes an object, with the immediate effects of this.
    pub fn remove(&mut self, key: &Key) -> Option<Arc<Value>> {
        let last = self.store.remove(key)?;
        self.untidy.remove(key);
        self.unsettled = true;
        self.mark_affected(key, Some(&last), None);
        self.after_remove(key);
        self.notice(key, &last);
        Some(last)
    }

    /// Calls `observer` after each change from now on, and adds all existing objects to the queue.
    #[cfg(feature = "workloads")]
    pub fn observe(&mut self, observer: Observer) {
        self.observer = Some(observer);
        self.queue = self.store.all().map(|(key, _)| key.clone()).collect();
    }

    /// Adds the keys to reconcile to the queue, after an object was stored or removed.
    fn notice(&mut self, key: &Key, object: &Value) {
        if let Some(observer) = self.observer {
            let mut keys = observer(self, key, object);
            self.queue.append(&mut keys);
        }
    }

    fn after_put(&mut self, key: &Key, object: &Value) {
        if key.is(CRDS) {
            self.registry.register(object, self.store.version());
            self.renamed = true;
            self.mark_all_owned();
        }
        if key.is(NAMESPACES) {
            self.fill_namespace(object);
        }
    }

    fn after_remove(&mut self, key: &Key) {
        if key.is(CRDS) {
            self.registry.forget(&key.name);
            self.renamed = true;
            self.mark_all_owned();
        }
        if let Some(namespace) = namespace_that_needs(key).and_then(|it| self.store.find(&it)) {
            self.fill_namespace(&namespace);
        }
    }
}
