//! Shares one watch of a kind among all controllers that need its objects.
//!
//! In: the kinds and namespaces that each controller needs, before the watches begin. Out: for each controller, all events of the shared
//! watch. A watch is of metadata, unless a controller needs the bodies of its children. If a controller reconciles all objects of the kind,
//! the metadata of its own watch is passed on, and there is no other watch.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex},
};

use futures::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use kube::{Resource, core::ApiResource, runtime::watcher::Event};
use prometheus_client::metrics::counter::Counter;
use tokio::{sync::mpsc, task::JoinSet};

use crate::{
    controller_options::Selection,
    engine::{
        related::{ChildOwner, Related, Watched},
        watch::{Source, map},
    },
    lock::lock,
};

/// The maximum number of events that wait for a controller. A busy controller delays the others instead of filling the memory.
pub(crate) const CHANNEL_CAPACITY: usize = 256;

/// What is watched. The version does not matter, because metadata is the same in each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct WatchKey {
    group: String,
    plural: String,
    namespace: Option<String>,
}

/// One watch and its listeners.
struct SharedWatch {
    resource: ApiResource,
    /// The owners whose controllers need the bodies of their children.
    owners: Vec<ChildOwner>,
    listeners: Listeners,
    /// The error counters of the listening controllers.
    errors: Vec<Counter>,
}

/// The channels to the listening controllers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listeners(Vec<mpsc::Sender<Event<Arc<Related>>>>);

/// The shared watches of an operator.
#[derive(Clone, Default)]
pub(crate) struct FanOut(Arc<Mutex<Shared>>);

#[derive(Default)]
struct Shared {
    watches: HashMap<WatchKey, SharedWatch>,
    /// The watches of the controllers' own kinds.
    own: Vec<WatchKey>,
}

impl FanOut {
    /// Returns the events of a kind in a namespace or in all, from its first list on. Objects that an object of the kind of `owner`
    /// controls have their bodies.
    pub fn listen(
        &self,
        resource: &ApiResource,
        namespace: Option<String>,
        owner: Option<ChildOwner>,
        errors: &Counter,
    ) -> impl Stream<Item = Event<Arc<Related>>> + Send + use<> {
        let (sender, events) = mpsc::channel(CHANNEL_CAPACITY);
        let key = WatchKey {
            group: resource.group.clone(),
            plural: resource.plural.clone(),
            namespace,
        };
        let mut shared = lock(&self.0);
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

    /// Registers that a controller watches all objects of its own kind in these namespaces, and passes on the events.
    pub fn owns<K: Resource<DynamicType = ()>>(&self, namespaces: &[Option<String>]) {
        let keys = namespaces.iter().map(watch_key::<K>);
        lock(&self.0).own.extend(keys);
    }

    /// The listeners to the events of a controller's own kind; the first caller gets them. All listeners must have been registered before.
    pub fn take_listeners<K: Resource<DynamicType = ()>>(
        &self,
        namespace: &Option<String>,
    ) -> Listeners {
        let mut shared = lock(&self.0);
        let watch = shared.watches.get_mut(&watch_key::<K>(namespace));
        watch.map_or_else(Listeners::default, |watch| {
            std::mem::take(&mut watch.listeners)
        })
    }

    /// Starts the watches of kinds that no controller reconciles; they end when the set is dropped.
    pub fn start(&self, source: &Source) -> JoinSet<()> {
        let mut watches = JoinSet::new();
        let shared = lock(&self.0);
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
}

/// The events of a watch of whole objects, or of their metadata only.
fn related<const WHOLE: bool>(
    source: &Source,
    key: &WatchKey,
    watch: &SharedWatch,
) -> BoxStream<'static, Event<Arc<Related>>> {
    let (resource, owners) = (watch.resource.clone(), watch.owners.clone());
    let (namespace, errors) = (key.namespace.as_deref(), watch.errors.clone());
    let all = Selection::default();
    let events = source.events::<Watched<WHOLE>>(&resource, namespace, &all, errors);
    let related = move |object: Watched<WHOLE>| Arc::new(object.into_related(&resource, &owners));
    events.map(move |event| map(event, &related)).boxed()
}

impl Listeners {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sends an event to all listeners, and waits for slow ones.
    pub async fn send(&self, event: &Event<Arc<Related>>) {
        for listener in &self.0 {
            // fails if the controller has ended
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
