//! The process: sets up, runs the controllers while it is the leader, and shuts down gracefully.

mod background;
mod lead;
mod signals;

use std::{collections::HashMap, future::Future, sync::Arc};

use futures::future::BoxFuture;
use kube::{Client, Config};
use rustls::crypto::CryptoProvider;
use tokio::{net::TcpListener, sync::watch};
use tokio_util::sync::CancellationToken;

#[cfg(feature = "webhook")]
use crate::webhook::{self, WebhookService};
use crate::{
    controllers::{Controllers, Start},
    engine::{
        controller::Wiring,
        fan_out::FanOut,
        identity::Identity,
        progress::Progress,
        reconciled::{Observers, Reconciled},
        shared_cache::SharedCaches,
        tasks::BackgroundTasks,
    },
    error::Fatal,
    health::Health,
    hook::Hook,
    log,
    metrics::Metrics,
    probe::{Probe, Probes},
    settings::Settings,
    setup::{Setup, insert_value},
    shared::Shared,
};
use background::{Background, Listeners, Stopping};
use lead::{Crds, lead};

/// An operator: runs controllers, in one replica at a time.
///
/// [`connect`](Self::connect) is for `main`; the [crate's example](crate) uses it. Tests and programs that embed an operator pass a client:
///
/// ```no_run
/// use operator_runtime::{Controllers, Operator, Settings};
///
/// # async fn example(client: kube::Client, controllers: Controllers) -> anyhow::Result<()> {
/// let operator = Operator::new("shop", Settings::for_tests(), client).register(controllers);
/// let handle = operator.shutdown_handle();
/// let running = tokio::spawn(operator.run());
/// // ...
/// handle.shutdown();
/// running.await??;
/// # Ok(()) }
/// ```
pub struct Operator {
    client: Client,
    controllers: Controllers,
    listener: Option<TcpListener>,
    metrics: Arc<Metrics>,
    name: String,
    observers: Observers,
    probes: Probes,
    settings: Settings,
    start_hooks: Vec<Hook>,
    stop: CancellationToken,
    stop_hooks: Vec<Hook>,
    values: HashMap<std::any::TypeId, Arc<dyn std::any::Any + Send + Sync>>,
    #[cfg(feature = "webhook")]
    webhook_listener: Option<TcpListener>,
    #[cfg(feature = "webhook")]
    webhook_service: WebhookService,
    works: watch::Sender<bool>,
}

/// Waits until an operator works; see [`Operator::ready_handle`].
#[derive(Clone, Debug)]
pub struct ReadyHandle(watch::Receiver<bool>);

impl ReadyHandle {
    /// Waits until the operator holds its lease, and its controllers have the lists of all their kinds. Returns `false` if it ends before.
    pub async fn ready(&mut self) -> bool {
        self.0.wait_for(|works| *works).await.is_ok()
    }
}

/// Stops an operator; see [`Operator::shutdown_handle`].
#[derive(Clone, Debug)]
pub struct ShutdownHandle(CancellationToken);

impl ShutdownHandle {
    /// Requests a graceful shutdown: running reconciliations finish, the lease is released, and [`Operator::run`] returns.
    pub fn shutdown(&self) {
        self.0.cancel();
    }
}

impl Operator {
    /// Sets up logging, unless the program has already done so, and connects to the cluster in which the process runs, or to the current
    /// context of the kubeconfig. The name of the operator is also its field manager and user agent.
    pub async fn connect(name: impl Into<String>, settings: Settings) -> Result<Self, Fatal> {
        let name = name.into();
        log::init(&name, &settings)?;
        // If a crate of the build enables the feature `aws-lc-rs` of rustls, rustls knows two providers, and kube panics without a default.
        if CryptoProvider::get_default().is_none() {
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let mut config = Config::infer()
            .await
            .map_err(|error| Fatal::NoCluster(error.into()))?;
        if let Ok(agent) = http::HeaderValue::from_str(&name) {
            config.headers.push((http::header::USER_AGENT, agent));
        }
        let host = config.cluster_url.authority().map(ToString::to_string);
        let client = Client::try_from(config).map_err(|error| Fatal::Client(error.into()))?;
        let operator = Self::new(name, settings, client);
        operator
            .metrics
            .requests
            .set_host(&host.unwrap_or_default());
        Ok(operator)
    }

    /// Creates an operator with an existing client; the default namespace of the client is the operator's.
    pub fn new(name: impl Into<String>, settings: Settings, client: Client) -> Self {
        let name = name.into();
        Self {
            client,
            controllers: Controllers::new(),
            listener: None,
            metrics: Arc::new(Metrics::new(&name, &settings.lease(&name))),
            name,
            observers: Observers::default(),
            probes: Probes::default(),
            settings,
            start_hooks: vec![],
            stop: CancellationToken::new(),
            stop_hooks: vec![],
            values: HashMap::new(),
            #[cfg(feature = "webhook")]
            webhook_listener: None,
            #[cfg(feature = "webhook")]
            webhook_service: WebhookService::new(),
            works: watch::channel(false).0,
        }
        .provide(Shared::default())
    }

    /// Provides a value to the setup functions, which get it with [`Setup::get`]. There is one value of each type.
    #[must_use]
    pub fn provide<T: Send + Sync + 'static>(mut self, provided: T) -> Self {
        insert_value(&mut self.values, provided);
        self
    }

