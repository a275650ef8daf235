//! Whether the operator is alive and ready. An unreachable API server does not make it unhealthy, because a restart would not help.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{Instant, interval},
};

use crate::{engine::progress::Progress, lock::lock};

/// The executor is stalled if its tasks wait longer than this to be polled.
const BEAT_WITHIN: Duration = Duration::from_secs(30);

/// The role of this replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Starting,
    Standby,
    /// The leader applies its CRDs.
    EnsuringCrds,
    Working,
    Stopping,
}

/// The state behind `/healthz` and `/readyz`.
pub(crate) struct Health {
    progress: Arc<Progress>,
    lease_duration: Duration,
    state: Mutex<State>,
    /// Whether the controllers work, with full caches.
    works: watch::Sender<bool>,
}

struct State {
    role: Role,
    beat: Instant,
    lease_seen: Option<Instant>,
    /// The caches that are still being filled, by kind and group.
    filling: Vec<String>,
    /// Why an operator with a higher priority works instead of this one.
    paused: Option<String>,
    /// `None` if the operator has no webhooks.
    webhooks: Option<Webhooks>,
}

impl State {
    fn works(&self) -> bool {
        self.role == Role::Working && self.filling.is_empty()
    }
}

/// The state of the webhooks of this replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "webhook"), expect(dead_code, reason = "there are none"))]
pub(crate) enum Webhooks {
    Starting,
    Served,
}

impl Health {
    pub fn new(
        progress: Arc<Progress>,
        lease_duration: Duration,
        works: watch::Sender<bool>,
    ) -> Arc<Self> {
        let state = State {
            role: Role::Starting,
            beat: Instant::now(),
            lease_seen: None,
            filling: vec![],
            paused: None,
            webhooks: None,
        };
        Arc::new(Self {
            progress,
            lease_duration,
            state: Mutex::new(state),
            works,
        })
    }

    /// Records every five seconds that the executor polls its tasks; never returns.
    pub async fn beat(self: Arc<Self>) -> Infallible {
        let mut ticks = interval(Duration::from_secs(5));
        loop {
            ticks.tick().await;
            lock(&self.state).beat = Instant::now();
        }
    }

    /// Sets the role. A replica that is stopping keeps its role.
    pub fn set_role(&self, role: Role) {
        let mut state = lock(&self.state);
        if state.role != Role::Stopping {
            state.role = role;
        }
        self.works.send_replace(state.works());
    }

    /// Records that the lease was read.
    pub fn lease_seen(&self) {
        lock(&self.state).lease_seen = Some(Instant::now());
    }

    /// Records that a cache is being filled; this replica is not ready before it is [filled](Self::filled).
    pub fn filling(&self, cache: String) {
        lock(&self.state).filling.push(cache);
    }

    /// Records that a cache is complete.
    pub fn filled(&self, cache: &str) {
        let mut state = lock(&self.state);
        state.filling.retain(|name| name != cache);
        self.works.send_replace(state.works());
    }

    /// Forgets the caches of controllers that have ended.
    pub fn forget_caches(&self) {
        lock(&self.state).filling.clear();
    }

    /// Sets or removes the reason why this replica is paused.
    pub fn set_paused(&self, reason: Option<String>) {
        lock(&self.state).paused = reason;
    }

    /// Why this replica is paused; it is ready nevertheless.
    pub fn paused(&self) -> Option<String> {
        lock(&self.state).paused.clone()
    }

    #[cfg(feature = "webhook")]
    pub fn set_webhooks(&self, webhooks: Webhooks) {
        lock(&self.state).webhooks = Some(webhooks);
    }

    /// The reason why the process should be restarted, if there is one.
    pub fn unhealthy(&self) -> Option<String> {
        if lock(&self.state).beat.elapsed() > BEAT_WITHIN {
            return Some("the executor is stalled".into());
        }
        self.progress
            .stalled()
            .map(|path| format!("the watch of {path} is stalled"))
    }

    /// The reason why this replica is not ready, if there is one.
    ///
    /// If the operator has webhooks, they alone decide until it stops: to list the objects that fill the caches, the API server may need
    /// the conversion webhook.
    pub fn unready(&self) -> Option<String> {
        let state = lock(&self.state);
        match (state.role, state.webhooks) {
            (Role::Stopping, _) | (_, None) => {}
            (_, Some(Webhooks::Starting)) => return Some("waiting for the webhooks".into()),
            (_, Some(Webhooks::Served)) => return None,
        }
        match state.role {
            Role::Starting => Some("starting".into()),
            Role::Stopping => Some("stopping".into()),
            Role::Standby => match state.lease_seen {
                Some(seen) if seen.elapsed() <= self.lease_duration => None,
                _ => Some("cannot reach the lease".into()),
            },
            Role::EnsuringCrds => Some("waiting for the CRDs".into()),
            Role::Working if state.filling.is_empty() => None,
            Role::Working => Some(format!(
                "waiting for the lists of {}",
                state.filling.join(", ")
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;
    use tokio::time::advance;

    fn health() -> Arc<Health> {
        let progress = Progress::new(
            Duration::from_secs(10),
            Arc::new(Metrics::new("test", "test")),
        );
        Health::new(progress, Duration::from_secs(15), watch::channel(false).0)
    }

    #[tokio::test(start_paused = true)]
    async fn a_stalled_executor_is_unhealthy() {
        let health = health();
        advance(BEAT_WITHIN + Duration::from_secs(1)).await;
        assert_eq!(
            health.unhealthy().as_deref(),
            Some("the executor is stalled")
        );
        let beat = tokio::spawn(health.clone().beat());
        tokio::task::yield_now().await;
        assert_eq!(health.unhealthy(), None);
        beat.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_standby_is_ready_while_it_sees_the_lease() {
        let health = health();
        assert_eq!(health.unready().as_deref(), Some("starting"));
        health.set_role(Role::Standby);
        assert!(health.unready().is_some());
        health.lease_seen();
        assert_eq!(health.unready(), None);
        advance(Duration::from_secs(16)).await;
        assert_eq!(health.unready().as_deref(), Some("cannot reach the lease"));
        assert_eq!(health.unhealthy(), None, "that is no reason to restart");
    }

    #[cfg(feature = "webhook")]
    #[tokio::test(start_paused = true)]
    async fn webhooks_alone_decide_whether_a_replica_that_has_them_is_ready() {
        let health = health();
        health.set_webhooks(Webhooks::Starting);
        health.set_role(Role::Working);
        assert_eq!(
            health.unready().as_deref(),
            Some("waiting for the webhooks")
        );
        health.set_role(Role::Standby);
        health.filling("Memcached.cache.example.com".into());
        health.set_webhooks(Webhooks::Served);
        assert_eq!(health.unready(), None);
        health.set_role(Role::Stopping);
        assert_eq!(health.unready().as_deref(), Some("stopping"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_leader_is_ready_with_full_caches_and_not_once_it_stops() {
        let health = health();
        health.filling("Memcached.cache.example.com".into());
        health.set_role(Role::Working);
        assert_eq!(
            health.unready().as_deref(),
            Some("waiting for the lists of Memcached.cache.example.com")
        );
        health.filled("Memcached.cache.example.com");
        assert_eq!(health.unready(), None);
        health.set_role(Role::Stopping);
        health.set_role(Role::Working);
        assert_eq!(health.unready().as_deref(), Some("stopping"));
    }
}
