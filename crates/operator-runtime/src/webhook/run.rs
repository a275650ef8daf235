//! Serves the webhooks of an operator that runs: from before it waits for its lease until its controllers have ended.

use std::{future::pending, sync::Arc, time::Duration};

use futures::future::{join, try_join_all};
use prometheus_client::metrics::gauge::Gauge;
use tokio::{
    net::TcpListener,
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{
    certificate::{Certificates, Lifetimes, ManagedConfig, system_clock},
    registry::{Registration, Served, Webhooks},
    router::Router,
    server,
    service::{OpenService, WebhookService},
};
use crate::{
    Settings, Setup,
    error::Fatal,
    health::{self, Health, Role},
    metrics::Metrics,
};

/// How long a replica serves after the signal to stop, until API servers have noticed that it is not ready any more.
const NOTICE: Duration = Duration::from_secs(3);

/// How long the requests in flight may take at shutdown.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// What is needed to serve the webhooks of an operator.
pub(crate) struct Launch<'a> {
    pub setup: Setup,
    pub health: Arc<Health>,
    pub service: &'a WebhookService,
    /// Used instead of the address in the settings.
    pub listener: Option<TcpListener>,
    pub stop: CancellationToken,
    pub background: &'a mut JoinSet<Fatal>,
}

/// The webhooks that are served. Dropping them ends the service, but not the tasks.
pub(crate) struct Running {
    opened: OpenService,
    stop: CancellationToken,
    health: Arc<Health>,
    /// How long API servers take to notice a stop.
    notice: Duration,
    /// Cancelled once API servers have noticed the stop.
    noticed: CancellationToken,
    /// Cancelled to end the server.
    closing: CancellationToken,
    /// Cancelled once the server has ended.
    closed: CancellationToken,
}

impl Launch<'_> {
    /// Serves these webhooks, if there are any. Without an address, there is only the service in this process, which needs no certificate.
    pub async fn start(self, mut webhooks: Webhooks) -> Result<Option<Running>, Fatal> {
        webhooks.check()?;
        if webhooks.is_empty() {
            return Ok(None);
        }
        let Self {
            setup,
            health,
            service,
            listener,
            stop,
            background,
        } = self;
        let settings = setup.settings.clone();
        let listener = match (listener, settings.webhook_address) {
            (Some(listener), _) => Some(listener),
            (None, Some(address)) => Some(crate::server::listen(address).await?),
            (None, None) => None,
        };
        let certificates = match &listener {
            Some(_) => Some(certificates(&setup, &webhooks)?),
            None => None,
        };
        health.set_webhooks(health::Webhooks::Starting);
        let router = Arc::new(Router::new(&mut webhooks, &setup.metrics));
        let notice = notice(&settings, listener.as_ref());
        let running = Running {
            opened: service.open(router.clone()),
            stop: stop.clone(),
            health: health.clone(),
            notice,
            noticed: CancellationToken::new(),
            closing: CancellationToken::new(),
            closed: CancellationToken::new(),
        };
        let noticed = running.noticed.clone();
        background.spawn(async move {
            stop.cancelled().await;
            sleep(notice).await;
            noticed.cancel();
            pending().await
        });
        let loaded = certificates.as_ref().map(Certificates::loaded);
        match (listener, certificates) {
            (Some(listener), Some(certificates)) => {
                report_expiry(&certificates, &setup.metrics, background);
                let server = server::serve(
                    listener,
                    certificates.server_config(),
                    router.clone(),
                    running.closing.clone(),
                );
                let closed = running.closed.clone();
                background.spawn(async move {
                    server.await;
                    closed.cancel();
                    pending().await
                });
                background.spawn(async move { match certificates.run().await {} });
            }
            _ => running.closed.cancel(),
        }
        background.spawn(async move {
            match set_up(webhooks.registrations, &setup).await {
                Ok(served) => router.open(served),
                Err(error) => return error,
            }
            if let Some(mut loaded) = loaded {
                // An error would mean that the task of the certificates has ended, which ends the operator.
                let _ = loaded.wait_for(|loaded| *loaded).await;
            }
            info!("webhooks are served");
            health.set_webhooks(health::Webhooks::Served);
            pending().await
        });
        Ok(Some(running))
    }
}

/// How long API servers take to notice that a replica stops. Only in a cluster, they find the replicas by the endpoints of the Service,
/// which follow the readiness with a delay.
fn notice(settings: &Settings, listener: Option<&TcpListener>) -> Duration {
    let is_reachable = listener
        .and_then(|it| it.local_addr().ok())
        .is_some_and(|it| !it.ip().is_loopback());
    if is_reachable && settings.webhook_url.is_none() {
        NOTICE
    } else {
        Duration::ZERO
    }
}

/// The certificates of the server: a folder that the settings name, or those that the operator issues.
fn certificates(setup: &Setup, webhooks: &Webhooks) -> Result<Certificates, Fatal> {
    let settings = &setup.settings;
    if let Some(folder) = &settings.webhook_certificates {
        return Ok(Certificates::mounted(folder.clone()));
    }
    // Outside of the cluster, nothing mounts certificates.
    if webhooks.are_certificates_mounted && settings.webhook_url.is_none() {
        return Err(Fatal::NoWebhookCertificates);
    }
    let config = ManagedConfig {
        client: setup.client.clone(),
        namespace: setup.client.default_namespace().to_owned(),
        operator: setup.operator.clone(),
        crds: webhooks.crds().map(str::to_owned).collect(),
        url: settings.webhook_url.clone(),
        hosts: vec![],
        lifetimes: Lifetimes::of_serving(settings.webhook_certificate_lifetime),
        clock: system_clock(),
    };
    Certificates::managed(config).map_err(|error| Fatal::WebhookUrl(error.to_string()))
}

/// Exports when the certificate expires.
fn report_expiry(certificates: &Certificates, metrics: &Metrics, background: &mut JoinSet<Fatal>) {
    let gauge = Gauge::<i64>::default();
    metrics.registry().register(
        "webhook_certificate_expiry_seconds",
        "When the certificate of the webhooks expires, in seconds since 1970",
        gauge.clone(),
    );
    let mut expiry = certificates.expiry();
    background.spawn(async move {
        loop {
            gauge.set(expiry.borrow_and_update().unwrap_or_default());
            if expiry.changed().await.is_err() {
                pending::<()>().await;
            }
        }
    });
}

async fn set_up(registrations: Vec<Registration>, setup: &Setup) -> Result<Served, Fatal> {
    let starts = registrations
        .into_iter()
        .map(|Registration { paths, start }| {
            let started = start(setup.clone());
            async move {
                started.await.map_err(|error| Fatal::WebhookSetup {
                    paths,
                    source: error.into(),
                })
            }
        });
    Ok(try_join_all(starts).await?.into_iter().flatten().collect())
}

impl Running {
    /// Ends the service when its requests in flight are finished.
    pub async fn drain(self) {
        if self.stop.is_cancelled() {
            self.noticed.cancelled().await;
        } else {
            // The controllers ended by themselves, for example because the lease is lost.
            self.health.set_role(Role::Stopping);
            sleep(self.notice).await;
        }
        self.closing.cancel();
        let drained = join(self.opened.drain(), self.closed.cancelled());
        if timeout(DRAIN_TIMEOUT, drained).await.is_err() {
            warn!(after = ?DRAIN_TIMEOUT, "giving up requests to webhooks in flight");
        }
    }
}
