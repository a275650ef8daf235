//! The certificate that the webhooks serve with, and the bundle by which API servers trust it.
//!
//! [`Certificates::managed`] creates certificates, keeps them in a Secret that all replicas share, and writes the bundle into the
//! configurations of the webhooks. [`Certificates::mounted`] reads the files of a folder, which something else renews. Both replace the
//! certificate of a running server. Private keys are in no log, error or debug output.

mod contents;
mod identity;
mod injection;
mod managed;
mod mounted;
mod renewal;
mod request;
mod secret;
mod target;
mod tls;
mod x509;

#[cfg(test)]
mod tests;

use std::{
    convert::Infallible,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

use kube::Client;
use tokio::sync::watch;
use tokio_rustls::rustls::ServerConfig;

pub(crate) use self::identity::InvalidAddress;
use self::{managed::Managed, mounted::Mounted, tls::Tls};

/// Returns the current time. Tests replace it.
pub(crate) type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// The clock of the system.
pub(crate) fn system_clock() -> Clock {
    Arc::new(SystemTime::now)
}

/// How long certificates are valid, and how often the operator looks at them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lifetimes {
    /// The lifetime of a serving certificate, which is renewed after two thirds of it.
    pub serving: Duration,
    /// The lifetime of a certificate authority; at least three times `serving`.
    pub authority: Duration,
    /// How long API servers may take to notice a new bundle in the configurations.
    pub propagation: Duration,
    /// How often the Secret and the configurations are checked.
    pub poll: Duration,
}

impl Lifetimes {
    /// The lifetimes that fit serving certificates of a lifetime between 10 seconds and 10 years.
    pub fn of_serving(serving: Duration) -> Self {
        const DAY: Duration = Duration::from_secs(24 * 3600);
        Self {
            serving,
            authority: (3650 * DAY).max(serving * 3),
            propagation: Duration::from_secs(300),
            poll: Duration::from_secs(30).min(serving / 10),
        }
    }
}

#[cfg(test)]
impl Default for Lifetimes {
    fn default() -> Self {
        Self::of_serving(crate::Settings::default().webhook_certificate_lifetime)
    }
}

/// What [`Certificates::managed`] needs to know.
pub(crate) struct ManagedConfig {
    pub client: Client,
    /// The namespace of the Secret and the Service.
    pub namespace: String,
    /// The name of the operator, from which the names of the Secret, the Service and the configurations follow.
    pub operator: String,
    /// The names of the CRDs that the operator converts.
    pub crds: Vec<String>,
    /// Where API servers reach the webhooks instead of at the Service.
    pub url: Option<String>,
    /// Further hosts for which the certificate is valid, besides those of the Service and the URL.
    pub hosts: Vec<String>,
    pub lifetimes: Lifetimes,
    pub clock: Clock,
}

/// The certificates of a webhook server. [`run`](Self::run) loads and renews them.
pub(crate) struct Certificates {
    tls: Arc<Tls>,
    source: Source,
}

enum Source {
    Managed(Box<Managed>),
    Mounted(Mounted),
}

impl Certificates {
    /// Certificates that the operator creates and renews. Fails if a host or the URL is invalid.
    pub fn managed(config: ManagedConfig) -> Result<Self, InvalidAddress> {
        let tls = Tls::new();
        let managed = Managed::new(config, tls.clone())?;
        let source = Source::Managed(Box::new(managed));
        Ok(Self { tls, source })
    }

    /// Certificates that are in the files `tls.crt` and `tls.key` of a folder.
    pub fn mounted(folder: PathBuf) -> Self {
        let tls = Tls::new();
        let source = Source::Mounted(Mounted::new(folder, tls.clone()));
        Self { tls, source }
    }

    /// The configuration of a server, whose certificate is always the current one. Handshakes fail until one is loaded.
    pub fn server_config(&self) -> Arc<ServerConfig> {
        self.tls.server_config()
    }

    /// Whether there is a certificate, and the configurations have been checked once.
    pub fn loaded(&self) -> watch::Receiver<bool> {
        self.tls.loaded()
    }

    /// When the current certificate expires, in seconds since the epoch.
    pub fn expiry(&self) -> watch::Receiver<Option<i64>> {
        self.tls.expiry()
    }

    /// Loads the certificates and keeps them valid until it is dropped. Errors are logged, and what failed is tried again.
    pub async fn run(self) -> Infallible {
        match self.source {
            Source::Managed(managed) => managed.run().await,
            Source::Mounted(mounted) => mounted.run().await,
        }
    }
}
