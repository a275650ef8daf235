//! The handlers of watch events. They are called for the events of an object in order. Nothing is recorded, and nothing is retried.

use std::{
    collections::{HashMap, VecDeque},
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex},
};

use futures::{FutureExt, future::BoxFuture};
use kube::ResourceExt;
use tokio::task::AbortHandle;
use tokio_util::task::TaskTracker;
use tracing::{Instrument, info_span, warn};

use super::{Handlers, filter::Filter};
use crate::{Context, Error, ObjectRef, Result, error::panic_message, lock::lock, style::Object};

/// What has happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// It existed when the operator was started.
    Listed,
    /// It was created.
    Added,
    /// It was changed, in any part.
    Modified,
    /// It was deleted, or is no longer selected.
    Deleted,
}

/// An event of the watch.
#[derive(Clone)]
pub struct WatchEvent<K> {
    pub(super) kind: EventKind,
    pub(super) object: Arc<K>,
    pub(super) cx: Context,
}

impl<K> WatchEvent<K> {
    /// What has happened.
    pub fn kind(&self) -> EventKind {
        self.kind
    }

    /// The object, after the change, or before it was deleted.
    pub fn object(&self) -> &Arc<K> {
        &self.object
    }

    /// The context: events, the client.
    pub fn cx(&self) -> &Context {
        &self.cx
    }
}

/// A handler of events, as it was registered.
pub(super) struct EventHandler<H: Handlers> {
    pub id: String,
    pub filter: Filter<H::Resource>,
    pub run: RunEvent<H>,
}

type RunEvent<H> = Box<
    dyn Fn(Arc<H>, WatchEvent<<H as Handlers>::Resource>) -> BoxFuture<'static, Result<()>>
        + Send
        + Sync,
>;

/// The maximum number of events of an object that wait for their handlers. Beyond it, the oldest modification is dropped.
const MAX_WAITING: usize = 1000;

/// The events that wait for their handlers. Dropping it aborts the handlers that run.
pub(super) struct Events<H: Handlers> {
    handlers: Arc<H>,
    all: Arc<Vec<EventHandler<H>>>,
    /// The events of each object, while a task handles them.
    waiting: Arc<Mutex<Queues<H::Resource>>>,
    /// The `resourceVersion` of each object that was reported last: a new list also has the objects that have not changed.
    versions: Mutex<HashMap<ObjectRef<H::Resource>, Option<String>>>,
    tracker: TaskTracker,
}

type Queues<K> = HashMap<ObjectRef<K>, Queue<K>>;

struct Queue<K> {
    events: VecDeque<WatchEvent<K>>,
    task: Option<AbortHandle>,
}

impl<H: Handlers> Events<H> {
    pub fn new(handlers: Arc<H>, all: Vec<EventHandler<H>>) -> Self {
        Self {
            handlers,
            all: Arc::new(all),
            waiting: Arc::default(),
            versions: Mutex::default(),
            tracker: TaskTracker::new(),
        }
    }

    /// Adds an event of an object that exists.
    pub fn push(
        &self,
        is_listed: bool,
        object: Arc<H::Resource>,
        cx: &dyn Fn(&H::Resource) -> Context,
    ) {
        if self.all.is_empty() {
            return;
        }
        let key = ObjectRef::from_obj(&*object);
        let version = object.resource_version();
        let before = lock(&self.versions).insert(key.clone(), version.clone());
        let kind = match before {
            Some(before) if before == version => return,
            Some(_) => EventKind::Modified,
            None if is_listed => EventKind::Listed,
            None => EventKind::Added,
        };
        self.enqueue(key, kind, object, cx);
    }

    /// Adds the event of a deleted object.
    pub fn push_deleted(
        &self,
        key: &ObjectRef<H::Resource>,
        last: Option<&Arc<H::Resource>>,
        cx: &dyn Fn(&H::Resource) -> Context,
    ) {
        if self.all.is_empty() {
            return;
        }
        lock(&self.versions).remove(key);
        if let Some(last) = last {
            self.enqueue(key.clone(), EventKind::Deleted, last.clone(), cx);
        }
    }

    /// Waits for the handlers that are running, and calls no more.
    pub async fn stop(&self) {
        self.tracker.close();
        for queue in lock(&self.waiting).values_mut() {
            queue.events.clear();
        }
        self.tracker.wait().await;
    }

    fn enqueue(
        &self,
        key: ObjectRef<H::Resource>,
        kind: EventKind,
        object: Arc<H::Resource>,
        cx: &dyn Fn(&H::Resource) -> Context,
    ) {
        let cx = cx(&object);
        let tasks = cx.shared().tasks.clone();
        let mut waiting = lock(&self.waiting);
        if self.tracker.is_closed() {
            return;
        }
        let queue = waiting.entry(key.clone()).or_insert_with(|| Queue {
            events: VecDeque::new(),
            task: None,
        });
        if queue.events.len() >= MAX_WAITING {
            let modified = queue
                .events
                .iter()
                .position(|it| it.kind == EventKind::Modified);
            if let Some(event) = modified.and_then(|at| queue.events.remove(at)) {
                let object = event.cx.display();
                warn!(
                    object,
                    "{MAX_WAITING} events wait for their handlers; an earlier modification is dropped"
                );
            }
        }
        queue.events.push_back(WatchEvent { kind, object, cx });
        if queue.task.is_none() {
            let (handlers, all) = (self.handlers.clone(), self.all.clone());
            let work = work(handlers, all, self.waiting.clone(), key);
            let task = self.tracker.spawn(tasks.track(work));
            queue.task = Some(task.abort_handle());
        }
    }
}

impl<H: Handlers> Drop for Events<H> {
    fn drop(&mut self) {
        let waiting = lock(&self.waiting);
        waiting
            .values()
            .flat_map(|it| &it.task)
            .for_each(AbortHandle::abort);
    }
}

/// Calls the handlers for the events of an object, until no event waits.
async fn work<H: Handlers>(
    handlers: Arc<H>,
    all: Arc<Vec<EventHandler<H>>>,
    waiting: Arc<Mutex<Queues<H::Resource>>>,
    key: ObjectRef<H::Resource>,
) {
    loop {
        let event = {
            let mut waiting = lock(&waiting);
            let next = waiting.get_mut(&key).and_then(|it| it.events.pop_front());
            match next {
                Some(event) => event,
                None => {
                    waiting.remove(&key);
                    return;
                }
            }
        };
        for handler in &*all {
            let span = info_span!("event", handler = handler.id, object = event.cx.display());
            let called = async {
                if !handler.filter.accepts(&event.object) {
                    return Ok(());
                }
                let run = (handler.run)(handlers.clone(), event.clone());
                event.cx.about(&*event.object, run).await
            };
            let called = AssertUnwindSafe(called).catch_unwind();
            let result = called
                .instrument(span.clone())
                .await
                .unwrap_or_else(|panic| Err(Error::Panicked(panic_message(&*panic).to_owned())));
            if let Err(error) = result {
                event.cx.shared().handler_errors.count(&handler.id);
                span.in_scope(|| warn!("{error}; the handler is not called again for this event"));
            }
        }
    }
}

impl<K: Object> std::fmt::Debug for WatchEvent<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { kind, object, .. } = self;
        write!(f, "{kind:?} {}", object.name_any())
    }
}
