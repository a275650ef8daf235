//! One controller: its watches, and the reconciliations that they trigger.

use std::{
    num::NonZeroU16,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use futures::{
    Stream, StreamExt,
    future::{BoxFuture, join3},
    stream::{self, BoxStream},
};
use kube::{
    Client,
    runtime::{Controller, controller::Config, reflector::ObjectRef, watcher::Event},
};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::{
    context::{ControllerContext, Owned},
    engine::{
        children::Children,
        deleted,
        fan_out::FanOut,
        identity::Identity,
        kind::{Kind, Scope},
        object_locks::ObjectLocks,
        objects::Objects,
        reconciled::Observers,
        reconciliation::{self, Reconciliations},
        related::{Changed, ChildOwner, Related, controller_of},
        shared_cache::SharedCaches,
        tasks::BackgroundTasks,
        watch,
    },
    error::panic_message,
    health::Health,
    metrics::Metrics,
    settings::Settings,
    setup::{Owns, Watches},
    style::Reconciler,
};

/// How long reconciliations wait for the first lists of the owned kinds. If a list fails for longer, for example because of missing
/// permissions, each child is read from the API server.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);

/// What a controller shares with the rest of the operator.
#[derive(Clone)]
pub(crate) struct Wiring {
    pub client: Client,
    pub settings: Arc<Settings>,
    pub metrics: Arc<Metrics>,
    pub health: Arc<Health>,
    pub fan_out: FanOut,
    pub caches: SharedCaches,
    pub stop: CancellationToken,
    pub observers: Observers,
    /// The tasks beside the controllers that make requests. They have ended before the lease is released.
    pub tasks: BackgroundTasks,
}

impl Wiring {
    pub fn for_tests(client: Client, settings: Settings) -> Self {
        let metrics = Arc::new(Metrics::new("test", "test"));
        let progress =
            crate::engine::progress::Progress::new(settings.watch_timeout, metrics.clone());
        let works = tokio::sync::watch::channel(false).0;
        Self {
            client,
            health: Health::new(progress, settings.lease_duration, works),
            settings: Arc::new(settings),
            metrics,
            fan_out: FanOut::default(),
            caches: SharedCaches::default(),
            stop: CancellationToken::new(),
            observers: Observers::default(),
            tasks: BackgroundTasks::default(),
        }
    }

    /// The wiring for one term as the leader, with its own stop token, watches, caches and tasks.
    pub fn term(&self) -> Self {
        Self {
            fan_out: FanOut::default(),
            caches: SharedCaches::default(),
            stop: self.stop.child_token(),
            tasks: BackgroundTasks::default(),
            ..self.clone()
        }
    }
}

/// A running controller; it ends after the shutdown request, when no reconciliation is running.
pub(crate) type Running = BoxFuture<'static, ()>;

/// Creates a controller, which runs when it is polled. Its watches are registered immediately, before any watch begins.
pub(crate) fn run<R: Reconciler>(
    reconciler: Arc<R>,
    watches: Watches,
    identity: Identity,
    wiring: Wiring,
) -> Running {
    let watched = WatchedNamespaces::of::<R>(&wiring);
    let options = reconciler.options();
    let metrics = wiring.metrics.of_controller(&identity);
    let manager = identity.manager();
    let listen = |kind: &Kind, namespace: Option<String>, owner| {
        let fan_out = &wiring.fan_out;
        let events = fan_out.listen(&kind.resource, namespace, owner, &metrics.watch_errors);
        events.boxed()
    };
    let mut other_events = OtherEvents::default();
    for (index, owns) in watches.owns.iter().enumerate() {
        for namespace in owns.kind.scope.watched(&watched.child_namespaces) {
            let owner = owns.caches_content.then(|| ChildOwner {
                kind: identity.kind.clone(),
                manager: manager.clone(),
            });
            let events = listen(&owns.kind, namespace.clone(), owner);
            other_events.children.push((index, namespace, events));
        }
    }
    for kind in &watches.watches {
        for namespace in kind.scope.watched(&watched.namespaces) {
            let events = listen(kind, namespace, None);
            other_events.others.push((kind.clone(), events));
        }
    }
    let cache = (wiring.caches).open(&options, &watched.primary, &wiring.fan_out);
    let owned = |owns: Owns| {
        let children = Children::new(
            &owns.kind.scope.watched(&watched.child_namespaces),
            &manager,
            owns.caches_content,
            |child| controller_of::<R::Resource>(child).is_some(),
        );
        Owned {
            children: if watches.observes_children {
                children.indexed()
            } else {
                children
            },
            kind: owns.kind,
            update: owns.update,
        }
    };
    let owns = watches.owns.into_iter().map(owned).collect();
    let workers = options.workers.unwrap_or(wiring.settings.concurrency);
    let max_concurrent = &metrics.reconciles.max_concurrent;
    max_concurrent.set(workers.get().into());
    let derived_finalizer = identity.finalizer();
    let controller_context = ControllerContext::new::<R::Resource>(
        wiring.client,
        identity,
        owns,
        watches.watches,
        cache.status_owners(&manager),
        &metrics,
        wiring.tasks,
    );
    if watches.status_in_object {
        controller_context.declare_status_in_object();
    }
    let shared = Arc::new(Reconciliations {
        reconciler,
        derived_finalizer,
        controller_context,
        objects: Objects::new(wiring.settings.backoff()),
        store: cache.store(),
        reports_errors: wiring.settings.error_events,
        observers: wiring.observers,
        health: wiring.health,
        locks: ObjectLocks::new(workers),
        reduction: options.reduction,
        resync: options.resync,
        retry_limit: options.retry_limit,
        is_first_list: AtomicBool::new(false),
        metrics: metrics.clone(),
    });
    let objects = cache.listen(shared.clone(), metrics.watch_errors);
    Box::pin(work(shared, objects, other_events, workers, wiring.stop))
}

/// The namespaces that a controller watches.
struct WatchedNamespaces {
    namespaces: Vec<String>,
    /// For its own objects; `None` for all namespaces.
    primary: Vec<Option<String>>,
    /// For its children; empty for all namespaces.
    child_namespaces: Vec<String>,
}

impl WatchedNamespaces {
    fn of<R: Reconciler>(wiring: &Wiring) -> Self {
        let namespaces = wiring.settings.namespaces();
        let scope = Scope::of::<R::Resource>();
        let mut child_namespaces = namespaces.clone();
        let own = wiring.client.default_namespace();
        if scope == Scope::Cluster
            && !child_namespaces.is_empty()
            && !child_namespaces.iter().any(|home| home == own)
        {
            // the children of a cluster-scoped owner are in the operator's own namespace
            child_namespaces.push(own.to_owned());
        }
        Self {
            primary: scope.watched(&namespaces),
            namespaces,
            child_namespaces,
        }
    }
}

type Events = BoxStream<'static, Event<Arc<Related>>>;

/// The events of objects of other kinds than the controller's own.
#[derive(Default)]
struct OtherEvents {
    /// Each with the index of the owned kind, and the watched namespace.
    children: Vec<(usize, Option<String>, Events)>,
    others: Vec<(Kind, Events)>,
}

/// Runs the controller until `stop` is cancelled and the reconciliations in flight have ended.
async fn work<R: Reconciler>(
    shared: Arc<Reconciliations<R>>,
    objects: impl Stream<Item = ObjectRef<R::Resource>> + Send + 'static,
    other_events: OtherEvents,
    workers: NonZeroU16,
    stop: CancellationToken,
) {
    let controller_context = shared.controller_context.clone();
    controller_context.begin_when_listed();
    let store = shared.store.clone();
    let mut related = vec![];
    for (index, namespace, events) in other_events.children {
        let children = watch::children(index, namespace, events, shared.clone());
        related.push(children.boxed());
    }
    for (kind, events) in other_events.others {
        let parents = {
            let shared = shared.clone();
            move |changed| parents(&shared, &changed)
        };
        related.push(watch::others(kind, events, parents, store.clone()).boxed());
    }

    let triggered = shared.clone();
    let related = stream::select_all(related).inspect(move |key| triggered.trigger(key, None));
    let triggers = stream::select(objects, related);
    let reports = watch::report_all(shared.clone());
    let notices = deleted::notify_all(&shared, stop.clone());
    let filled = store.clone();
    let controller = Controller::for_stream(stream::pending(), store)
        .reconcile_on(triggers)
        .with_config(Config::default().concurrency(workers.get()))
        .graceful_shutdown_on(stop.clone().cancelled_owned())
        .run(
            reconciliation::reconcile::<R>,
            |_, never, _| match *never {},
            shared.clone(),
        )
        .for_each(|done| async move {
            // for example, an object was deleted between its trigger and its reconciliation
            if let Err(error) = done {
                debug!("{error}");
            }
        });
    let unlisted = async {
        tokio::select! {
            () = sleep(LIST_TIMEOUT) => controller_context.begin(),
            () = stop.cancelled() => controller_context.stop_waiting(),
        }
        std::future::pending::<()>().await;
    };
    // kube's controller waits for a complete cache before it reconciles, even during its shutdown. Without one, nothing is in flight.
    let empty = async {
        tokio::select! {
            biased;
            Ok(()) = filled.wait_until_ready() => std::future::pending().await,
            () = stop.cancelled() => {}
        }
    };
    // at once, beside the reconciliations in flight, which may last until the shutdown timeout
    let stopped = async {
        stop.cancelled().await;
        shared.reconciler.stopped().await;
    };
    tokio::select! {
        ((), (), ()) = join3(controller, notices, stopped) => {}
        () = empty => {}
        () = unlisted => {}
        () = reports => {}
    }
    // again, because a reconciliation in flight may have started a background task since
    shared.reconciler.stopped().await;
}

/// Calls [`Reconciler::parents`]; after a panic, there are none.
fn parents<R: Reconciler>(
    shared: &Reconciliations<R>,
    changed: &Changed,
) -> Vec<ObjectRef<R::Resource>> {
    let parents = AssertUnwindSafe(|| shared.reconciler.parents(changed, &shared.store));
    catch_unwind(parents).unwrap_or_else(|panic| {
        shared.metrics.reconciles.panics.inc();
        let Changed { kind, metadata, .. } = changed;
        let name = metadata.name.as_deref().unwrap_or_default();
        warn!(kind, name, "parents() panicked: {}", panic_message(&*panic));
        vec![]
    })
}
