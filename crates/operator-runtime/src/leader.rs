//! Leader election on a [Lease](https://kubernetes.io/docs/concepts/architecture/leases/), so that one replica is active at a time.
//!
//! The holder's timestamps are never compared with our clock, because clocks differ: a lease has expired when we have observed no change of
//! it for its duration. Each write names the version that was read, so that one of two candidates wins. A leader that cannot renew the
//! lease in time stops before a standby can start.
//!
//! A candidate asks a holder of a lower priority for the lease by an annotation of the lease, which the holder reads when its next renewal
//! conflicts with it. The holder stops its controllers, and then releases the lease. The fields `strategy` and `preferredHolder` are meant
//! for that, but API servers drop them unless a feature gate is on.

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
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    error::{Fatal, client_message},
    health::Health,
    metrics::Metrics,
    settings::Settings,
};

/// The annotation `<name of the lease>/holder`: the holder and its priority.
const HOLDER: &str = "holder";

/// The annotation `<name of the lease>/candidate`: the announcement of a candidate that asks for the lease.
const CANDIDATE: &str = "candidate";

/// What to do about the lease that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    /// There is no lease: create it.
    Create,
    /// It is ours, free or expired: write our identity.
    Take,
    /// Another replica of a lower priority holds it: ask for it, and wait.
    Announce,
    /// Another replica holds it, or is about to: wait.
    Wait,
}

/// A replica that waits for the lease or holds it, and its priority.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Candidate {
    identity: String,
    priority: i32,
}

/// A candidate that asks a holder of a lower priority for the lease.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
struct Announcement {
    #[serde(flatten)]
    candidate: Candidate,
    /// Changes each time the candidate repeats it.
    renewal: u64,
}

/// The parts of a lease that an election reads.
struct LeaseState<'a> {
    spec: Option<&'a LeaseSpec>,
    /// `None` if the holder does not report its priority, like an operator without this runtime.
    holder: Option<Candidate>,
    announced: Option<Announcement>,
}

impl<'a> LeaseState<'a> {
    fn of(lease: &'a Lease) -> Self {
        let identity = holder(lease);
        Self {
            spec: lease.spec.as_ref(),
            // a holder that does not know the annotation keeps that of its predecessor
            holder: annotation(lease, HOLDER)
                .filter(|holder: &Candidate| Some(&holder.identity) == identity),
            announced: annotation(lease, CANDIDATE),
        }
    }
}

/// What was last observed, and since when, by our clock.
#[derive(Default)]
struct Observed {
    /// What the holder wrote. Announcements of candidates change the version of the lease, but do not renew it.
    spec: Option<(LeaseSpec, Instant)>,
    announced: Option<(Announcement, Instant)>,
}

impl Observed {
    /// Decides what to do about the lease that was read, and records what it contains.
    fn decide(&mut self, lease: Option<&Lease>, me: &Candidate, duration: Duration) -> Decision {
        let Some(lease) = lease else {
            return Decision::Create;
        };
        let read = LeaseState::of(lease);
        let rival = self.rival(&read, me, duration);
        let identity = holder(lease).map(String::as_str).unwrap_or_default();
        if identity == me.identity {
            return Decision::Take;
        }
        let is_expired = self.is_expired(read.spec, duration);
        match rival {
            Some(rival) if rival.priority >= me.priority => Decision::Wait,
            _ if identity.is_empty() || is_expired => Decision::Take,
            _ => match read.holder {
                Some(holder) if holder.priority < me.priority => Decision::Announce,
                _ => Decision::Wait,
            },
        }
    }

    /// Another candidate that asks for the lease. One that has not repeated its announcement within the duration no longer counts.
    fn rival(
        &mut self,
        read: &LeaseState<'_>,
        me: &Candidate,
        duration: Duration,
    ) -> Option<Candidate> {
        let announced = read
            .announced
            .as_ref()
            .filter(|it| it.candidate.identity != me.identity);
        let since = since(&mut self.announced, announced)?;
        let is_fresh = since.elapsed() < duration;
        announced
            .filter(|_| is_fresh)
            .map(|announced| announced.candidate.clone())
    }

