//! The state of the server, and the immediate effects of storing or removing an object.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::conversion::Conversions;
use super::endpoint::Endpoints;
use super::gc_queue::{GcQueue, concerns};
use super::initial::{self, create_in_namespace, namespace_that_needs};
use super::objects::Store;
use super::registry::Registry;
use crate::kinds::allocations::Allocations;
use crate::kinds::resource::{CRDS, NAMESPACES};
use crate::model::Key;

/// Returns the keys of the objects to reconcile after a change of an object.
pub(crate) type Observer = fn(&State, &Key, &Value) -> BTreeSet<Key>;

/// The state of the server. Functions take the parts that they need.
#[derive(Clone, Default)]
pub(crate) struct State {
    pub registry: Registry,
    pub store: Store,
    pub gc: GcQueue,
    pub settings: Settings,
    pub allocations: Allocations,
    /// The objects whose stored form contains fields that reading drops; see `decode::DroppedFields`.
    pub stores_unknown_fields: BTreeSet<Key>,
    /// The conversions by webhooks of the current request.
    pub conversions: Conversions,
    /// Returns the keys to add to `queue` after each change; set if workload controllers run.
    observer: Option<Observer>,
    /// The keys that workload controllers must reconcile.
    pub queue: BTreeSet<Key>,
}

/// The settings of the server that a test chooses.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    /// Whether the admission plugin OwnerReferencesPermissionEnforcement is enabled.
    pub enforces_owner_references: bool,
    /// The registered services that answer webhook calls.
    pub endpoints: Endpoints,
}

impl State {
    /// The state of a new cluster.
    pub fn new() -> Self {
        let mut state = Self::default();
        initial::create(&mut state);
        state.store.begin();
        state
    }

    /// Stores an object, with the immediate effects.
    pub fn put(&mut self, key: Key, object: Value) -> Arc<Value> {
        let before = self.store.find(&key);
        self.stores_unknown_fields.remove(&key);
        let stored = self.store.put(key.clone(), object);
        if concerns(before.as_deref(), &stored) {
            let known = (&self.store, &self.registry);
            self.gc.add(known, &key, before.as_deref(), Some(&stored));
        }
        if key.is(CRDS) {
            self.registry.register(&stored, self.store.version());
            self.gc.add_all_owned(&self.store);
        }
        if key.is(NAMESPACES) {
            create_in_namespace(self, &stored);
        }
        self.notice(&key, &stored);
        stored
    }

    /// Removes an object, with the immediate effects.
    pub fn remove(&mut self, key: &Key) -> Option<Arc<Value>> {
        let last = self.store.remove(key)?;
        self.stores_unknown_fields.remove(key);
        let known = (&self.store, &self.registry);
        self.gc.add(known, key, Some(&last), None);
        if key.is(CRDS) {
            self.registry.forget(&key.name);
            self.gc.add_all_owned(&self.store);
        }
        if let Some(namespace) = namespace_that_needs(key).and_then(|it| self.store.find(&it)) {
            create_in_namespace(self, &namespace);
        }
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
}
