//! The objects, their versions, and the log of changes for watches and for lists of old versions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use super::weight::weight;
use crate::model::Key;
use crate::model::metadata::owners;

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Change {
    Added,
    Modified,
    Deleted,
}

/// An entry of the log.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub version: u64,
    pub change: Change,
    pub key: Key,
    pub object: Arc<Value>,
    pub previous: Option<Arc<Value>>,
    /// The number of bytes of memory that only this entry uses.
    weight: usize,
}

/// The objects at the newest version, and the log of earlier changes.
#[derive(Clone, Default)]
pub(crate) struct Store {
    objects: BTreeMap<Key, Arc<Value>>,
    /// The objects with an owner, by the owner's uid.
    owned: BTreeMap<String, BTreeSet<Key>>,
    log: VecDeque<Event>,
    /// The number of bytes of memory that only the log uses.
    weight: usize,
    version: u64,
    /// The newest version whose change is no longer in the log.
    horizon: u64,
}

/// The maximum number of changes in the log, and of their bytes. Some changes are always kept, so that active watches get each of them.
const REMEMBERED: usize = 20_000;
const REMEMBERED_BYTES: usize = 64 * 1024 * 1024;
const ALWAYS_REMEMBERED: usize = 16;

impl Store {
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The version that the next change gets.
    pub fn next_version(&self) -> u64 {
        self.version + 1
    }

    pub fn horizon(&self) -> u64 {
        self.horizon
    }

    pub fn find(&self, key: &Key) -> Option<Arc<Value>> {
        self.objects.get(key).cloned()
    }

    /// All objects of a kind, in one namespace, or in all namespaces if it is empty.
    pub fn of_kind<'a>(
        &'a self,
        resource: (&'a str, &'a str),
        namespace: &'a str,
    ) -> impl Iterator<Item = (&'a Key, &'a Arc<Value>)> {
        let first = Key::new(resource, namespace, "");
        self.objects.range(first..).take_while(move |(key, _)| {
            key.is(resource) && (namespace.is_empty() || key.namespace == namespace)
        })
    }

    pub fn all(&self) -> impl Iterator<Item = (&Key, &Arc<Value>)> {
        self.objects.iter()
    }

    /// The objects of a kind at an earlier version that is still in the log.
    pub fn at_version(&self, version: u64, resource: (&str, &str)) -> BTreeMap<Key, Arc<Value>> {
        let mut objects: BTreeMap<Key, Arc<Value>> = self
            .of_kind(resource, "")
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        for event in self
            .log
            .iter()
            .rev()
            .take_while(|event| event.version > version)
            .filter(|event| event.key.is(resource))
        {
            match &event.previous {
                Some(previous) => objects.insert(event.key.clone(), previous.clone()),
                None => objects.remove(&event.key),
            };
        }
        objects
    }

    /// The changes after a version.
    pub fn since(&self, version: u64) -> impl Iterator<Item = &Event> {
        let first = self.log.partition_point(|event| event.version <= version);
        self.log.range(first..)
    }

    /// The dependents of the object with this uid.
    pub fn owned_by(&self, uid: &str) -> Vec<Key> {
        self.owned.get(uid).into_iter().flatten().cloned().collect()
    }

    /// All objects with an owner.
    pub fn owned(&self) -> BTreeSet<Key> {
        self.owned.values().flatten().cloned().collect()
    }

    /// Updates the index of objects by owner.
    fn note_owners(&mut self, key: &Key, before: Option<&Value>, after: Option<&Value>) {
        for owner in before.into_iter().flat_map(owner_uids) {
            if let Some(keys) = self.owned.get_mut(owner) {
                keys.remove(key);
                if keys.is_empty() {
                    self.owned.remove(owner);
                }
            }
        }
        for owner in after.into_iter().flat_map(owner_uids) {
            let keys = self.owned.entry(owner.to_owned()).or_default();
            keys.insert(key.clone());
        }
    }

    /// Stores an object with the next version, which becomes its `resourceVersion`.
    pub fn put(&mut self, key: Key, mut object: Value) -> Arc<Value> {
        self.version = self.next_version();
        stamp(&mut object, self.version);
        let object = Arc::new(object);
        let previous = self.objects.insert(key.clone(), object.clone());
        self.note_owners(&key, previous.as_deref(), Some(&object));
        let change = if previous.is_some() {
            Change::Modified
        } else {
            Change::Added
        };
        self.remember(change, key, object.clone(), previous);
        object
    }

    /// Removes an object. The log contains its last state with the next version.
    pub fn remove(&mut self, key: &Key) -> Option<Arc<Value>> {
        let previous = self.objects.remove(key)?;
        self.note_owners(key, Some(&previous), None);
        self.version += 1;
        let mut last = Value::clone(&previous);
        stamp(&mut last, self.version);
        let last = Arc::new(last);
        self.remember(Change::Deleted, key.clone(), last.clone(), Some(previous));
        Some(last)
    }

    /// Ends the initialization: the initial objects have no changes in the log.
    pub fn begin(&mut self) {
        self.horizon = self.version;
        self.clear_log();
    }

    /// Discards the log, so that no watch can continue from an earlier version.
    pub fn compact(&mut self) {
        self.version += 1;
        self.horizon = self.version;
        self.clear_log();
    }

    fn clear_log(&mut self) {
        self.log.clear();
        self.weight = 0;
    }

    /// Adds a change to the log, and removes the oldest ones beyond the limits.
    fn remember(
        &mut self,
        change: Change,
        key: Key,
        object: Arc<Value>,
        previous: Option<Arc<Value>>,
    ) {
        // The current state of an object is stored anyway; for a removed object, the log has the only copy.
        let copy = match change {
            Change::Deleted => weight(&object),
            Change::Added | Change::Modified => 0,
        };
        let weight = copy + previous.as_deref().map_or(0, weight);
        self.weight += weight;
        self.log.push_back(Event {
            version: self.version,
            change,
            key,
            object,
            previous,
            weight,
        });
        while self.log.len() > REMEMBERED
            || self.weight > REMEMBERED_BYTES && self.log.len() > ALWAYS_REMEMBERED
        {
            let Some(forgotten) = self.log.pop_front() else {
                return;
            };
            self.weight -= forgotten.weight;
            self.horizon = forgotten.version;
        }
    }
}

