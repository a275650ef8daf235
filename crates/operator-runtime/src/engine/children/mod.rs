//! The cache of an owned kind's objects, so that an apply of an unchanged child makes no request.
//!
//! In: the events of the kind's watch, and the responses to our own requests. Out: the state of a child, as far as an apply can rely on it.
//! No I/O.
//!
//! The cache has the bodies of objects that one of our objects controls, and only the existence of all others. The response to a write is
//! newer than the watch until the watch reports that version. From the start of a write until its response, and after a lost response, the
//! object is unknown. A cached object may still be out of date, so a write that is based on it names the version that it read ([resource
//! versions](https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions)), and a create names a version that no object has.

use std::{
    collections::{BTreeSet, HashMap, hash_map},
    sync::{Arc, Mutex},
};

use kube::{api::ObjectMeta, runtime::watcher::Event};
use serde_json::Value;

use self::{
    by_owner::ByOwner,
    entry::{Content, Entry, List, Trust, Watch},
};
use crate::{
    engine::{
        related::{self, Related, compact},
        version,
    },
    lock::lock,
};

mod by_owner;
mod entry;

pub(crate) use entry::SentAt;

/// A namespace, if the kind has one, and a name.
pub(crate) type Key = (Option<String>, String);

/// The objects of one owned kind in the watched namespaces.
pub(crate) struct Children {
    /// The field manager whose `managedFields` the bodies keep.
    manager: String,
    keeps_bodies: bool,
    /// Whether one of the controller's objects controls the object with this metadata.
    is_child: fn(&ObjectMeta) -> bool,
    state: Mutex<State>,
}

struct State {
    /// Counts the events that invalidated objects: writes, failures and completed lists.
    invalidations: u64,
    watches: Vec<Watch>,
    objects: HashMap<Key, Entry>,
    /// `None` if the controller does not look for all children of an object.
    by_owner: Option<ByOwner>,
}

/// The result of a lookup.
#[derive(Debug, PartialEq)]
pub(crate) enum Cached {
    /// Unknown: the API server must be asked.
    Unknown,
    /// The object does not exist.
    Absent,
    /// The object as JSON.
    Child(Arc<[u8]>),
}

impl Children {
    /// `namespaces` has an entry for each watch; `None` is a watch of all namespaces.
    pub fn new(
        namespaces: &[Option<String>],
        manager: &str,
        keeps_bodies: bool,
        is_child: fn(&ObjectMeta) -> bool,
    ) -> Self {
        let watch = |namespace: &Option<String>| Watch {
            namespace: namespace.clone(),
            list: None,
            newest: None,
            lists: 0,
        };
        Self {
            manager: manager.to_owned(),
            keeps_bodies,
            is_child,
            state: Mutex::new(State {
                invalidations: 0,
                watches: namespaces.iter().map(watch).collect(),
                objects: HashMap::new(),
                by_owner: None,
            }),
        }
    }

    /// With an index for [`of_owner`](Self::of_owner).
    pub fn indexed(self) -> Self {
        lock(&self.state).by_owner = Some(ByOwner::default());
        self
    }

    /// Handles an event of the watch of `namespace`.
    pub fn handle(&self, namespace: Option<&str>, event: &Event<Arc<Related>>) {
        let mut state = lock(&self.state);
        let State {
            invalidations,
            watches,
            objects,
            by_owner,
        } = &mut *state;
        let Some(watch) = watches
            .iter_mut()
            .find(|watch| watch.namespace.as_deref() == namespace)
        else {
            return;
        };
        match event {
            Event::Init => {
                if watch.newest.is_none() {
                    // no entry is used before the first list is complete, and repeated attempts to list must not let the entries grow
                    objects.retain(|key, _| watch.is_elsewhere(key));
                }
                watch.list = Some(List::default());
            }
            Event::InitApply(object) => {
                let key = key(&object.metadata);
                if let Some(list) = &mut watch.list {
                    list.newest = list
                        .newest
                        .max(version::number_of(&object.metadata).unwrap_or(0));
                    list.keys.insert(key.clone());
                }
                self.put(objects, by_owner, key, object);
            }
            Event::InitDone => {
                let list = watch.list.take().unwrap_or_default();
                *invalidations += 1;
                objects.retain(|key, known| {
                    watch.is_elsewhere(key) || list.retains(key, known, *invalidations)
                });
                if let Some(by_owner) = by_owner {
                    by_owner.retain(|key| objects.contains_key(key));
                }
                watch.newest = Some(list.newest);
                watch.lists += 1;
            }
            Event::Apply(object) => {
                watch.advance(&object.metadata);
                self.put(objects, by_owner, key(&object.metadata), object);
            }
            Event::Delete(object) => {
                watch.advance(&object.metadata);
                let key = key(&object.metadata);
                let uid = object.metadata.uid.as_deref();
                if objects
                    .get(&key)
                    .is_some_and(|known| Some(&*known.uid) == uid)
                {
                    let owner = objects.remove(&key).and_then(|known| known.owner);
                    if let (Some(by_owner), Some(owner)) = (by_owner, owner) {
                        by_owner.remove(owner, &key);
                    }
                }
            }
        }
    }

