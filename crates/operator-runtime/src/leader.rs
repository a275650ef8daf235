//! Leader election on a [Lease](https://kubernetes.io/docs/concepts/architecture/leases/), so that one replica is active at a time.
//!
//! The holder's timestamps are never compared with our clock, because clocks differ: a lease has expired when we have observed no change of
//! it for its duration. Each write names the version that was read, so that one of two candidates wins. A leader that cannot renew the
//! lease in time stops before a standby can start.

use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
    time::Duration,
};

use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::Timestamp,
};
use kube::{
    Api, Client,
    api::{ObjectMeta, PostParams},
};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    error::{Fatal, client_message},
    health::Health,
    settings::Settings,
};

/// What to do about the lease that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    /// There is no lease: create it.
    Create,
    /// It is ours, free or expired: write our identity.
    Take,
    /// Another replica holds it: wait.
    Wait,
}

/// The version of the lease that was last observed, and since when, by our clock.
#[derive(Default)]
struct ObservedLease(Option<(String, Instant)>);

impl ObservedLease {
    fn decide(&mut self, lease: Option<&Lease>, me: &str, duration: Duration) -> Decision {
        let Some(lease) = lease else {
            return Decision::Create;
        };
        let spec = lease.spec.as_ref();
        let holder = spec
            .and_then(|spec| spec.holder_identity.as_deref())
            .unwrap_or_default();
        if holder.is_empty() || holder == me {
            return Decision::Take;
        }
        let seconds = spec.and_then(|spec| spec.lease_duration_seconds);
        let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let duration = seconds.map_or(duration, Duration::from_secs);
        let version = lease.metadata.resource_version.clone().unwrap_or_default();
        match &self.0 {
            Some((seen, since)) if *seen == version && since.elapsed() >= duration => {
                Decision::Take
            }
            Some((seen, _)) if *seen == version => Decision::Wait,
            _ => {
                self.0 = Some((version, Instant::now()));
                Decision::Wait
            }
        }
    }
}

/// A candidate for the lease, and its holder once it is acquired.
pub(crate) struct Election {
    leases: Api<Lease>,
    name: String,
    me: String,
    settings: Settings,
    health: Arc<Health>,
    observed: ObservedLease,
}

impl Election {
    pub fn new(client: Client, operator: &str, settings: &Settings, health: Arc<Health>) -> Self {
        let host = hostname::get().unwrap_or_default();
        let unique = RandomState::new().hash_one(std::process::id());
        // An environment variable may be set to nothing.
        let namespace = settings.lease_namespace.clone();
        let namespace = namespace.filter(|namespace| !namespace.is_empty());
        let namespace = namespace.unwrap_or_else(|| client.default_namespace().to_owned());
        Self {
            leases: Api::namespaced(client, &namespace),
            name: settings.lease(operator),
            me: format!("{}_{unique:016x}", host.to_string_lossy()),
            settings: settings.clone(),
            health,
            observed: ObservedLease::default(),
        }
    }

    /// Waits until this replica holds the lease. Returns `None` if `stop` is cancelled first.
    pub async fn acquire(&mut self, stop: &CancellationToken) -> Option<HeldLease> {
        let mut standing_by = false;
        loop {
            let asked = Instant::now();
            // Not cancelled by `stop`: the lease may be ours by then, and is to be released.
            let tried = timeout_at(asked + self.settings.renew_deadline, self.take()).await;
            match tried.unwrap_or_else(|_| Err(kube::Error::Service("no answer in time".into()))) {
                Ok(Some(lease)) => {
                    info!(lease = self.name, identity = self.me, "leading");
                    return Some(HeldLease {
                        lease,
                        renewed: asked,
                    });
                }
                Ok(None) if !standing_by => {
                    standing_by = true;
                    info!(lease = self.name, identity = self.me, "standing by");
                }
                Ok(None) => {}
                Err(error) => warn!(
                    lease = self.name,
                    "cannot get the lease: {}",
                    client_message(&error)
                ),
            }
            tokio::select! {
                () = sleep(self.settings.retry_period) => {}
                () = stop.cancelled() => return None,
            }
        }
    }

    /// Renews the lease until `done`, then releases it. Fails if the lease is lost first.
    pub async fn keep(mut self, mut held: HeldLease, done: CancellationToken) -> Result<(), Fatal> {
        let mut trouble = "no time".to_owned();
        loop {
            let deadline = held.renewed + self.settings.renew_deadline;
            let next = (Instant::now() + self.settings.retry_period).min(deadline);
            tokio::select! {
                () = sleep_until(next) => {}
                () = done.cancelled() => {
                    self.release(held.lease).await;
                    return Ok(());
                }
            }
            let asked = Instant::now();
            match timeout_at(deadline, self.renew(&held.lease)).await {
                Ok(Ok(Some(lease))) => {
                    held = HeldLease {
                        lease,
                        renewed: asked,
                    };
                    continue;
                }
                Ok(Ok(None)) => return Err(self.lost("another replica took it".into())),
                Ok(Err(error)) => {
                    trouble = client_message(&error);
                    warn!(lease = self.name, "cannot renew the lease: {trouble}");
                }
                Err(_) => {}
            }
            if Instant::now() >= deadline {
                return Err(self.lost(format!("not renewed in time: {trouble}")));
            }
        }
    }

    fn lost(&self, reason: String) -> Fatal {
        Fatal::LeaseLost {
            lease: self.name.clone(),
            reason,
        }
    }

