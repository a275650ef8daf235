//! The cache of a controller's objects, fed by one watch for each namespace.
//!
//! In: watch events of decoded and undecodable objects. Out: the objects to reconcile, and a [`Store`] of those that can be decoded. No
//! I/O.

use std::{
    collections::{HashMap, HashSet},
    fmt::Debug,
    sync::Arc,
};

use kube::{
    Resource, ResourceExt,
    runtime::{
        reflector::{ObjectRef, Store, store::Writer},
        watcher::Event,
    },
};

use crate::engine::decode::{Decoded, Undecodable};

/// What an event means for the controller.
#[derive(Debug)]
pub(crate) enum Change<K: Resource<DynamicType = ()>> {
    /// Nothing to do.
    Nothing,
    /// Reconcile these objects: one that changed, or all when the cache becomes complete.
    Reconcile(Vec<ObjectRef<K>>),
    /// Reconcile this object, which has the name of this one that was deleted.
    Replaced(ObjectRef<K>, Arc<K>),
    /// This object has left the cache, because its newest version cannot be decoded.
    Undecodable(ObjectRef<K>, Box<Undecodable>),
    /// These objects were deleted; each with its last state that could be decoded, if it was in the cache.
    Gone(Vec<Gone<K>>),
}

/// An object that was deleted.
pub(crate) type Gone<K> = (ObjectRef<K>, Option<Arc<K>>);

/// The part of the cache that one watch fills.
#[derive(Default)]
struct Source {
    namespace: Option<String>,
    /// The objects that the current list has contained so far.
    listed: HashSet<(Option<String>, String)>,
    synced: bool,
}

/// The cache of a controller's own objects: several watches, one store.
pub(crate) struct Cache<K: Resource<DynamicType = ()> + Clone + 'static> {
    writer: Writer<K>,
    store: Store<K>,
    sources: Vec<Source>,
    /// The objects until all watches have completed their first list; nothing is reconciled before that.
    early: HashMap<ObjectRef<K>, Box<K>>,
    /// The objects that cannot be decoded.
    bad: HashMap<ObjectRef<K>, Bad<K>>,
    complete: bool,
}

/// An object that cannot be decoded.
struct Bad<K> {
    /// So that each version is reported once.
    version: Option<String>,
    /// The last state that could be decoded, if it was in the store.
    last: Option<Arc<K>>,
}

impl<K: Resource<DynamicType = ()> + Clone + Debug + Send + Sync + 'static> Cache<K> {
    /// `namespaces` has an entry for each watch; `None` is a watch of all namespaces.
    pub fn new(namespaces: &[Option<String>]) -> Self {
        let writer = Writer::new(());
        let source = |namespace: &Option<String>| Source {
            namespace: namespace.clone(),
            ..Source::default()
        };
        Self {
            store: writer.as_reader(),
            writer,
            sources: namespaces.iter().map(source).collect(),
            early: HashMap::new(),
            bad: HashMap::new(),
            complete: false,
        }
    }

    pub fn store(&self) -> Store<K> {
        self.store.clone()
    }

    /// The number of objects that currently cannot be decoded.
    pub fn undecodable(&self) -> usize {
        self.bad.len()
    }

    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Handles an event of the watch with this index.
    pub fn take(&mut self, source: usize, event: Event<Decoded<K>>) -> Change<K> {
        match event {
            Event::Init => {
                self.sources[source].listed.clear();
                Change::Nothing
            }
            Event::InitApply(object) => {
                let meta = object.meta();
                let name = (
                    meta.namespace.clone(),
                    meta.name.clone().unwrap_or_default(),
                );
                self.sources[source].listed.insert(name);
                self.put(object)
            }
            Event::InitDone => self.listed(source),
            Event::Apply(object) => self.put(object),
            Event::Delete(object) => {
                let key = key(&object);
                let known = self.remove(&key);
                let last = known.map(|known| match object {
                    Decoded::Good(last) => Arc::from(last),
                    Decoded::Bad(_) => known,
                });
                Change::Gone(vec![(key, last)])
            }
        }
    }

    fn put(&mut self, object: Decoded<K>) -> Change<K> {
        let key = key(&object);
        match object {
            Decoded::Good(object) => {
                let bad = self.bad.remove(&key);
                if self.complete {
                    let before = self.store.get(&key).or(bad.and_then(|bad| bad.last));
                    let before = before.filter(|before| before.uid() != object.uid());
                    self.writer.apply_watcher_event(&Event::Apply(*object));
                    match before {
                        // The watch has missed the deletion, and the list shows only what exists.
                        Some(before) => Change::Replaced(key, before),
                        None => Change::Reconcile(vec![key]),
                    }
                } else {
                    self.early.insert(key, object);
                    Change::Nothing
                }
            }
            Decoded::Bad(object) => {
                let version = object.metadata.resource_version.clone();
                let is_reported = self.bad.get(&key).is_some_and(|bad| bad.version == version);
                let last = self.remove(&key);
                self.bad.insert(key.clone(), Bad { version, last });
                if is_reported {
                    Change::Nothing
                } else {
                    Change::Undecodable(key, object)
                }
            }
        }
    }

    /// Removes an object, and returns its last state that was in the store.
    fn remove(&mut self, key: &ObjectRef<K>) -> Option<Arc<K>> {
        self.early.remove(key);
        if let Some(bad) = self.bad.remove(key) {
            return bad.last;
        }
        let object = self.store.get(key)?;
        self.writer
            .apply_watcher_event(&Event::Delete((*object).clone()));
        Some(object)
    }

    /// Handles the end of a list: objects that it did not contain were deleted.
    fn listed(&mut self, source: usize) -> Change<K> {
        let source = &mut self.sources[source];
        let listed = std::mem::take(&mut source.listed);
        source.synced = true;
        let namespace = source.namespace.clone();
        let known = self.store.state();
        let gone: Vec<_> = known
            .iter()
            .map(|object| ObjectRef::from_obj(&**object))
            .chain(self.early.keys().cloned())
            .chain(self.bad.keys().cloned())
            .filter(|key| namespace.is_none() || key.namespace == namespace)
            .filter(|key| !listed.contains(&(key.namespace.clone(), key.name.clone())))
            .collect();
        let gone: Vec<Gone<K>> = gone
            .into_iter()
            .map(|key: ObjectRef<K>| {
                let last = self.remove(&key);
                (key, last)
            })
            .collect();
        if !self.complete {
            // What an earlier list contained and this one does not was deleted, which nothing has reported yet.
            return self.completed();
        }
        if gone.is_empty() {
            Change::Nothing
        } else {
            Change::Gone(gone)
        }
    }

    /// Fills the store once the last watch has completed its first list.
    fn completed(&mut self) -> Change<K> {
        if !self.sources.iter().all(|source| source.synced) {
            return Change::Nothing;
        }
        self.complete = true;
        self.writer.apply_watcher_event(&Event::Init);
        let early = std::mem::take(&mut self.early);
        let mut keys = Vec::with_capacity(early.len());
        for (key, object) in early {
            self.writer.apply_watcher_event(&Event::InitApply(*object));
            keys.push(key);
        }
        self.writer.apply_watcher_event(&Event::InitDone);
        Change::Reconcile(keys)
    }
}

