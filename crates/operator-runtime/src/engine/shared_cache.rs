//! One watch and one cache for the controllers that reconcile the same objects of a kind.
//!
//! In: the type, the selectors and the reduction of each controller, before the watches begin. Out: for each controller, the store and the
//! keys of objects to reconcile. Controllers that differ in one of the three have separate watches. A controller updates the state of its
//! objects while the event is handled, before it gets the keys.

use std::{
    any::Any,
    fmt::Debug,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
};

use futures::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use kube::{
    Resource, ResourceExt,
    runtime::{
        reflector::{ObjectRef, Store},
        watcher::Event,
    },
};
use prometheus_client::metrics::counter::Counter;
use tokio::{sync::mpsc, task::JoinSet};
use tracing::warn;

use crate::{
    controller_options::{ControllerOptions, Reduction, Selection},
    engine::{
        cache::{Cache, Change},
        decode::Decoded,
        fan_out::{CHANNEL_CAPACITY, FanOut, Listeners},
        listener::Listener,
        related::Related,
        status_owners::StatusOwners,
        watch::Source,
    },
    error::panic_message,
    lock::lock,
    style::Object,
};

/// The caches of an operator.
#[derive(Clone, Default)]
pub(crate) struct SharedCaches(Arc<Mutex<Vec<Box<dyn Startable>>>>);

/// A cache of any kind.
trait Startable: Any + Send {
    fn start(&self, source: &Source, fan_out: &FanOut, watches: &mut JoinSet<()>);
}

/// The cache of one kind, with one selection and one reduction.
pub(crate) struct SharedCache<K: Resource<DynamicType = ()> + Clone + 'static>(Arc<Inner<K>>);

struct Inner<K: Resource<DynamicType = ()> + Clone + 'static> {
    selection: Selection,
    reduction: Option<Reduction<K>>,
    namespaces: Vec<Option<String>>,
    store: Store<K>,
    status_owners: StatusOwners,
    state: Mutex<State<K>>,
}

struct State<K: Resource<DynamicType = ()> + Clone + 'static> {
    /// `None` once its watches have begun.
    cache: Option<Cache<K>>,
    listeners: Vec<Subscriber<K>>,
}

/// A controller that uses the cache.
struct Subscriber<K: Resource<DynamicType = ()> + 'static> {
    listener: Arc<dyn Listener<K>>,
    keys: mpsc::Sender<Vec<ObjectRef<K>>>,
    watch_errors: Counter,
}

impl SharedCaches {
    /// The cache for a controller with these options, which watches these namespaces: one that another controller has opened, or a new one.
    pub fn open<K>(
        &self,
        options: &ControllerOptions<K>,
        namespaces: &[Option<String>],
        fan_out: &FanOut,
    ) -> SharedCache<K>
    where
        K: Object,
    {
        let mut caches = lock(&self.0);
        let opened = caches.iter().find_map(|cache| {
            let cache: &dyn Any = &**cache;
            let SharedCache(inner) = cache.downcast_ref::<SharedCache<K>>()?;
            let fits = inner.selection == options.selection
                && inner.reduction == options.reduction
                && inner.namespaces == namespaces;
            fits.then(|| SharedCache(inner.clone()))
        });
        if let Some(opened) = opened {
            return opened;
        }
        if options.selection.is_all() {
            fan_out.owns::<K>(namespaces);
        }
        let cache = Cache::new(namespaces);
        let inner = Arc::new(Inner {
            selection: options.selection.clone(),
            reduction: options.reduction.clone(),
            namespaces: namespaces.to_vec(),
            store: cache.store(),
            status_owners: StatusOwners::of::<K>(),
            state: Mutex::new(State {
                cache: Some(cache),
                listeners: vec![],
            }),
        });
        caches.push(Box::new(SharedCache(inner.clone())));
        SharedCache(inner)
    }

    /// Starts the watches; they end when the set is dropped. All listeners must have been added before.
    pub fn start(&self, source: &Source, fan_out: &FanOut, watches: &mut JoinSet<()>) {
        for cache in &*lock(&self.0) {
            cache.start(source, fan_out, watches);
        }
    }
}

impl<K> SharedCache<K>
where
    K: Object,
{
    pub fn store(&self) -> Store<K> {
        self.0.store.clone()
    }

    /// The owners of the status of its objects, for the controller with this field manager.
    pub fn status_owners(&self, manager: &str) -> StatusOwners {
        self.0.status_owners.add(manager);
        self.0.status_owners.clone()
    }

    /// Adds a controller. Returns the objects that it must reconcile. `watch_errors` counts failed lists and watches.
    pub fn listen(
        &self,
        listener: Arc<dyn Listener<K>>,
        watch_errors: Counter,
    ) -> impl Stream<Item = ObjectRef<K>> + Send + use<K> {
        let (sender, received) = mpsc::channel(CHANNEL_CAPACITY);
        lock(&self.0.state).listeners.push(Subscriber {
            listener,
            keys: sender,
            watch_errors,
        });
        let received = stream::unfold(received, |mut received| async move {
            let keys: Vec<ObjectRef<K>> = received.recv().await?;
            Some((stream::iter(keys), received))
        });
        received.flatten()
    }
}

