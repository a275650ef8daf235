//! The cache of an owned kind's objects, so that applying a child that is as it should be makes no request.
//!
//! In: the events of the kind's watch, and the API server's answers to our own requests. Out: what an apply may rely on. No io.
//!
//! Of an object that one of our objects controls, the cache has the body; of all others, the uid and the controller. An answer to
//! a write is newer than the watch until the watch reports that version. What the cache says may be out of date all the same,
//! so a write that is based on it names the version that it read
//! ([resource versions](https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions)).

use std::{
    collections::{HashMap, HashSet, hash_map},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{api::ObjectMeta, runtime::watcher::Event};
use serde_json::Value;

use crate::related::{self, Related, compact};

/// A namespace, if the kind has one, and a name.
type Key = (Option<String>, String);

/// The objects of one owned kind, as far as this operator's watches see them.
pub(crate) struct Children {
    /// The field manager whose fields the bodies keep.
    manager: String,
    keeps_bodies: bool,
    /// Whether one of the controller's objects controls the object with this metadata.
    is_child: fn(&ObjectMeta) -> bool,
    state: Mutex<State>,
}

struct State {
    /// Counts what has cast doubt on objects.
    doubts: u64,
    watches: Vec<Watch>,
    objects: HashMap<Key, Known>,
}

/// One watch of the kind: of a namespace, or of all.
struct Watch {
    namespace: Option<String>,
    /// What a list in progress has contained so far.
    list: Option<List>,
    /// The newest version that the watch has reported, once it has listed: what it reported since is at least as new.
    passed: Option<u64>,
    /// How many lists it has completed.
    lists: u64,
}

#[derive(Default)]
struct List {
    keys: HashSet<Key>,
    newest: u64,
}

/// What is known of an object.
struct Known {
    uid: String,
    version: Option<u64>,
    trust: Trust,
    content: Content,
    /// For a child that the API server stores otherwise than it was sent (`1000m` as `1`): hashes of what was sent and of
    /// what we owned afterwards.
    applied: Option<(u64, u64)>,
}

/// Where what is known of an object comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// The watch.
    Watched,
    /// An answer to our own write, which the watch has not reported yet.
    Written,
    /// It may be another by now, or gone: only the API server knows. The number is that of the doubt.
    Doubtful(u64),
}

enum Content {
    /// A child of one of our objects, as JSON, with what we manage of it. `None` if the kind's bodies are not kept.
    Child(Option<Arc<[u8]>>),
    /// An object that another controls, or nobody.
    Other(Option<Box<OwnerReference>>),
}

/// What an apply may rely on.
#[derive(Debug, PartialEq)]
pub(crate) enum Cached {
    /// Ask the API server.
    Unknown,
    /// There is no such object.
    Absent,
    /// One that this controller does not control.
    Other(Option<Box<OwnerReference>>),
    /// The object as JSON.
    Child(Arc<[u8]>),
}

