//! One controller: its watches, and the reconciliations that they trigger.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use futures::{
    StreamExt,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use kube::{
    Client,
    runtime::{Controller, controller::Config, watcher::Event},
};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::{
    context::{ControllerContext, Owned},
    engine::{
        cache::Cache,
        children::Children,
        fan_out::FanOut,
        finalizer,
        kind::{GroupKind, Kind, Scope},
        objects::Objects,
        reconciled::Observers,
        reconciliation::{self, Reconciliations},
        related::{Changed, Related, controller_of},
        watch,
    },
    error::panic_message,
    health::Health,
    metrics::{ControllerMetrics, Metrics},
    settings::Settings,
    setup::{Owns, Watches},
    style::Reconciler,
};

/// How long reconciliations wait for the lists of owned kinds. If a list fails for longer, for example because of missing permissions, each
/// child is read from the API server.
const UNLISTED: Duration = Duration::from_secs(10);

/// What a controller shares with the rest of the operator.
#[derive(Clone)]
pub(crate) struct Wiring {
    pub client: Client,
    pub operator: String,
    pub settings: Arc<Settings>,
    pub metrics: Arc<Metrics>,
    pub health: Arc<Health>,
    pub fan_out: FanOut,
    pub stop: CancellationToken,
    pub observers: Observers,
}

/// A running controller; it ends after the shutdown request, when no reconciliation is running.
pub(crate) type Running = BoxFuture<'static, ()>;

/// Creates a controller, which runs when it is polled. Its watches of other kinds are registered immediately, before any watch begins.
pub(crate) fn run<R: Reconciler>(reconciler: R, watches: Watches, wiring: Wiring) -> Running {
    let watched = WatchedNamespaces::of::<R>(&wiring);
    let owner = GroupKind::of::<R::Resource>();
    let metrics = wiring
        .metrics
        .of_controller(&owner.controller_name(), &owner);
    let errors = metrics.watch_errors.clone();
    let listen = |kind: &Kind, namespace: Option<String>, owner| {
        let fan_out = &wiring.fan_out;
        let events = fan_out.listen(&kind.resource, namespace, owner, &errors);
        events.boxed()
    };
    let mut other_events = OtherEvents::default();
    for (index, owns) in watches.owns.iter().enumerate() {
        for namespace in owns.kind.scope.watched(&watched.child_namespaces) {
            let owner = owns.caches_content.then(|| owner.clone());
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
    wiring.fan_out.owns::<R::Resource>(&watched.primary);
    Box::pin(work(
        reconciler,
        watches,
        watched,
        other_events,
        metrics,
        wiring,
    ))
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
            // An owner without a namespace has its children in the operator's own.
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

async fn work<R: Reconciler>(
    reconciler: R,
    watches: Watches,
    watched: WatchedNamespaces,
    other_events: OtherEvents,
    metrics: ControllerMetrics,
    wiring: Wiring,
) {
    let Wiring {
        client,
        operator,
        settings,
        metrics: _,
        health,
        fan_out,
        stop,
        observers,
    } = wiring;
    let workers = settings.concurrency.get();
    metrics.reconciles.max_concurrent.set(workers.into());
    let owned = |owns: Owns| {
        let children = Children::new(
            &owns.kind.scope.watched(&watched.child_namespaces),
            &operator,
            owns.caches_content,
            |child| controller_of::<R::Resource>(child).is_some(),
        );
        Owned {
            children: match watches.observes_children {
                true => children.indexed(),
                false => children,
            },
            kind: owns.kind,
            update: owns.update,
        }
    };
    let owns = watches.owns.into_iter().map(owned).collect();
    let reads = metrics.child_reads.clone();
    let controller_context =
        ControllerContext::new::<R::Resource>(client.clone(), &operator, owns, reads);
    controller_context.begin_when_listed();
    let reconciler = Arc::new(reconciler);
    let cache = Cache::new(&watched.primary);
    let store = cache.store();
    let shared = Arc::new(Reconciliations {
        reconciler: reconciler.clone(),
        controller_context: controller_context.clone(),
        metrics: metrics.clone(),
        objects: Objects::new(settings.backoff()),
        store: store.clone(),
        reports_errors: settings.error_events,
        observers,
        derived_finalizer: finalizer::derived_name::<R::Resource>(&operator),
    });

    let source = watch::Source {
        client,
        operator,
        settings: settings.clone(),
    };
    let listeners = watched.primary.iter();
    let listeners = listeners.map(|namespace| fan_out.listeners::<R::Resource>(namespace));
    let objects = watch::objects(
        &source,
        cache,
        &watched.primary,
        listeners.collect(),
        shared.clone(),
        health,
    );
    let mut related = vec![];
    for (index, namespace, events) in other_events.children {
        let children = watch::children(index, namespace, events, shared.clone());
        related.push(children.boxed());
    }
    for (kind, events) in other_events.others {
        let (reconciler, cache) = (reconciler.clone(), store.clone());
        let panics = shared.metrics.reconciles.panics.clone();
        let parents = move |changed| {
            let parents = AssertUnwindSafe(|| reconciler.parents(&changed, &cache));
            catch_unwind(parents).unwrap_or_else(|panic| {
                panics.inc();
                let Changed { kind, metadata, .. } = &changed;
                let name = metadata.name.as_deref().unwrap_or_default();
                warn!(kind, name, "parents() panicked: {}", panic_message(&*panic));
                vec![]
            })
        };
        related.push(watch::others(kind, events, parents, store.clone()).boxed());
    }

    let triggered = shared.clone();
    let related = stream::select_all(related).inspect(move |key| triggered.trigger(key, None));
    let triggers = stream::select(objects, related);
    let reports = watch::report_all(shared.clone());
    let filled = store.clone();
    let stopped = stop.clone();
    let controller = Controller::for_stream(stream::pending(), store)
        .reconcile_on(triggers)
        .with_config(Config::default().concurrency(workers))
        .graceful_shutdown_on(stopped.cancelled_owned())
        .run(
            reconciliation::reconcile::<R>,
            |_, never, _| match *never {},
            shared,
        )
        .for_each(|done| async move {
            // An object may be deleted between its trigger and its reconciliation.
            if let Err(error) = done {
                debug!("{error}");
            }
        });
    let unlisted = async {
        tokio::select! {
            () = sleep(UNLISTED) => controller_context.begin(),
            () = stop.cancelled() => controller_context.stop_waiting(),
        }
        std::future::pending().await
    };
    // A controller whose cache was never filled has nothing in flight, and would wait for ever.
    let empty = async {
        tokio::select! {
            biased;
            Ok(()) = filled.wait_until_ready() => std::future::pending().await,
            () = stop.cancelled() => {}
        }
    };
    tokio::select! {
        () = controller => {}
        () = empty => {}
        () = unlisted => {}
        () = reports => {}
    }
}