impl<K> Startable for SharedCache<K>
where
    K: Object,
{
    fn start(&self, source: &Source, fan_out: &FanOut, watches: &mut JoinSet<()>) {
        let inner = &self.0;
        let mut state = lock(&inner.state);
        let Some(cache) = state.cache.take() else {
            return;
        };
        let listeners = std::mem::take(&mut state.listeners);
        let errors: Vec<_> = listeners.iter().map(|it| it.watch_errors.clone()).collect();
        let passed_to = inner.namespaces.iter().map(|namespace| {
            if inner.selection.is_all() {
                fan_out.take_listeners::<K>(namespace)
            } else {
                Listeners::default()
            }
        });
        let passed_to = passed_to.collect();
        let events = inner
            .namespaces
            .iter()
            .enumerate()
            .map(|(index, namespace)| {
                let (namespace, selection) = (namespace.as_deref(), &inner.selection);
                let events = source.events::<Decoded<K>>(&(), namespace, selection, errors.clone());
                events.map(move |event| (index, event)).boxed()
            });
        let filler = Filler {
            cache,
            status_owners: inner.status_owners.clone(),
            reduction: inner.reduction.clone(),
            listeners,
            passed_to,
        };
        watches.spawn(filler.run(stream::select_all(events).boxed()));
    }
}

/// Fills a cache.
struct Filler<K: Resource<DynamicType = ()> + Clone + 'static> {
    cache: Cache<K>,
    status_owners: StatusOwners,
    reduction: Option<Reduction<K>>,
    listeners: Vec<Subscriber<K>>,
    /// For each watched namespace, the listeners to the metadata of the objects.
    passed_to: Vec<Listeners>,
}

impl<K> Filler<K>
where
    K: Resource<DynamicType = ()> + Clone + Debug + Send + Sync + 'static,
{
    /// `events` has the events of each watched namespace, with its index.
    async fn run(mut self, mut events: BoxStream<'static, (usize, Event<Decoded<K>>)>) {
        while let Some((index, event)) = events.next().await {
            self.handle(index, event).await;
        }
    }

    async fn handle(&mut self, index: usize, mut event: Event<Decoded<K>>) {
        let was_complete = self.cache.is_complete();
        let version = match &event {
            Event::Apply(object) | Event::InitApply(object) => object.resource_version(),
            _ => None,
        };
        match &mut event {
            Event::Apply(object) | Event::InitApply(object) => {
                self.status_owners.take(object.meta_mut());
            }
            Event::Delete(object) => {
                object.meta_mut().managed_fields = None;
                self.status_owners.forget(object.meta());
            }
            Event::Init | Event::InitDone => {}
        }
        let passed_to = &self.passed_to[index];
        let passed_on = (!passed_to.is_empty()).then(|| metadata(&event));
        if let Some(reduction) = &self.reduction {
            reduce(reduction, &mut event);
        }
        let change = self.cache.take(index, event);
        match &change {
            Change::Replaced(_, last) => self.status_owners.forget(last.meta()),
            Change::Gone(gone) => {
                for (_, last) in gone {
                    last.iter()
                        .for_each(|last| self.status_owners.forget(last.meta()));
                }
            }
            _ => {}
        }
        let cached = self.cache.store().len();
        let completed = self.cache.is_complete() && !was_complete;
        let mut triggered = Vec::with_capacity(self.listeners.len());
        for (position, Subscriber { listener, .. }) in self.listeners.iter().enumerate() {
            if completed {
                listener.filled();
            }
            listener.count(cached, self.cache.undecodable());
            triggered.push(listener.handle(&change, version.as_deref(), position == 0));
        }
        if let Some(event) = passed_on {
            passed_to.send(&event).await;
        }
        for (keys, Subscriber { keys: sender, .. }) in triggered.into_iter().zip(&self.listeners) {
            if !keys.is_empty() {
                // fails if the controller has ended
                let _ended = sender.send(keys).await;
            }
        }
    }
}

/// Reduces the object of an event. If the function panics, the object is cached in its state at that time.
fn reduce<K: Resource<DynamicType = ()>>(reduction: &Reduction<K>, event: &mut Event<Decoded<K>>) {
    let (Event::Apply(Decoded::Good(object))
    | Event::InitApply(Decoded::Good(object))
    | Event::Delete(Decoded::Good(object))) = event
    else {
        return;
    };
    let reduced = catch_unwind(AssertUnwindSafe(|| reduction.apply(object)));
    if let Err(panic) = reduced {
        let (kind, name) = (K::kind(&()), object.name_any());
        warn!(%kind, name, "the function of `reduce` panicked: {}", panic_message(&*panic));
    }
}

/// Converts an event of objects to one of their metadata.
fn metadata<K: Resource<DynamicType = ()>>(event: &Event<Decoded<K>>) -> Event<Arc<Related>> {
    let related = |object: &Decoded<K>| {
        Arc::new(Related {
            metadata: object.meta().clone(),
            body: None,
        })
    };
    match event {
        Event::Apply(object) => Event::Apply(related(object)),
        Event::Delete(object) => Event::Delete(related(object)),
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(related(object)),
        Event::InitDone => Event::InitDone,
    }
}