fn key<K: Resource<DynamicType = ()> + 'static>(object: &impl Resource) -> ObjectRef<K> {
    let meta = object.meta();
    let key = ObjectRef::new(meta.name.as_deref().unwrap_or_default());
    match &meta.namespace {
        Some(namespace) => key.within(namespace),
        None => key,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    fn object(namespace: &str, name: &str, version: &str, decodes: bool) -> Decoded<ConfigMap> {
        let data = if decodes { json!({}) } else { json!("no map") };
        serde_json::from_value(json!({
            "metadata": { "name": name, "namespace": namespace, "resourceVersion": version },
            "data": data,
        }))
        .unwrap()
    }

    fn names(change: &Change<ConfigMap>) -> (&'static str, Vec<String>) {
        let sorted = |keys: &[ObjectRef<ConfigMap>]| {
            let mut names: Vec<_> = keys.iter().map(|key| key.name.clone()).collect();
            names.sort();
            names
        };
        match change {
            Change::Nothing => ("nothing", vec![]),
            Change::Reconcile(keys) => ("reconcile", sorted(keys)),
            Change::Replaced(key, _) => ("replaced", vec![key.name.clone()]),
            Change::Gone(gone) => {
                let keys: Vec<_> = gone.iter().map(|(key, _)| key.clone()).collect();
                ("gone", sorted(&keys))
            }
            Change::Undecodable(key, _) => ("undecodable", vec![key.name.clone()]),
        }
    }

    fn cached(cache: &Cache<ConfigMap>) -> Vec<String> {
        let mut names: Vec<_> = cache
            .store()
            .state()
            .iter()
            .filter_map(|object| object.metadata.name.clone())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn nothing_is_reconciled_before_every_watch_has_listed() {
        let mut cache = Cache::new(&[Some("a".into()), Some("b".into())]);
        cache.take(0, Event::Init);
        cache.take(0, Event::InitApply(object("a", "one", "1", true)));
        assert_eq!(names(&cache.take(0, Event::InitDone)).0, "nothing");
        cache.take(0, Event::Apply(object("a", "two", "2", true)));
        assert!(!cache.is_complete());
        cache.take(1, Event::Init);
        cache.take(1, Event::InitApply(object("b", "three", "3", true)));
        let all = cache.take(1, Event::InitDone);
        assert_eq!(
            names(&all),
            (
                "reconcile",
                vec!["one".into(), "three".into(), "two".into()]
            )
        );
        assert_eq!(cached(&cache), ["one", "three", "two"]);
    }

    #[test]
    fn a_relist_of_a_namespace_removes_objects_of_that_namespace_only() {
        let mut cache = Cache::new(&[Some("a".into()), Some("b".into())]);
        for (source, namespace, name) in [(0, "a", "one"), (0, "a", "two"), (1, "b", "three")] {
            cache.take(source, Event::InitApply(object(namespace, name, "1", true)));
        }
        cache.take(0, Event::InitDone);
        cache.take(1, Event::InitDone);
        cache.take(0, Event::Init);
        cache.take(0, Event::InitApply(object("a", "two", "1", true)));
        assert_eq!(
            names(&cache.take(0, Event::InitDone)),
            ("gone", vec!["one".into()])
        );
        assert_eq!(cached(&cache), ["three", "two"]);
    }

    #[test]
    fn objects_of_an_aborted_first_list_never_enter_the_store() {
        let mut cache = Cache::new(&[Some("a".into()), Some("b".into())]);
        cache.take(0, Event::Init);
        cache.take(0, Event::InitApply(object("a", "gone early", "1", true)));
        cache.take(0, Event::InitApply(object("a", "gone bad", "1", false)));
        cache.take(0, Event::Init);
        cache.take(0, Event::InitApply(object("a", "stays", "1", true)));
        cache.take(0, Event::InitApply(object("a", "gone later", "1", true)));
        cache.take(0, Event::InitDone);
        cache.take(1, Event::Init);
        cache.take(1, Event::InitApply(object("b", "other", "1", true)));
        cache.take(0, Event::Init);
        cache.take(0, Event::InitApply(object("a", "stays", "1", true)));
        cache.take(0, Event::InitDone);
        let all = cache.take(1, Event::InitDone);
        let expected = vec!["other".into(), "stays".into()];
        assert_eq!(names(&all), ("reconcile", expected));
        assert_eq!(cached(&cache), ["other", "stays"]);
        assert_eq!(cache.undecodable(), 0);
    }

    #[test]
    fn an_object_that_becomes_undecodable_leaves_the_cache_and_is_reported_once_per_version() {
        let mut cache = Cache::new(&[None]);
        cache.take(0, Event::InitApply(object("a", "one", "1", true)));
        cache.take(0, Event::InitDone);
        let report = cache.take(0, Event::Apply(object("a", "one", "2", false)));
        assert_eq!(names(&report), ("undecodable", vec!["one".into()]));
        assert_eq!((cached(&cache).len(), cache.undecodable()), (0, 1));
        cache.take(0, Event::Init);
        let again = cache.take(0, Event::InitApply(object("a", "one", "2", false)));
        assert_eq!(names(&again).0, "nothing");
        cache.take(0, Event::InitDone);
        assert_eq!(cache.undecodable(), 1, "it is still there");
        let fixed = cache.take(0, Event::Apply(object("a", "one", "3", true)));
        assert_eq!(names(&fixed), ("reconcile", vec!["one".into()]));
        assert_eq!(cache.undecodable(), 0);
    }

    #[test]
    fn a_deleted_undecodable_object_is_forgotten() {
        let mut cache = Cache::new(&[None]);
        cache.take(0, Event::InitApply(object("a", "one", "1", false)));
        cache.take(0, Event::InitApply(object("a", "two", "1", false)));
        cache.take(0, Event::InitDone);
        cache.take(0, Event::Delete(object("a", "one", "2", false)));
        assert_eq!(cache.undecodable(), 1);
        cache.take(0, Event::Init);
        assert_eq!(
            names(&cache.take(0, Event::InitDone)),
            ("gone", vec!["two".into()])
        );
        assert_eq!(cache.undecodable(), 0);
    }

    #[test]
    fn the_last_state_of_a_deleted_object_is_known() {
        let mut cache = Cache::new(&[None]);
        for name in ["deleted", "undecodable", "bad", "missed"] {
            cache.take(0, Event::InitApply(object("a", name, "1", true)));
        }
        cache.take(0, Event::InitDone);
        let version = |change: Change<ConfigMap>| match change {
            Change::Gone(gone) => gone[0].1.as_ref().unwrap().resource_version().unwrap(),
            other => panic!("{other:?}"),
        };
        let deleted = Event::Delete(object("a", "deleted", "2", true));
        assert_eq!(version(cache.take(0, deleted)), "2");
        let undecodable = Event::Delete(object("a", "undecodable", "3", false));
        assert_eq!(version(cache.take(0, undecodable)), "1");
        for version in ["4", "5"] {
            cache.take(0, Event::Apply(object("a", "bad", version, false)));
        }
        let deleted = Event::Delete(object("a", "bad", "6", false));
        assert_eq!(version(cache.take(0, deleted)), "1");
        cache.take(0, Event::Init);
        assert_eq!(version(cache.take(0, Event::InitDone)), "1");
    }

    #[test]
    fn an_object_recreated_under_the_name_replaces_the_deleted_one() {
        let with_uid = |uid: &str| {
            let mut object = object("a", "one", "1", true);
            object.meta_mut().uid = Some(uid.into());
            object
        };
        let mut cache = Cache::new(&[None]);
        cache.take(0, Event::InitApply(with_uid("1")));
        cache.take(0, Event::InitDone);
        let same = cache.take(0, Event::InitApply(with_uid("1")));
        assert_eq!(names(&same).0, "reconcile");
        let Change::Replaced(_, before) = cache.take(0, Event::InitApply(with_uid("2"))) else {
            panic!("not replaced");
        };
        assert_eq!(before.uid().as_deref(), Some("1"));
    }
}