    /// Whether the holder has not renewed the lease for its own duration, or for ours if it has none.
    fn is_expired(&mut self, spec: Option<&LeaseSpec>, duration: Duration) -> bool {
        let seconds = spec.and_then(|spec| spec.lease_duration_seconds);
        let duration = seconds
            .and_then(|seconds| u64::try_from(seconds).ok())
            .map_or(duration, Duration::from_secs);
        since(&mut self.spec, spec).is_none_or(|since| since.elapsed() >= duration)
    }
}

/// Since when a value has been the same; records it if it is new.
fn since<T: Clone + PartialEq>(
    seen: &mut Option<(T, Instant)>,
    now: Option<&T>,
) -> Option<Instant> {
    let now = now?;
    match seen {
        Some((value, since)) if value == now => Some(*since),
        _ => {
            let since = Instant::now();
            *seen = Some((now.clone(), since));
            Some(since)
        }
    }
}

/// A candidate for the lease, and its holder once it is acquired.
pub(crate) struct Election {
    leases: Api<Lease>,
    /// The field manager.
    operator: String,
    name: String,
    me: Candidate,
    settings: Settings,
    health: Arc<Health>,
    metrics: Arc<Metrics>,
    observed: Observed,
    /// How often this replica has asked for the lease.
    announcements: u64,
    /// Whether it was logged that the holder does not report its priority.
    is_warned: bool,
}

impl Election {
    pub fn new(
        client: Client,
        operator: &str,
        settings: &Settings,
        (health, metrics): (Arc<Health>, Arc<Metrics>),
    ) -> Self {
        let host = hostname::get().unwrap_or_default();
        let unique = RandomState::new().hash_one(std::process::id());
        // an environment variable may be set to an empty string
        let namespace = settings.lease_namespace.clone();
        let namespace = namespace
            .filter(|namespace| !namespace.is_empty())
            .unwrap_or_else(|| client.default_namespace().to_owned());
        Self {
            leases: Api::namespaced(client, &namespace),
            operator: operator.to_owned(),
            name: settings.lease(operator),
            me: Candidate {
                identity: format!("{}_{unique:016x}", host.to_string_lossy()),
                priority: settings.priority,
            },
            settings: settings.clone(),
            health,
            metrics,
            observed: Observed::default(),
            announcements: 0,
            is_warned: false,
        }
    }