    /// Adds controllers.
    #[must_use]
    pub fn register(mut self, controllers: Controllers) -> Self {
        self.controllers = self.controllers.and(controllers);
        self
    }

    /// Serves health and metrics on this listener, instead of the address in the settings.
    #[must_use]
    pub fn listener(mut self, listener: TcpListener) -> Self {
        self.listener = Some(listener);
        self
    }

    /// The webhooks of this operator as a service in this process, without TLS, for tests. It answers while [`run`](Self::run) serves the
    /// webhooks, and refuses connections before and afterwards.
    #[cfg(feature = "webhook")]
    pub fn webhook_service(&self) -> WebhookService {
        self.webhook_service.clone()
    }

    /// Serves the webhooks on a free port of the loopback interface, and sets
    /// [`Settings::webhook_url`](crate::Settings::webhook_url) to its URL: for tests with an API server on this machine.
    ///
    /// # Errors
    /// If there is no such interface.
    #[cfg(feature = "webhook")]
    pub async fn webhooks_on_loopback(mut self) -> std::io::Result<Self> {
        let listener = TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).await?;
        self.settings.webhook_url = Some(format!("https://{}", listener.local_addr()?));
        self.webhook_listener = Some(listener);
        Ok(self)
    }

    /// Calls `observer` after each reconciliation or cleanup, with its object and result: for a metric, a trace or a test. It runs between
    /// two reconciliations, so it should return quickly. Each call of this method adds an observer.
    ///
    /// If a reconciliation finds that its object was deleted, it has no result and is not reported.
    ///
    /// ```
    /// # use operator_runtime::Operator;
    /// # fn example(operator: Operator) -> Operator {
    /// operator.on_reconciled(|it| match it.result {
    ///     Ok(()) => println!("{} {}: {:?}", it.kind, it.name, it.duration),
    ///     Err(error) => println!("{} {}: {error}", it.kind, it.name),
    /// })
    /// # }
    /// ```
    #[must_use]
    pub fn on_reconciled(
        mut self,
        observer: impl Fn(&Reconciled<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.observers.add(observer);
        self
    }

    /// Calls a function when the operator starts, on each replica, before the setup functions of the controllers and before webhooks are
    /// served. Hooks run one after the other. If one fails for good, the operator ends with [`Fatal::Hook`].
    #[must_use]
    pub fn on_start(mut self, hook: Hook) -> Self {
        self.start_hooks.push(hook);
        self
    }

    /// Calls a function when the operator stops, on each replica, after its controllers have ended and its lease is released, even if it
    /// ends with an error. If all start hooks have succeeded, the hooks run one after the other, in the reverse order of their
    /// registration. Together, they may take what is left of the [shutdown timeout](Settings::shutdown_timeout), and at least one second.
    /// If one fails, the others are called; the operator ends with its error.
    #[must_use]
    pub fn on_stop(mut self, hook: Hook) -> Self {
        self.stop_hooks.push(hook);
        self
    }

    /// Adds a probe to `/healthz`: while it returns an error, the operator is not healthy, and Kubernetes restarts it. It is called for
    /// each request of the path, and must answer within 900 ms.
    ///
    /// ```
    /// # use operator_runtime::Operator;
    /// use std::sync::{Arc, atomic::{AtomicU32, Ordering}};
    ///
    /// # fn example(operator: Operator, waiting: Arc<AtomicU32>) -> Operator {
    /// operator.liveness("queue", move || {
    ///     let waiting = waiting.load(Ordering::Relaxed);
    ///     async move {
    ///         if waiting > 1000 {
    ///             return Err(anyhow::anyhow!("{waiting} messages wait").into());
    ///         }
    ///         Ok(())
    ///     }
    /// })
    /// # }
    /// ```
    #[must_use]
    pub fn liveness<F>(
        mut self,
        name: impl Into<String>,
        probe: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = crate::Result<()>> + Send + 'static,
    {
        self.probes.liveness.push(Probe::new(name.into(), probe));
        self
    }

    /// Like [`liveness`](Self::liveness), for `/readyz`: while it returns an error, the operator is not ready. The API server then does not
    /// send requests to its webhooks.
    #[must_use]
    pub fn readiness<F>(
        mut self,
        name: impl Into<String>,
        probe: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = crate::Result<()>> + Send + 'static,
    {
        self.probes.readiness.push(Probe::new(name.into(), probe));
        self
    }

    /// A handle that waits until the controllers work, for tests and programs that embed the operator.
    pub fn ready_handle(&self) -> ReadyHandle {
        ReadyHandle(self.works.subscribe())
    }

    /// A handle that stops [`run`](Self::run) from another task.
    pub fn shutdown_handle(&self) -> ShutdownHandle {
        ShutdownHandle(self.stop.clone())
    }

    /// Runs until SIGTERM, SIGINT or [`ShutdownHandle::shutdown`]. On shutdown, running reconciliations finish within the shutdown timeout
    /// of the settings, and then the lease is released. A second signal stops the operator immediately.
    ///
    /// # Errors
    /// A [`Fatal`] error (see `downcast_ref`) if the operator cannot start, or loses its lease.
    pub async fn run(self) -> anyhow::Result<()> {
        let ended = self.run_boxed().await;
        #[cfg(feature = "otel")]
        if !matches!(ended, Err(Fatal::Interrupted)) {
            crate::trace::flush().await;
        }
        Ok(ended?)
    }

    /// The future is boxed, so that it is compiled in this crate and not in each program and test.
    fn run_boxed(self) -> BoxFuture<'static, Result<(), Fatal>> {
        Box::pin(self.run_inner())
    }

    async fn run_inner(self) -> Result<(), Fatal> {
        let Self {
            client,
            mut controllers,
            listener,
            metrics,
            name,
            observers,
            probes,
            settings,
            start_hooks,
            stop,
            stop_hooks,
            values,
            #[cfg(feature = "webhook")]
            webhook_listener,
            #[cfg(feature = "webhook")]
            webhook_service,
            works,
        } = self;
        settings.check()?;
        let crds = std::mem::take(&mut controllers.crds);
        let migrated = std::mem::take(&mut controllers.migrated);
        #[cfg(feature = "webhook")]
        let webhooks = std::mem::take(&mut controllers.webhooks);
        let controllers = controllers.identified(&name)?;
        let listeners = Listeners::open(listener, &settings).await?;
        let progress = Progress::new(settings.watch_timeout, metrics.clone());
        let client = progress.observe(client);
        let health = Health::new(progress, settings.lease_duration, works);
        let settings = Arc::new(settings);

        let stopping = Stopping::of(stop.clone());
        let mut background = Background {
            client: &client,
            health: &health,
            metrics: &metrics,
            settings: &settings,
            stopping: &stopping,
        }
        .spawn(listeners, probes);
        let setup = Setup {
            client: client.clone(),
            operator: name.clone(),
            controller: String::new(),
            settings: settings.clone(),
            values: Arc::new(values),
            metrics: metrics.clone(),
        };
        if !stopping.begin(&start_hooks, &setup).await? {
            return Ok(());
        }
        #[cfg(feature = "webhook")]
        let webhooks = webhook::Launch {
            setup: setup.clone(),
            health: health.clone(),
            service: &webhook_service,
            listener: webhook_listener,
            stop: stop.clone(),
            background: &mut background,
        }
        .start(webhooks)
        .await;
        #[cfg(feature = "webhook")]
        let webhooks = match webhooks {
            Ok(webhooks) => webhooks,
            Err(error) => return stopping.end(&stop_hooks, &setup, Err(error)).await,
        };
        let wiring = Wiring {
            client,
            settings,
            metrics,
            health,
            fan_out: FanOut::default(),
            caches: SharedCaches::default(),
            stop,
            observers,
            tasks: BackgroundTasks::default(),
        };
        let crds = Crds::of(&crds, migrated, &setup);
        let controlled = control(controllers, &setup, wiring, crds);
        let work = async {
            let ended = controlled.await;
            // Last, because the API server needs them for requests of the controllers.
            #[cfg(feature = "webhook")]
            if let Some(webhooks) = webhooks {
                webhooks.drain().await;
            }
            ended
        };
        let ended = tokio::select! {
            done = work => done,
            Some(ended) = background.join_next() => {
                Err(ended.unwrap_or_else(|error| Fatal::Task(error.to_string())))
            }
            () = stopping.interrupted.cancelled() => return Err(Fatal::Interrupted),
        };
        stopping.end(&stop_hooks, &setup, ended).await
    }
}

/// Sets the controllers up, and runs them while this replica leads.
async fn control(
    controllers: Vec<(Identity, Start)>,
    setup: &Setup,
    wiring: Wiring,
    crds: Crds<'_>,
) -> Result<(), Fatal> {
    let mut builds = vec![];
    for (identity, start) in controllers {
        let setup = Setup {
            controller: identity.name.clone(),
            ..setup.clone()
        };
        let build = tokio::select! {
            build = start(setup) => build,
            () = wiring.stop.cancelled() => return Ok(()),
        };
        let build = build.map_err(|error| Fatal::Setup(error.into()))?;
        builds.push((identity, build));
    }
    lead(wiring, &setup.operator, crds, builds).await
}
