//! Certificates that the operator creates. Every replica runs this loop; they agree through the Secret.

use std::{convert::Infallible, sync::Arc, time::Duration};

use k8s_openapi::ByteString;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::rustls;
use tracing::{info, warn};

use super::{
    Clock, InvalidAddress, Lifetimes, ManagedConfig,
    contents::{Contents, Material},
    identity::{Identity, IssueError},
    injection::WebhookAddress,
    renewal::{Reason, next},
    request::Failure,
    secret::{Secret, Written},
    target::{Checked, Target},
    tls::Tls,
    x509::Certificate,
};

/// How often a pass reads the Secret, if another replica changes it at the same time.
const ATTEMPTS: usize = 8;
/// The pause after the first failure, which doubles up to the interval of polls.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// How long a pass may take.
const PASS_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) struct Managed {
    client: kube::Client,
    operator: String,
    identity: Identity,
    secret: Secret,
    targets: Vec<Target>,
    address: WebhookAddress,
    lifetimes: Lifetimes,
    clock: Clock,
    tls: Arc<Tls>,
    /// What the last pass found or wrote.
    memory: Option<Material>,
    /// The authority that all objects trust, and since when.
    trusted: Option<(Certificate, Instant)>,
}

/// The result of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Settled,
    /// An object does not exist or does not call the operator yet, or could not be patched.
    Waiting,
    /// Another replica changed the Secret meanwhile.
    Stale,
}