    /// Waits until this replica holds the lease. Returns `None` if `stop` is cancelled first.
    pub async fn acquire(&mut self, stop: &CancellationToken) -> Option<HeldLease> {
        let mut standing_by = false;
        loop {
            let asked = Instant::now();
            // not cancelled by `stop`: the request may have made the lease ours, which must then be released
            let tried = timeout_at(asked + self.settings.renew_deadline, self.take()).await;
            match tried.unwrap_or_else(|_| Err(kube::Error::Service("no answer in time".into()))) {
                Ok(Some(lease)) => {
                    info!(lease = self.name, identity = self.me.identity, "leading");
                    return Some(HeldLease {
                        lease,
                        renewed: asked,
                    });
                }
                Ok(None) if !standing_by => {
                    standing_by = true;
                    info!(
                        lease = self.name,
                        identity = self.me.identity,
                        "standing by"
                    );
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
                () = stop.cancelled() => {
                    self.withdraw().await;
                    return None;
                }
            }
        }
    }

    /// Renews the lease until `done`, then releases it. Cancels `yielded` if a candidate of a higher priority asks for the lease. Fails if
    /// the lease is lost first.
    pub async fn keep(
        mut self,
        mut held: HeldLease,
        done: CancellationToken,
        yielded: CancellationToken,
    ) -> Result<Self, Fatal> {
        let mut trouble = "no time".to_owned();
        loop {
            let deadline = held.renewed + self.settings.renew_deadline;
            let next = (Instant::now() + self.settings.retry_period).min(deadline);
            tokio::select! {
                () = sleep_until(next) => {}
                () = done.cancelled() => {
                    self.release(held.lease).await;
                    return Ok(self);
                }
            }
            let asked = Instant::now();
            match timeout_at(deadline, self.renew(&held.lease)).await {
                Ok(Ok(Some(lease))) => {
                    if let Some(rival) = self.superior(&lease).filter(|_| !yielded.is_cancelled()) {
                        info!(
                            lease = self.name,
                            to = rival.identity,
                            priority = rival.priority,
                            "pausing for an operator with a higher priority"
                        );
                        self.set_paused(Some(&rival));
                        yielded.cancel();
                    }
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

    /// Reads the lease, and acquires it or asks for it if possible.
    async fn take(&mut self) -> kube::Result<Option<Lease>> {
        let lease = self.leases.get_opt(&self.name).await?;
        self.health.lease_seen();
        let duration = self.settings.lease_duration;
        let decision = self.observed.decide(lease.as_ref(), &self.me, duration);
        let superior = lease.as_ref().and_then(|lease| self.superior(lease));
        self.set_paused(superior.as_ref().filter(|_| decision == Decision::Wait));
        match (decision, lease) {
            (Decision::Take, Some(lease)) => self.write(&lease, Write::Acquire).await,
            (Decision::Create, _) => {
                let mut lease = Lease {
                    metadata: ObjectMeta {
                        name: Some(self.name.clone()),
                        ..ObjectMeta::default()
                    },
                    spec: Some(self.spec(None)),
                };
                annotate(&mut lease, &self.name, HOLDER, Some(&self.me));
                won(self.leases.create(&self.parameters(), &lease).await)
            }
            (Decision::Announce, Some(lease)) => {
                self.announce(lease).await?;
                Ok(None)
            }
            (_, lease) => {
                self.warn_of_holder(lease.as_ref());
                Ok(None)
            }
        }
    }

    /// The holder or candidate of a higher priority than ours.
    fn superior(&mut self, lease: &Lease) -> Option<Candidate> {
        let read = LeaseState::of(lease);
        let rival = self
            .observed
            .rival(&read, &self.me, self.settings.lease_duration);
        [read.holder, rival]
            .into_iter()
            .flatten()
            .max_by_key(|it| it.priority)
            .filter(|it| it.priority > self.me.priority)
    }

    /// Reports the operator with a higher priority for which this one is paused, or that it is not paused.
    fn set_paused(&self, superior: Option<&Candidate>) {
        self.metrics.paused.set(i64::from(superior.is_some()));
        self.health.set_paused(
            superior.map(|it| format!("paused: {} has the priority {}", it.identity, it.priority)),
        );
    }

    /// Asks the holder for the lease, once more.
    async fn announce(&mut self, mut lease: Lease) -> kube::Result<()> {
        if self.announcements == 0 {
            info!(
                lease = self.name,
                identity = self.me.identity,
                holder = holder(&lease),
                "asking for the lease, by a higher priority"
            );
        }
        self.announcements += 1;
        let announcement = Announcement {
            candidate: self.me.clone(),
            renewal: self.announcements,
        };
        annotate(&mut lease, &self.name, CANDIDATE, Some(&announcement));
        // after a conflict with a renewal, the next attempt repeats this
        won(self.replace(&lease).await).map(drop)
    }

    /// Removes our announcement, because this replica does not wait any more.
    async fn withdraw(&self) {
        if self.announcements == 0 {
            return;
        }
        let withdrawn = async {
            while let Some(mut lease) = self.leases.get_opt(&self.name).await? {
                let announced = LeaseState::of(&lease).announced;
                if announced.is_none_or(|it| it.candidate.identity != self.me.identity) {
                    break;
                }
                annotate(&mut lease, &self.name, CANDIDATE, None::<&Announcement>);
                if won(self.replace(&lease).await)?.is_some() {
                    break;
                }
            }
            Ok::<_, kube::Error>(())
        };
        // if this fails, the others ignore the announcement once it is not repeated
        let _late = tokio::time::timeout(self.settings.renew_deadline, withdrawn).await;
    }

    /// Logs once that the holder cannot be asked for the lease.
    fn warn_of_holder(&mut self, lease: Option<&Lease>) {
        let identity = lease
            .filter(|lease| LeaseState::of(lease).holder.is_none())
            .and_then(holder)
            .filter(|it| !it.is_empty());
        if let Some(holder) = identity.filter(|_| !self.is_warned && self.me.priority > 0) {
            self.is_warned = true;
            warn!(
                lease = self.name,
                holder, "the holder of the lease knows no priorities: waiting until it ends"
            );
        }
    }

    /// Renews the lease; reads it after a conflict, because it may still be ours.
    async fn renew(&mut self, lease: &Lease) -> kube::Result<Option<Lease>> {
        let mut written = self.write(lease, Write::Renew).await?;
        while written.is_none() {
            written = match self.leases.get_opt(&self.name).await? {
                // a candidate has written its announcement
                Some(lease) if holder(&lease) == Some(&self.me.identity) => {
                    self.write(&lease, Write::Renew).await?
                }
                // somebody has deleted the lease
                None => return self.take().await,
                Some(_) => return Ok(None),
            };
        }
        Ok(written)
    }

    /// Writes our identity to the version that was read. Returns `None` if that is not the newest version.
    async fn write(&self, lease: &Lease, kind: Write) -> kube::Result<Option<Lease>> {
        let mut lease = Lease {
            spec: Some(self.spec(Some(lease))),
            metadata: lease.metadata.clone(),
        };
        annotate(&mut lease, &self.name, HOLDER, Some(&self.me));
        if kind == Write::Acquire {
            // The announcement is ours, or of a candidate that no longer repeats it. If that one is only slow, it announces itself again.
            annotate(&mut lease, &self.name, CANDIDATE, None::<&Announcement>);
        }
        won(self.replace(&lease).await)
    }

    async fn replace(&self, lease: &Lease) -> kube::Result<Lease> {
        let parameters = self.parameters();
        self.leases.replace(&self.name, &parameters, lease).await
    }

    fn parameters(&self) -> PostParams {
        PostParams {
            field_manager: Some(self.operator.clone()),
            ..PostParams::default()
        }
    }

    /// Releases the lease, so that a standby need not wait until it expires.
    async fn release(&self, lease: Lease) {
        let released = async {
            let mut held = Some(lease);
            while let Some(mut lease) = held.filter(|it| holder(it) == Some(&self.me.identity)) {
                if let Some(spec) = &mut lease.spec {
                    spec.holder_identity = None;
                    spec.lease_duration_seconds = Some(1);
                }
                annotate(&mut lease, &self.name, HOLDER, None::<&Candidate>);
                if won(self.replace(&lease).await)?.is_some() {
                    return Ok(());
                }
                // A candidate has announced itself meanwhile.
                held = self.leases.get_opt(&self.name).await?;
            }
            Ok::<_, kube::Error>(())
        };
        match tokio::time::timeout(self.settings.renew_deadline, released).await {
            Ok(Ok(())) => info!(lease = self.name, "released the lease"),
            Ok(Err(error)) => warn!(
                lease = self.name,
                "lease not released: {}",
                client_message(&error)
            ),
            Err(_) => warn!(lease = self.name, "lease not released in time"),
        }
    }

    /// The spec of a lease that this replica takes or renews.
    fn spec(&self, old: Option<&Lease>) -> LeaseSpec {
        let ours = old.is_none_or(|lease| holder(lease) == Some(&self.me.identity));
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
            holder_identity: Some(self.me.identity.clone()),
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

/// Whether a write of the holder begins a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Write {
    Acquire,
    Renew,
}

/// An annotation of a lease; `None` also if it cannot be read.
fn annotation<T: DeserializeOwned>(lease: &Lease, key: &str) -> Option<T> {
    let name = lease.metadata.name.as_deref()?;
    let annotations = lease.metadata.annotations.as_ref()?;
    serde_json::from_str(annotations.get(&format!("{name}/{key}"))?).ok()
}

/// Sets or removes an annotation of a lease.
fn annotate<T: Serialize>(lease: &mut Lease, name: &str, key: &str, value: Option<&T>) {
    let annotations = lease.metadata.annotations.get_or_insert_default();
    let key = format!("{name}/{key}");
    match value.map(serde_json::to_string) {
        Some(Ok(value)) => annotations.insert(key, value),
        _ => annotations.remove(&key),
    };
}

/// Rounds up, because a lease must not expire earlier than configured.
fn whole_seconds(duration: Duration) -> i32 {
    i32::try_from(duration.as_millis().div_ceil(1000)).unwrap_or(i32::MAX)
}

/// Converts a lost race to `None`: another client has written, created or deleted the lease meanwhile.
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

    fn me(priority: i32) -> Candidate {
        candidate("me", priority)
    }

    fn candidate(identity: &str, priority: i32) -> Candidate {
        Candidate {
            identity: identity.into(),
            priority,
        }
    }

    /// A lease that its holder has renewed this number of times.
    fn lease(holder: &str, renewals: i32, seconds: Option<i32>) -> Lease {
        Lease {
            metadata: ObjectMeta {
                name: Some("shop".into()),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec {
                holder_identity: Some(holder.into()),
                lease_duration_seconds: seconds,
                // the time itself does not matter: it only has to differ after a renewal
                renew_time: Some(MicroTime(Timestamp::from_second(renewals.into()).unwrap())),
                ..LeaseSpec::default()
            }),
        }
    }

    /// A lease whose holder has a priority.
    fn held(holder: &str, priority: i32) -> Lease {
        let mut lease = lease(holder, 1, None);
        annotate(
            &mut lease,
            "shop",
            HOLDER,
            Some(&candidate("other", priority)),
        );
        lease
    }

    fn announced(mut lease: Lease, (identity, priority): (&str, i32), renewal: u64) -> Lease {
        let announcement = Announcement {
            candidate: candidate(identity, priority),
            renewal,
        };
        annotate(&mut lease, "shop", CANDIDATE, Some(&announcement));
        lease
    }

    #[tokio::test(start_paused = true)]
    async fn a_missing_free_or_own_lease_is_taken_at_once() {
        let mut observed = Observed::default();
        let mut decide = |lease| observed.decide(lease, &me(0), DURATION);
        assert_eq!(decide(None), Decision::Create);
        let (free, own) = (lease("", 1, None), lease("me", 2, None));
        assert_eq!(decide(Some(&free)), Decision::Take);
        assert_eq!(decide(Some(&own)), Decision::Take);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_of_another_expires_after_its_duration_without_a_change() {
        let mut observed = Observed::default();
        let mut decide = |lease: &Lease| observed.decide(Some(lease), &me(0), DURATION);
        let (first, mut second) = (lease("other", 1, Some(20)), lease("other", 2, Some(20)));
        assert_eq!(decide(&first), Decision::Wait);
        advance(Duration::from_secs(19)).await;
        assert_eq!(
            decide(&first),
            Decision::Wait,
            "its own duration counts, not ours"
        );
        assert_eq!(decide(&second), Decision::Wait, "it was renewed");
        advance(Duration::from_secs(19)).await;
        assert_eq!(decide(&second), Decision::Wait);
        advance(Duration::from_secs(1)).await;
        second.metadata.resource_version = Some("9".into());
        second = announced(second, ("candidate", -1), 1);
        assert_eq!(
            decide(&second),
            Decision::Take,
            "an announcement does not renew it"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_holder_of_a_lower_priority_is_asked_for_the_lease() {
        let decide = |lease| Observed::default().decide(Some(&lease), &me(5), DURATION);
        assert_eq!(decide(held("other", 4)), Decision::Announce);
        assert_eq!(decide(held("other", 5)), Decision::Wait);
        assert_eq!(decide(held("other", 6)), Decision::Wait);
        assert_eq!(
            decide(held("older", 4)),
            Decision::Wait,
            "the priority is that of an earlier holder"
        );
        let theirs = |priority| announced(held("other", 4), ("candidate", priority), 1);
        assert_eq!(decide(theirs(4)), Decision::Announce);
        assert_eq!(decide(theirs(5)), Decision::Wait, "it was there before");
        assert_eq!(decide(theirs(6)), Decision::Wait);
    }

    #[tokio::test(start_paused = true)]
    async fn a_free_lease_is_left_to_a_candidate_as_long_as_it_repeats_its_announcement() {
        let mut observed = Observed::default();
        let mut decide = |renewal| {
            let lease = announced(lease("", 1, None), ("candidate", 5), renewal);
            observed.decide(Some(&lease), &me(0), DURATION)
        };
        assert_eq!(decide(1), Decision::Wait);
        advance(Duration::from_secs(14)).await;
        assert_eq!(decide(1), Decision::Wait);
        assert_eq!(decide(2), Decision::Wait);
        advance(Duration::from_secs(14)).await;
        assert_eq!(decide(2), Decision::Wait);
        advance(Duration::from_secs(1)).await;
        assert_eq!(decide(2), Decision::Take);
        let lower = announced(lease("", 1, None), ("candidate", -5), 1);
        assert_eq!(
            Observed::default().decide(Some(&lower), &me(0), DURATION),
            Decision::Take
        );
    }

    #[test]
    fn a_lease_lasts_at_least_as_long_as_configured() {
        assert_eq!(whole_seconds(Duration::from_millis(1500)), 2);
        assert_eq!(whole_seconds(DURATION), 15);
    }
}