fn owner_uids(object: &Value) -> impl Iterator<Item = &str> {
    owners(object)
        .iter()
        .filter_map(|owner| owner["uid"].as_str())
}

fn stamp(object: &mut Value, version: u64) {
    object["metadata"]["resourceVersion"] = version.to_string().into();
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kinds::resource::CONFIG_MAPS;

    fn key(name: &str) -> Key {
        Key::new(CONFIG_MAPS, "", name)
    }

    fn map(bytes: usize) -> Value {
        json!({"metadata": {"name": "a"}, "data": {"a": "a".repeat(bytes)}})
    }

    /// The memory of the log's entries, counting each value once.
    fn kept(store: &Store) -> usize {
        let now: BTreeSet<*const Value> = store.objects.values().map(Arc::as_ptr).collect();
        let values = store
            .log
            .iter()
            .flat_map(|event| event.previous.iter().chain([&event.object]));
        let past: BTreeMap<*const Value, usize> = values
            .map(|value| (Arc::as_ptr(value), weight(value)))
            .filter(|(at, _)| !now.contains(at))
            .collect();
        past.values().sum()
    }

    #[test]
    fn the_log_is_bounded_by_bytes() {
        let mut store = Store::default();
        for round in 0..100 {
            store.put(key("a"), map(900_000));
            store.put(key("b"), map(10));
            if round % 10 == 0 {
                store.remove(&key("a"));
            }
            assert!(kept(&store) <= REMEMBERED_BYTES);
            assert_eq!(kept(&store), store.weight);
        }
        assert!(store.horizon() > 0);
        let first = store.since(store.horizon()).next();
        assert_eq!(first.map(|event| event.version), Some(store.horizon() + 1));
        store.compact();
        assert_eq!(store.weight, 0);
    }

    #[test]
    fn small_changes_are_remembered_by_their_number() {
        let mut store = Store::default();
        for _ in 0..REMEMBERED + 5 {
            store.put(key("a"), map(10));
        }
        assert_eq!(store.horizon(), 5);
    }

    #[test]
    fn the_last_changes_are_remembered_whatever_their_size() {
        let mut store = Store::default();
        for _ in 0..2 * ALWAYS_REMEMBERED {
            store.put(key("a"), map(8_000_000));
        }
        assert_eq!(store.log.len(), ALWAYS_REMEMBERED);
    }
}