    /// Records an object that a watch reported, unless a response to our own request is newer.
    fn put(
        &self,
        objects: &mut HashMap<Key, Entry>,
        by_owner: &mut Option<ByOwner>,
        key: Key,
        object: &Related,
    ) {
        let Related { metadata, body } = object;
        let before = objects.get(&key);
        let version = version::number_of(metadata);
        if before.is_some_and(|known| known.is_newer_than(version)) {
            return;
        }
        let known = self.new_entry(metadata, body.clone(), Trust::Watched, before);
        let owner = known.owner.clone();
        let before = objects.insert(key.clone(), known);
        if let Some(by_owner) = by_owner {
            if let Some(former) = before.and_then(|before| before.owner) {
                by_owner.remove(former, &key);
            }
            if let Some(owner) = owner {
                by_owner.insert(&owner, &key);
            }
        }
    }

    fn new_entry(
        &self,
        metadata: &ObjectMeta,
        body: Option<Arc<[u8]>>,
        trust: Trust,
        before: Option<&Entry>,
    ) -> Entry {
        let uid: Box<str> = metadata.uid.as_deref().unwrap_or_default().into();
        let applied = before.filter(|known| known.uid == uid);
        let controller = related::controller(metadata).filter(|_| (self.is_child)(metadata));
        Entry {
            applied: applied.and_then(|known| known.applied),
            version: version::number_of(metadata),
            trust,
            content: match controller {
                Some(_) => Content::Child(body.filter(|_| self.keeps_bodies)),
                None => Content::Other,
            },
            owner: controller.map(|controller| controller.uid.as_str().into()),
            uid,
        }
    }

    /// Whether each watch has completed its first list.
    pub fn is_complete(&self) -> bool {
        lock(&self.state)
            .watches
            .iter()
            .all(|watch| watch.newest.is_some())
    }

    /// Whether a watch reports the objects of a namespace.
    pub fn watches(&self, namespace: Option<&str>) -> bool {
        lock(&self.state).watch(namespace).is_some()
    }

    /// Looks up an object.
    pub fn get(&self, namespace: Option<&str>, name: &str) -> Cached {
        let state = lock(&self.state);
        let watch = state.watch(namespace);
        if watch.is_none_or(|watch| watch.newest.is_none()) {
            return Cached::Unknown;
        }
        let Some(known) = state.objects.get(&key_of(namespace, name)) else {
            return Cached::Absent;
        };
        match &known.content {
            _ if matches!(known.trust, Trust::Invalidated(_)) => Cached::Unknown,
            Content::Child(Some(body)) => Cached::Child(body.clone()),
            // `Unknown` for an object that another controls, too: it may have been deleted since, so it is read before the child is refused
            Content::Child(None) | Content::Other => Cached::Unknown,
            Content::Deleted => Cached::Absent,
        }
    }

    /// The namespaces and names of the objects that the one with this uid controls, in order.
    pub fn of_owner(&self, uid: &str) -> BTreeSet<Key> {
        let state = lock(&self.state);
        let keys = state.by_owner.iter().flat_map(|index| index.of(uid));
        let is_child = |key: &&Key| {
            let entry = state.objects.get(*key);
            entry.is_some_and(|entry| {
                entry.owner.as_deref() == Some(uid) && !matches!(entry.content, Content::Deleted)
            })
        };
        keys.filter(is_child).cloned().collect()
    }

    /// Must be called before a read whose response is passed to [`record`](Self::record).
    pub fn before_read(&self, namespace: Option<&str>) -> SentAt {
        lock(&self.state).sent(namespace)
    }

    /// Must be called before a write; invalidates the object, because the response may be lost.
    pub fn before_write(&self, namespace: Option<&str>, name: &str) -> SentAt {
        let mut state = lock(&self.state);
        state.invalidate(namespace, name);
        state.sent(namespace)
    }

    /// Invalidates an object after a failed write, which may have been executed.
    pub fn invalidate(&self, namespace: Option<&str>, name: &str) {
        lock(&self.state).invalidate(namespace, name);
    }

