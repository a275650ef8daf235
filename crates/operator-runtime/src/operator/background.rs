//! The tasks that run beside the controllers until the process ends: they serve the HTTP pages and handle signals. It also calls the start
//! and stop hooks.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use kube::Client;
use tokio::{net::TcpListener, task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::signals;
#[cfg(feature = "protected-metrics")]
use crate::protected;
use crate::{
    error::Fatal,
    health::{Health, Role},
    hook::{self, Hook},
    metrics::Metrics,
    probe::Probes,
    server,
    settings::Settings,
    setup::Setup,
};

/// The minimum time for the stop hooks, however long the shutdown has taken.
const SHORTEST_STOP: Duration = Duration::from_secs(1);

/// The ways to stop the process, and the hooks at its start and end.
pub struct Stopping {
    /// Requests a graceful shutdown.
    stop: CancellationToken,
    /// Requests an immediate stop.
    pub interrupted: CancellationToken,
    /// When the shutdown was requested.
    begun: Arc<OnceLock<Instant>>,
}

impl Stopping {
    pub fn of(stop: CancellationToken) -> Self {
        Self {
            stop,
            interrupted: CancellationToken::new(),
            begun: Arc::default(),
        }
    }

    /// Calls the start hooks. Returns false if a shutdown was requested meanwhile.
    pub async fn begin(&self, hooks: &[Hook], setup: &Setup) -> Result<bool, Fatal> {
        let started = async {
            for hook in hooks {
                hook.run(setup).await?;
            }
            Ok(true)
        };
        tokio::select! {
            // hooks first: if there are none, the start is not interrupted by a shutdown
            biased;
            started = started => started,
            () = self.stop.cancelled() => Ok(false),
            () = self.interrupted.cancelled() => Err(Fatal::Interrupted),
        }
    }

    /// Calls the stop hooks in the remaining time. Returns the error of `ended`, or else that of a hook.
    pub async fn end(
        &self,
        hooks: &[Hook],
        setup: &Setup,
        ended: Result<(), Fatal>,
    ) -> Result<(), Fatal> {
        let begun = self.begun.get().copied().unwrap_or_else(Instant::now);
        let deadline = begun + setup.settings.shutdown_timeout;
        let deadline = deadline.max(Instant::now() + SHORTEST_STOP);
        tokio::select! {
            stopped = hook::stop_with(hooks, setup, deadline) => ended.and(stopped),
            () = self.interrupted.cancelled() => Err(Fatal::Interrupted),
        }
    }
}

/// The listeners of the HTTP pages.
pub struct Listeners {
    pages: TcpListener,
    #[cfg(feature = "protected-metrics")]
    protected: Option<TcpListener>,
}

impl Listeners {
    /// Opens the listeners. `listener` is used instead of the HTTP address of the settings.
    pub async fn open(listener: Option<TcpListener>, settings: &Settings) -> Result<Self, Fatal> {
        Ok(Self {
            pages: match listener {
                Some(listener) => listener,
                None => server::listen(settings.http_address).await?,
            },
            #[cfg(feature = "protected-metrics")]
            protected: match settings.metrics_address {
                Some(address) => Some(server::listen(address).await?),
                None => None,
            },
        })
    }
}

/// What the tasks beside the controllers need.
pub struct Background<'a> {
    #[cfg_attr(
        not(feature = "protected-metrics"),
        expect(dead_code, reason = "asks who may read the metrics")
    )]
    pub client: &'a Client,
    pub health: &'a Arc<Health>,
    pub metrics: &'a Arc<Metrics>,
    pub settings: &'a Settings,
    pub stopping: &'a Stopping,
}

impl Background<'_> {
    /// Starts the tasks. None ends by itself, unless it fails.
    pub fn spawn(self, listeners: Listeners, probes: Probes) -> JoinSet<Fatal> {
        let Self {
            health,
            metrics,
            settings,
            stopping,
            ..
        } = self;
        let mut tasks = JoinSet::new();
        tasks.spawn({
            let health = health.clone();
            async move { match health.beat().await {} }
        });
        let open_metrics = Some(metrics.clone());
        #[cfg(feature = "protected-metrics")]
        let open_metrics = open_metrics.filter(|_| listeners.protected.is_none());
        let pages = server::Pages {
            health: health.clone(),
            probes,
            metrics: open_metrics,
        };
        tasks.spawn(async move { match server::serve(listeners.pages, pages).await {} });
        #[cfg(feature = "protected-metrics")]
        if let Some(listener) = listeners.protected {
            let gate = protected::Gate::new(self.client.clone());
            let metrics = metrics.clone();
            tasks.spawn(async move { match protected::serve(listener, gate, metrics).await {} });
        }
        tasks.spawn({
            let (health, stop, begun) = (
                health.clone(),
                stopping.stop.clone(),
                stopping.begun.clone(),
            );
            async move {
                stop.cancelled().await;
                info!("stopping");
                begun.get_or_init(Instant::now);
                health.set_role(Role::Stopping);
                std::future::pending().await
            }
        });
        if settings.handle_signals {
            let signals = signals::signals(stopping.stop.clone(), stopping.interrupted.clone());
            tasks.spawn(async move { match signals.await {} });
        }
        #[cfg(unix)]
        if let Some(parent) = settings.parent_process {
            let stop = stopping.stop.clone();
            tasks.spawn(async move { match signals::end_with(parent, stop).await {} });
        }
        tasks
    }
}
