//! Everything that the server knows, and what follows at once when an object is stored or removed.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::affected::concerns;
use super::endpoint::Endpoints;
use super::initial::namespace_that_needs;
use super::objects::Store;
use super::registry::Registry;
use crate::api::model::key::Key;
use crate::api::resource::crd;

/// The objects that a change of an object concerns.
pub(crate) type Observer = fn(&State, &Key, &Value) -> BTreeSet<Key>;

/// Everything that the server knows.
#[derive(Clone)]
pub(crate) struct State {
    pub registry: Registry,
    pub store: Store,
    /// Whether owners or namespaces may have something to be cleaned up after.
    pub unsettled: bool,
    /// The objects at which the collector of garbage is to look.
    pub affected: BTreeSet<Key>,
    /// Whether names of CRDs may be free or taken that were not.
    pub renamed: bool,
    /// Whether owners are only given by those who may.
    pub enforces_owner_references: bool,
    /// The objects whose stored form has what nobody reads: see `decode::Lost`.
    pub untidy: BTreeSet<Key>,
    /// Where webhooks are reached.
    pub endpoints: Endpoints,
    /// How many addresses and ports Services were given.
    pub allocated: u32,
    /// Who is asked about each change whom it concerns, if anybody follows the changes.
    observer: Option<Observer>,
    /// Whom changes concern, as the observer has it.
    pub concerned: BTreeSet<Key>,
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
            allocated: 0,
            observer: None,
            concerned: BTreeSet::new(),
        };
        state.create_namespaces();
        state.create_service();
        state.create_priority_classes();
        state.create_roles();
        state.store.begin();
        state
    }

    /// Stores an object, and does what follows at once.
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

    /// Removes an object, and does what follows at once.
    pub fn remove(&mut self, key: &Key) -> Option<Arc<Value>> {
        let last = self.store.remove(key)?;
        self.untidy.remove(key);
        self.unsettled = true;
        self.mark_affected(key, Some(&last), None);
        self.after_remove(key);
        self.notice(key, &last);
        Some(last)
    }

    /// Has an observer asked about each change from now on, and all that is there looked at once.
    #[cfg(feature = "workloads")]
    pub fn observe(&mut self, observer: Observer) {
        self.observer = Some(observer);
        self.concerned = self.store.all().map(|(key, _)| key.clone()).collect();
    }

    /// Asks the observer whom an object concerns that was stored or removed.
    fn notice(&mut self, key: &Key, object: &Value) {
        if let Some(observer) = self.observer {
            let mut concerned = observer(self, key, object);
            self.concerned.append(&mut concerned);
        }
    }

    fn after_put(&mut self, key: &Key, object: &Value) {
        if key.plural == crd::PLURAL && key.group == crd::GROUP {
            self.registry.register(object, self.store.version());
            self.renamed = true;
            self.mark_all_owned();
        }
        if key.plural == "namespaces" && key.group.is_empty() {
            self.fill_namespace(object);
        }
    }

    fn after_remove(&mut self, key: &Key) {
        if key.plural == crd::PLURAL && key.group == crd::GROUP {
            self.registry.forget(&key.name);
            self.renamed = true;
            self.mark_all_owned();
        }
        if let Some(namespace) = namespace_that_needs(key).and_then(|it| self.store.find(&it)) {
            self.fill_namespace(&namespace);
        }
    }
}