    /// Records the object in a response of the API server.
    pub fn record(&self, sent: SentAt, object: &Value) {
        let Some(metadata) = related::metadata(object) else {
            return;
        };
        let keeps_body = self.keeps_bodies && (self.is_child)(&metadata);
        let body = keeps_body.then(|| compact(object, &self.manager));
        let mut state = lock(&self.state);
        let Some(watch) = state.watch(metadata.namespace.as_deref()) else {
            return;
        };
        let (key, version) = (key(&metadata), version::number_of(&metadata));
        let before = state.objects.get(&key);
        let newest = watch.newest.zip(version);
        let is_reported = newest.is_some_and(|(newest, version)| newest >= version);
        let trust = match before {
            Some(known) if known.version > version => return,
            Some(known) if is_reported && known.is_confirmed_by(sent) => Trust::Watched,
            // What the watch has reported since is newer: another version, or the deletion.
            _ if is_reported => return,
            // A list that was completed since the request may be newer, and lack the object.
            _ if Some(watch.lists) == sent.lists && version.is_some() => Trust::Answered,
            _ => Trust::Invalidated(state.invalidations),
        };
        let is_usable = watch.newest.is_some() && !matches!(trust, Trust::Invalidated(_));
        let body = body.filter(|_| is_usable);
        let known = self.new_entry(&metadata, body, trust, before);
        if let (Some(by_owner), Some(owner)) = (&mut state.by_owner, &known.owner) {
            by_owner.insert(owner, &key);
        }
        state.objects.insert(key, known);
    }

    /// Records that the API server has no such object.
    pub fn record_absent(&self, sent: SentAt, namespace: Option<&str>, name: &str) {
        let mut state = lock(&self.state);
        if let hash_map::Entry::Occupied(mut known) = state.objects.entry(key_of(namespace, name))
            && known.get().is_confirmed_by(sent)
        {
            if known.get().version.is_none() {
                known.remove();
                return;
            }
            let known = known.get_mut();
            known.trust = Trust::Answered;
            known.content = Content::Deleted;
        }
    }

    /// The hashes that were [remembered](Self::remember) for the object, if it still has this uid.
    pub fn applied(&self, namespace: Option<&str>, name: &str, uid: &str) -> Option<(u64, u64)> {
        let state = lock(&self.state);
        let known = state.objects.get(&key_of(namespace, name))?;
        known.applied.filter(|_| *known.uid == *uid)
    }

    /// Remembers the hashes of what was sent and of our `managedFields` afterwards, until the next write of the object.
    pub fn remember(&self, namespace: Option<&str>, name: &str, uid: &str, applied: (u64, u64)) {
        let mut state = lock(&self.state);
        let known = state.objects.get_mut(&key_of(namespace, name));
        if let Some(known) = known.filter(|known| *known.uid == *uid) {
            known.applied = Some(applied);
        }
    }
}

impl State {
    fn sent(&self, namespace: Option<&str>) -> SentAt {
        let watch = self.watch(namespace);
        SentAt {
            lists: watch.map(|watch| watch.lists),
            invalidations: self.invalidations,
        }
    }

    /// Invalidates an object. Its version stays, so that older events are recognized.
    fn invalidate(&mut self, namespace: Option<&str>, name: &str) {
        self.invalidations += 1;
        let trust = Trust::Invalidated(self.invalidations);
        let is_watched = self.watch(namespace).is_some();
        match self.objects.entry(key_of(namespace, name)) {
            hash_map::Entry::Occupied(mut known) => {
                let known = known.get_mut();
                known.trust = trust;
                known.applied = None;
                known.content = Content::Child(None);
            }
            hash_map::Entry::Vacant(unknown) if is_watched => {
                unknown.insert(Entry {
                    uid: Box::default(),
                    owner: None,
                    version: None,
                    trust,
                    content: Content::Child(None),
                    applied: None,
                });
            }
            hash_map::Entry::Vacant(_) => {}
        }
    }

    /// The watch that reports the objects of a namespace.
    fn watch(&self, namespace: Option<&str>) -> Option<&Watch> {
        self.watches
            .iter()
            .find(|watch| watch.namespace.is_none() || watch.namespace.as_deref() == namespace)
    }
}

fn key_of(namespace: Option<&str>, name: &str) -> Key {
    (namespace.map(str::to_owned), name.to_owned())
}

fn key(metadata: &ObjectMeta) -> Key {
    (
        metadata.namespace.clone(),
        metadata.name.clone().unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests;