    /// Reads the lease, and acquires it if that is possible.
    async fn take(&mut self) -> kube::Result<Option<Lease>> {
        let lease = self.leases.get_opt(&self.name).await?;
        self.health.lease_seen();
        match (
            self.observed
                .decide(lease.as_ref(), &self.me, self.settings.lease_duration),
            lease,
        ) {
            (Decision::Take, Some(lease)) => self.write(&lease).await,
            (Decision::Create, _) => {
                let lease = Lease {
                    metadata: ObjectMeta {
                        name: Some(self.name.clone()),
                        ..ObjectMeta::default()
                    },
                    spec: Some(self.spec(None)),
                };
                won(self.leases.create(&PostParams::default(), &lease).await)
            }
            _ => Ok(None),
        }
    }

    /// Renews the lease; reads it after a conflict, because it may still be ours.
    async fn renew(&mut self, lease: &Lease) -> kube::Result<Option<Lease>> {
        if let Some(lease) = self.write(lease).await? {
            return Ok(Some(lease));
        }
        match self.leases.get_opt(&self.name).await? {
            Some(lease) if holder(&lease) == Some(&self.me) => self.write(&lease).await,
            None => self.take().await,
            Some(_) => Ok(None),
        }
    }

    /// Writes our identity to the version that was read. Returns `None` if that is not the newest version.
    async fn write(&self, lease: &Lease) -> kube::Result<Option<Lease>> {
        let lease = Lease {
            spec: Some(self.spec(Some(lease))),
            metadata: lease.metadata.clone(),
        };
        won(self
            .leases
            .replace(&self.name, &PostParams::default(), &lease)
            .await)
    }

    /// Releases the lease, so that a standby need not wait until it expires.
    async fn release(&self, mut lease: Lease) {
        if let Some(spec) = &mut lease.spec {
            spec.holder_identity = None;
            spec.lease_duration_seconds = Some(1);
        }
        let parameters = PostParams::default();
        let written = self.leases.replace(&self.name, &parameters, &lease);
        match tokio::time::timeout(self.settings.renew_deadline, written).await {
            Ok(Ok(_)) => info!(lease = self.name, "released the lease"),
            Ok(Err(error)) => warn!(
                lease = self.name,
                "lease not released: {}",
                client_message(&error)
            ),
            Err(_) => warn!(lease = self.name, "lease not released in time"),
        }
    }

    fn spec(&self, old: Option<&Lease>) -> LeaseSpec {
        let ours = old.is_none_or(|lease| holder(lease) == Some(&self.me));
        let old = old.and_then(|lease| lease.spec.clone()).unwrap_or_default();
        let now = MicroTime(Timestamp::now());
        LeaseSpec {
            acquire_time: if ours && old.acquire_time.is_some() {
                old.acquire_time
            } else {
                Some(now.clone())
            },
            lease_transitions: Some(
                old.lease_transitions
                    .unwrap_or(0)
                    .saturating_add(i32::from(!ours)),
            ),
            holder_identity: Some(self.me.clone()),
            lease_duration_seconds: Some(whole_seconds(self.settings.lease_duration)),
            renew_time: Some(now),
            ..LeaseSpec::default()
        }
    }
}

/// The lease that this replica holds.
pub(crate) struct HeldLease {
    lease: Lease,
    /// When the request that wrote it was sent; other replicas count from a later time.
    renewed: Instant,
}

fn holder(lease: &Lease) -> Option<&String> {
    lease.spec.as_ref()?.holder_identity.as_ref()
}

fn whole_seconds(duration: Duration) -> i32 {
    i32::try_from(duration.as_millis().div_ceil(1000)).unwrap_or(i32::MAX)
}

/// Converts a conflict to `None`: of two writers of a version, the other has won.
fn won(written: kube::Result<Lease>) -> kube::Result<Option<Lease>> {
    match written {
        Ok(lease) => Ok(Some(lease)),
        Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    const DURATION: Duration = Duration::from_secs(15);

    fn lease(holder: &str, version: &str, seconds: Option<i32>) -> Lease {
        Lease {
            metadata: ObjectMeta {
                resource_version: Some(version.into()),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec {
                holder_identity: Some(holder.into()),
                lease_duration_seconds: seconds,
                // A clock that is an hour behind changes nothing.
                renew_time: Some(MicroTime(Timestamp::UNIX_EPOCH)),
                ..LeaseSpec::default()
            }),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_missing_free_or_own_lease_is_taken_at_once() {
        let mut observed = ObservedLease::default();
        assert_eq!(observed.decide(None, "me", DURATION), Decision::Create);
        assert_eq!(
            observed.decide(Some(&lease("", "1", None)), "me", DURATION),
            Decision::Take
        );
        assert_eq!(
            observed.decide(Some(&lease("me", "2", None)), "me", DURATION),
            Decision::Take
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_of_another_expires_after_its_duration_without_a_change() {
        let mut observed = ObservedLease::default();
        let mut decide =
            |version| observed.decide(Some(&lease("other", version, Some(20))), "me", DURATION);
        assert_eq!(decide("1"), Decision::Wait);
        advance(Duration::from_secs(19)).await;
        assert_eq!(
            decide("1"),
            Decision::Wait,
            "its own duration counts, not ours"
        );
        assert_eq!(decide("2"), Decision::Wait, "it was renewed");
        advance(Duration::from_secs(19)).await;
        assert_eq!(decide("2"), Decision::Wait);
        advance(Duration::from_secs(1)).await;
        assert_eq!(decide("2"), Decision::Take);
    }

    #[test]
    fn a_lease_lasts_at_least_as_long_as_configured() {
        assert_eq!(whole_seconds(Duration::from_millis(1500)), 2);
        assert_eq!(whole_seconds(DURATION), 15);
    }
}