/// What the watches had seen when a request was sent.
#[derive(Clone, Copy)]
pub(crate) struct Sent {
    lists: Option<u64>,
    doubts: u64,
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
            passed: None,
            lists: 0,
        };
        Self {
            manager: manager.to_owned(),
            keeps_bodies,
            is_child,
            state: Mutex::new(State {
                doubts: 0,
                watches: namespaces.iter().map(watch).collect(),
                objects: HashMap::new(),
            }),
        }
    }

    /// Takes an event of the watch of `namespace`.
    pub fn take(&self, namespace: Option<&str>, event: &Event<Related>) {
        let mut state = self.lock();
        let State {
            doubts,
            watches,
            objects,
        } = &mut *state;
        let Some(watch) = watches
            .iter_mut()
            .find(|watch| watch.namespace.as_deref() == namespace)
        else {
            return;
        };
        match event {
            Event::Init => watch.list = Some(List::default()),
            Event::InitApply(object) => {
                let key = key(&object.metadata);
                if let Some(list) = &mut watch.list {
                    list.newest = list.newest.max(version(&object.metadata).unwrap_or(0));
                    list.keys.insert(key.clone());
                }
                self.put(objects, key, object);
            }
            Event::InitDone => {
                let list = watch.list.take().unwrap_or_default();
                *doubts += 1;
                objects.retain(|key, known| {
                    let is_elsewhere = watch.namespace.is_some() && key.0 != watch.namespace;
                    is_elsewhere || list.retains(key, known, *doubts)
                });
                watch.passed = Some(list.newest);
                watch.lists += 1;
            }
            Event::Apply(object) => {
                watch.pass(&object.metadata);
                self.put(objects, key(&object.metadata), object);
            }
            Event::Delete(object) => {
                watch.pass(&object.metadata);
                let key = key(&object.metadata);
                let uid = object.metadata.uid.as_deref();
                if objects.get(&key).is_some_and(|known| Some(&*known.uid) == uid) {
                    objects.remove(&key);
                }
            }
        }
    }

    /// Takes what a watch says of an object, unless an answer to a request of our own is newer.
    fn put(&self, objects: &mut HashMap<Key, Known>, key: Key, object: &Related) {
        let Related { metadata, body } = object;
        let before = objects.get(&key);
        let version = version(metadata);
        if before.is_some_and(|known| known.trust != Trust::Watched && known.version > version) {
            return;
        }
        let body = || body.clone();
        let known = self.known(metadata, body, Trust::Watched, before);
        objects.insert(key, known);
    }

    fn known(
        &self,
        metadata: &ObjectMeta,
        body: impl FnOnce() -> Option<Arc<[u8]>>,
        trust: Trust,
        before: Option<&Known>,
    ) -> Known {
        let uid = metadata.uid.clone().unwrap_or_default();
        let applied = before.filter(|known| known.uid == uid);
        Known {
            applied: applied.and_then(|known| known.applied),
            version: version(metadata),
            trust,
            content: if (self.is_child)(metadata) {
                Content::Child(if self.keeps_bodies { body() } else { None })
            } else {
                let mut owners = metadata.owner_references.iter().flatten();
                let controller = owners.find(|owner| owner.controller == Some(true));
                Content::Other(controller.cloned().map(Box::new))
            },
            uid,
        }
    }

    /// What is known of the object of this name.
    pub fn get(&self, namespace: Option<&str>, name: &str) -> Cached {
        let state = self.lock();
        let watch = state.watch(namespace);
        if watch.is_none_or(|watch| watch.passed.is_none()) {
            return Cached::Unknown;
        }
        let Some(known) = state.objects.get(&named(namespace, name)) else {
            return Cached::Absent;
        };
        match &known.content {
            _ if matches!(known.trust, Trust::Doubtful(_)) => Cached::Unknown,
            Content::Child(Some(body)) => Cached::Child(body.clone()),
            Content::Child(None) => Cached::Unknown,
            Content::Other(controller) => Cached::Other(controller.clone()),
        }
    }

    /// To be called before a request whose answer [`learn`](Self::learn) takes.
    pub fn sending(&self, namespace: Option<&str>) -> Sent {
        let state = self.lock();
        let watch = state.watch(namespace);
        Sent {
            lists: watch.map(|watch| watch.lists),
            doubts: state.doubts,
        }
    }

    /// The API server has answered a request with this object.
    pub fn learn(&self, sent: Sent, object: &Value) {
        let Some(metadata) = related::metadata(object) else {
            return;
        };
        let mut state = self.lock();
        let (key, version) = (key(&metadata), version(&metadata));
        let watch = state.watch(metadata.namespace.as_deref());
        let before = state.objects.get(&key);
        let is_reported = watch.is_some_and(|watch| {
            let passed = watch.passed.zip(version);
            passed.is_some_and(|(passed, version)| passed >= version)
        });
        let trust = match (watch, before) {
            (_, Some(known)) if known.version > version => return,
            (_, Some(known)) if is_reported && known.is_settled_by(sent) => Trust::Watched,
            // What the watch has reported since is newer: another version, or that the object is gone.
            (_, _) if is_reported => return,
            // A list that was completed since the request may be newer, and lack the object.
            (Some(watch), _) if Some(watch.lists) == sent.lists && version.is_some() => {
                Trust::Written
            }
            _ => Trust::Doubtful(state.doubts),
        };
        let body = || Some(compact(object.clone(), &self.manager));
        let known = self.known(&metadata, body, trust, before);
        state.objects.insert(key, known);
    }

    /// What is known of the object may be wrong: a write of it failed, or deleted it.
    pub fn doubt(&self, namespace: Option<&str>, name: &str) {
        let mut state = self.lock();
        state.doubts += 1;
        let doubt = Trust::Doubtful(state.doubts);
        if let Some(known) = state.objects.get_mut(&named(namespace, name)) {
            known.trust = doubt;
        }
    }

    /// The API server has answered a request that there is no such object.
    pub fn learn_absent(&self, sent: Sent, namespace: Option<&str>, name: &str) {
        let mut state = self.lock();
        if let hash_map::Entry::Occupied(known) = state.objects.entry(named(namespace, name))
            && known.get().is_settled_by(sent)
        {
            known.remove();
        }
    }

    /// The hashes that were [remembered](Self::remember) for the object, if it is the same one.
    pub fn applied(&self, namespace: Option<&str>, name: &str, uid: &str) -> Option<(u64, u64)> {
        let state = self.lock();
        let known = state.objects.get(&named(namespace, name))?;
        known.applied.filter(|_| known.uid == uid)
    }

    /// Keeps the hashes of what was sent and of what we owned afterwards, for as long as the object is known.
    pub fn remember(&self, namespace: Option<&str>, name: &str, applied: Option<(u64, u64)>) {
        if let Some(known) = self.lock().objects.get_mut(&named(namespace, name)) {
            known.applied = applied;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The watch that reports the objects of a namespace.
    fn watch(&self, namespace: Option<&str>) -> Option<&Watch> {
        let mut watches = self.watches.iter();
        watches.find(|watch| watch.namespace.is_none() || watch.namespace.as_deref() == namespace)
    }
}

impl Watch {
    fn pass(&mut self, metadata: &ObjectMeta) {
        self.passed = self.passed.max(version(metadata));
    }
}

impl Known {
    /// Whether it is doubtful, and the answer to a request is not.
    fn is_settled_by(&self, sent: Sent) -> bool {
        matches!(self.trust, Trust::Doubtful(doubt) if doubt <= sent.doubts)
    }
}

impl List {
    /// Whether an object stays known when the list is complete, which is the doubt of this number.
    fn retains(&self, key: &Key, known: &mut Known, doubt: u64) -> bool {
        let is_newer = known.version.is_none_or(|version| version > self.newest);
        if known.trust != Trust::Watched && is_newer {
            // The list may be older than the write, or the object may have been deleted before it.
            known.trust = Trust::Doubtful(doubt);
            return true;
        }
        self.keys.contains(key)
    }
}

fn named(namespace: Option<&str>, name: &str) -> Key {
    (namespace.map(str::to_owned), name.to_owned())
}

fn key(metadata: &ObjectMeta) -> Key {
    (
        metadata.namespace.clone(),
        metadata.name.clone().unwrap_or_default(),
    )
}

/// Versions of one kind compare as numbers.
fn version(metadata: &ObjectMeta) -> Option<u64> {
    metadata.resource_version.as_ref()?.parse().ok()
}

#[cfg(test)]
mod tests;