#[derive(Debug, Error)]
enum PassError {
    #[error(transparent)]
    Request(#[from] Failure),
    #[error(transparent)]
    Issue(#[from] IssueError),
    #[error("cannot serve with the certificate: {0}")]
    Tls(#[from] rustls::Error),
    #[error("other replicas change it all the time")]
    Contended,
    #[error("no answer in time")]
    Timeout,
}

impl Managed {
    pub fn new(config: ManagedConfig, tls: Arc<Tls>) -> Result<Self, InvalidAddress> {
        let operator = config.operator;
        let service = format!("{operator}-webhook");
        let mut hosts = config.hosts;
        let url = match config.url {
            Some(url) => {
                hosts.push(host(&url)?.to_owned());
                Some(url.trim_end_matches('/').to_owned())
            }
            None => None,
        };
        let identity = Identity::new(&operator, &service, &config.namespace, &hosts)?;
        Ok(Self {
            secret: Secret::new(
                config.client.clone(),
                &operator,
                &service,
                &config.namespace,
            ),
            targets: Target::all(&operator, &config.crds),
            address: WebhookAddress {
                service,
                namespace: config.namespace,
                url,
                identity: identity.clone(),
            },
            client: config.client,
            operator,
            identity,
            lifetimes: config.lifetimes,
            clock: config.clock,
            tls,
            memory: None,
            trusted: None,
        })
    }

    pub async fn run(mut self) -> Infallible {
        let mut pause = FIRST_PAUSE;
        loop {
            let passed = timeout(PASS_TIMEOUT, self.pass()).await;
            // Also after an error: the certificate may be valid for a long time.
            self.tls.report_loaded();
            let is_settled = match passed.unwrap_or(Err(PassError::Timeout)) {
                Ok(progress) => progress == Progress::Settled,
                Err(error) => {
                    let secret = self.secret.name();
                    warn!(secret, "cannot keep the certificate of webhooks: {error}");
                    false
                }
            };
            let poll = self.lifetimes.poll;
            sleep(if is_settled { poll } else { pause.min(poll) }).await;
            pause = if is_settled {
                FIRST_PAUSE
            } else {
                (pause * 2).min(poll)
            };
        }
    }

    /// Reads the Secret, changes it if that is due, serves with its certificate, and writes its authorities into the objects.
    async fn pass(&mut self) -> Result<Progress, PassError> {
        for _ in 0..ATTEMPTS {
            let stored = self.secret.read().await?;
            let now = self.now();
            let entries = stored.as_ref().map(|stored| &stored.entries);
            let next = next(
                entries.map(|entries| Contents::read(entries, &self.identity, now)),
                self.memory.as_ref(),
                |authority| self.is_trusted(authority),
                &self.identity,
                &self.lifetimes,
                now,
            )?;
            let version = match stored {
                Some(stored) if next.reasons.is_empty() => stored.version,
                stored => match self.secret.write(stored.as_ref(), &next.material).await? {
                    Written::Version(version) => version,
                    Written::Conflict => continue,
                },
            };
            self.report(&next.reasons);
            if self.tls.serve(&next.material.serving)? {
                info!(
                    secret = self.secret.name(),
                    expires = %next.material.serving.certificate.expires(),
                    "webhooks serve with this certificate"
                );
            }
            let bundle = json!(ByteString(next.material.bundle().into_bytes()));
            let authority = next.material.authority.certificate.clone();
            self.memory = Some(next.material);
            match self.inject(&bundle, authority, &version).await? {
                Progress::Stale => {}
                progress => return Ok(progress),
            }
        }
        Err(PassError::Contended)
    }

    /// Writes the bundle into all objects.
    async fn inject(
        &mut self,
        bundle: &Value,
        authority: Certificate,
        version: &str,
    ) -> Result<Progress, PassError> {
        let (mut is_complete, mut has_failed, mut is_changed) = (true, false, false);
        let mut is_current = false;
        for target in &mut self.targets {
            let (client, address, manager) = (&self.client, &self.address, &self.operator);
            let mut checked = target
                .check(client, address, bundle, is_current, manager)
                .await;
            if let Ok(Checked::Differs) = checked {
                // Another replica may have written a newer bundle, which must not be overwritten.
                let stored = self.secret.read().await?;
                if stored.is_none_or(|stored| stored.version != version) {
                    return Ok(Progress::Stale);
                }
                is_current = true;
                checked = target
                    .check(client, address, bundle, is_current, manager)
                    .await;
            }
            match checked {
                Ok(Checked::Same) => {}
                Ok(Checked::Patched | Checked::Differs) => is_changed = true,
                Ok(Checked::Absent | Checked::NotOurs) => is_complete = false,
                Err(failure) => {
                    let (kind, name) = (target.kind(), target.name());
                    warn!(
                        kind,
                        name, "cannot set the CA bundle of the webhooks: {failure}"
                    );
                    has_failed = true;
                }
            }
        }
        self.trusted = match self.trusted.take() {
            _ if has_failed => None,
            Some((trusted, since)) if trusted == authority && !is_changed => Some((trusted, since)),
            _ => Some((authority, Instant::now())),
        };
        Ok(if is_complete && !has_failed {
            Progress::Settled
        } else {
            Progress::Waiting
        })
    }

    /// Whether API servers have noticed that the objects trust the authority.
    fn is_trusted(&self, authority: &Certificate) -> bool {
        let trusted = self.trusted.as_ref();
        trusted.is_some_and(|(trusted, since)| {
            trusted == authority && since.elapsed() >= self.lifetimes.propagation
        })
    }

    fn report(&self, reasons: &[Reason]) {
        let secret = self.secret.name();
        for reason in reasons {
            match reason {
                Reason::Damaged(_) => {
                    warn!(secret, "repaired the certificates of webhooks: {reason}");
                }
                reason => info!(secret, "wrote the certificates of webhooks: {reason}"),
            }
        }
    }

    fn now(&self) -> i64 {
        let since_epoch = (self.clock)().duration_since(std::time::UNIX_EPOCH);
        let seconds = since_epoch.map_or(0, |since_epoch| since_epoch.as_secs());
        seconds.try_into().unwrap_or(i64::MAX)
    }
}

/// The host of a URL, without its port. The API server refuses a URL with a user, a query or a fragment.
fn host(url: &str) -> Result<&str, InvalidAddress> {
    let rest = url.strip_prefix("https://");
    let rest = rest
        .filter(|rest| !rest.contains(['@', '?', '#']))
        .ok_or_else(|| InvalidAddress::Url {
            url: url.to_owned(),
        })?;
    let authority = rest.split('/').next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(address) => address.split(']').next(),
        None => authority.split(':').next(),
    };
    Ok(host.unwrap_or_default())
}
