//! One controller: its watches, and the turn that each object gets.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use futures::{StreamExt, future::BoxFuture, stream};
use kube::{
    Client,
    runtime::{Controller, controller::Config},
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::{
    backoff::Backoffs,
    cache::Cache,
    context::Controlling,
    error::panic_message,
    finalizer,
    health::Health,
    kind::Scope,
    metrics::Metrics,
    own_writes::OwnWrites,
    reconciler::Reconciler,
    related::Changed,
    reports::Reports,
    settings::Settings,
    setup::Watches,
    turn::{self, Turns},
    wake::Wakes,
    watch,
};

/// What a controller is connected to.
#[derive(Clone)]
pub(crate) struct Wiring {
    pub client: Client,
    pub operator: String,
    pub settings: Arc<Settings>,
    pub metrics: Arc<Metrics>,
    pub health: Arc<Health>,
    pub stop: CancellationToken,
}

/// A controller at work; it ends after the request to stop, when nothing is in flight.
pub(crate) type Running = BoxFuture<'static, ()>;

pub(crate) fn run<R: Reconciler>(reconciler: R, watches: Watches, wiring: Wiring) -> Running {
    Box::pin(work(reconciler, watches, wiring))
}

async fn work<R: Reconciler>(reconciler: R, watches: Watches, wiring: Wiring) {
    let Wiring {
        client,
        operator,
        settings,
        metrics,
        health,
        stop,
    } = wiring;
    let controlling =
        Controlling::new::<R::Resource>(client.clone(), &operator, watches.owns.clone());
    let metrics = metrics.of_kind(&controlling.kind);
    let reconciler = Arc::new(reconciler);
    let namespaces = settings.namespaces();
    let scope = Scope::of::<R::Resource>();
    let primary = scope.watched(&namespaces);
    let mut homes = namespaces.clone();
    let own = client.default_namespace();
    if scope == Scope::Cluster && !homes.is_empty() && !homes.iter().any(|home| home == own) {
        // An owner without a namespace has its children in the operator's own.
        homes.push(own.to_owned());
    }

    let cache = Cache::new(&primary);
    let store = cache.store();
    let turns = Arc::new(Turns {
        reconciler: reconciler.clone(),
        controlling: controlling.clone(),
        metrics: metrics.clone(),
        backoffs: Backoffs::new(settings.growth()),
        own_writes: OwnWrites::default(),
        store: store.clone(),
        wakes: Wakes::default(),
        reports: Reports::default(),
        derived: finalizer::derived_name::<R::Resource>(&operator),
    });

    let source = watch::Source {
        client,
        settings: settings.clone(),
        metrics,
    };
    let objects = watch::objects(&source, cache, &primary, turns.clone(), health);
    let mut related = vec![];
    for kind in &watches.owns {
        for namespace in kind.scope.watched(&homes) {
            related.push(
                watch::children(&source, kind, namespace, controlling.clone(), store.clone())
                    .boxed(),
            );
        }
    }
    for kind in &watches.watches {
        for namespace in kind.scope.watched(&namespaces) {
            let (reconciler, cache) = (reconciler.clone(), store.clone());
            let panics = turns.metrics.panics.clone();
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
            related.push(watch::others(&source, kind, namespace, parents, store.clone()).boxed());
        }
    }

    let wakes = turns.clone();
    let related = stream::select_all(related).inspect(move |key| wakes.woken(key, None));
    let triggers = stream::select(objects, related);
    let reports = watch::report_all(turns.clone());
    let filled = store.clone();
    let stopped = stop.clone();
    let controller = Controller::for_stream(stream::pending(), store)
        .reconcile_on(triggers)
        .with_config(Config::default().concurrency(settings.concurrency.get()))
        .graceful_shutdown_on(stopped.cancelled_owned())
        .run(turn::reconcile::<R>, |_, never, _| match *never {}, turns)
        .for_each(|done| async move {
            // An object may go between its trigger and its turn.
            if let Err(error) = done {
                debug!("{error}");
            }
        });
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
        () = reports => {}
    }
}
