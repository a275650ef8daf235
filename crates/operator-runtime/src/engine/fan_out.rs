//! One watch of a kind for all that want to know of its objects.
//!
//! In: who wants to know of which kind in which namespace, before the watches begin. Out: for each of them, all events
//! of the one watch. A watch is of metadata, unless a controller wants the bodies of its children; where a controller reconciles the kind,
//! the metadata of what it sees is passed on, and there is no other watch.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use kube::{Resource, core::ApiResource, runtime::watcher::Event};
use prometheus_client::metrics::counter::Counter;
use tokio::{sync::mpsc, task::JoinSet};

use crate::engine::{
    kind::GroupKind,
    related::{Related, Watched},
    watch::{Source, map},
};

/// How many events may wait for a controller. One that is busy holds up the others, rather than to fill the memory.
const WAITING: usize = 256;

/// What is watched. Versions do not matter: metadata is the same in each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct WatchKey {
    group: String,
    plural: String,
    namespace: Option<String>,
}

/// Those who want to know of one kind in one place.
struct SharedWatch {
    resource: ApiResource,
    /// The kinds that want the bodies of their children.
    owners: Vec<GroupKind>,
    listeners: Listeners,
    /// Those of the controllers that listen.
    errors: Vec<Counter>,
}

/// Where events are passed on to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listeners(Vec<mpsc::Sender<Event<Arc<Related>>>>);

/// The watches of an operator.
#[derive(Clone, Default)]
pub(crate) struct FanOut(Arc<Mutex<Shared>>);

#[derive(Default)]
struct Shared {
    watches: HashMap<WatchKey, SharedWatch>,
    /// What controllers watch as their own.
    own: Vec<WatchKey>,
}

impl FanOut {
    /// Events of a kind in a namespace or in all, from its first list on; those of objects that an `owner` controls have their bodies.
    pub fn listen(
        &self,
        resource: &ApiResource,
        namespace: Option<String>,
        owner: Option<GroupKind>,
        errors: &Counter,
    ) -> impl Stream<Item = Event<Arc<Related>>> + Send + use<> {
        let (sender, events) = mpsc::channel(WAITING);
        let key = WatchKey {
            group: resource.group.clone(),
            plural: resource.plural.clone(),
            namespace,
        };
        let mut shared = self.lock();
        let watch = match shared.watches.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(vacant) => vacant.insert(SharedWatch {
                resource: resource.clone(),
                owners: vec![],
                listeners: Listeners::default(),
                errors: vec![],
            }),
        };
        if let Some(owner) = owner {
            if watch.owners.is_empty() {
                // Bodies differ between versions; metadata does not.
                watch.resource = resource.clone();
            }
            watch.owners.push(owner);
        }
        watch.listeners.0.push(sender);
        watch.errors.push(errors.clone());
        stream::unfold(events, |mut events| async move {
            let event = events.recv().await?;
            Some((event, events))
        })
    }

    /// Notes that a controller watches its own kind there, and will pass on what it sees.
    pub fn owns<K: Resource<DynamicType = ()>>(&self, namespaces: &[Option<String>]) {
        let keys = namespaces.iter().map(watch_key::<K>);
        self.lock().own.extend(keys);
    }

    /// Who listens to what a controller sees of its own kind. All must have been said of who listens.
    pub fn listeners<K: Resource<DynamicType = ()>>(
        &self,
        namespace: &Option<String>,
    ) -> Listeners {
        let shared = self.lock();
        let watch = shared.watches.get(&watch_key::<K>(namespace));
        watch.map_or_else(Listeners::default, |watch| watch.listeners.clone())
    }

    /// Begins the watches of kinds that no controller watches as its own; they end when the set is dropped.
    pub fn start(&self, source: &Source) -> JoinSet<()> {
        let mut watches = JoinSet::new();
        let shared = self.lock();
        for (key, watch) in &shared.watches {
            if shared.own.contains(key) {
                continue;
            }
            let mut events = match &*watch.owners {
                [] => related::<false>(source, key, watch),
                _ => related::<true>(source, key, watch),
            };
            let listeners = watch.listeners.clone();
            watches.spawn(async move {
                while let Some(event) = events.next().await {
                    listeners.send(&event).await;
                }
            });
        }
        watches
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn related<const WHOLE: bool>(
    source: &Source,
    key: &WatchKey,
    watch: &SharedWatch,
) -> BoxStream<'static, Event<Arc<Related>>> {
    let (resource, manager) = (watch.resource.clone(), source.operator.clone());
    let owners = watch.owners.clone();
    let namespace = key.namespace.as_deref();
    let events = source.events::<Watched<WHOLE>>(&resource, namespace, watch.errors.clone());
    let related =
        move |object: Watched<WHOLE>| Arc::new(object.into_related(&resource, &manager, &owners));
    events.map(move |event| map(event, &related)).boxed()
}

impl Listeners {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Passes an event on to all; waits for those that are behind.
    pub async fn send(&self, event: &Event<Arc<Related>>) {
        for listener in &self.0 {
            // a controller that has ended listens no more
            let _ended = listener.send(event.clone()).await;
        }
    }
}

fn watch_key<K: Resource<DynamicType = ()>>(namespace: &Option<String>) -> WatchKey {
    WatchKey {
        group: K::group(&()).into_owned(),
        plural: K::plural(&()).into_owned(),
        namespace: namespace.clone(),
    }
}
