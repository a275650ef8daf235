//! The controllers, and the state that they keep.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::pod::Step;
use super::settings::Workloads;
use super::timer::Timers;
use crate::model::{Key, clock};
use crate::store::State;

/// The state that the controllers keep between passes.
#[derive(Clone, Debug)]
pub(crate) struct ControllerState {
    pub(super) settings: Workloads,
    pub(super) timers: Timers,
    /// The next step of each pod, with the uid of the pod.
    pub(super) steps: BTreeMap<Key, (String, Step)>,
    /// For each Job, its uid, the number of failures of its pods, and the time of the next retry.
    pub(super) retries: BTreeMap<Key, (String, i64, Instant)>,
    /// For each workload, its uid, and the number of consecutive failures to create a pod.
    pub(super) failures: BTreeMap<Key, (String, i64)>,
    /// The number of allocated pod addresses.
    pub(super) addresses: u32,
}

impl ControllerState {
    /// The initial state.
    pub fn new(settings: Workloads) -> Self {
        Self {
            settings,
            timers: Timers::default(),
            steps: BTreeMap::new(),
            retries: BTreeMap::new(),
            failures: BTreeMap::new(),
            addresses: 0,
        }
    }

    /// The time at which more work will be due, if there is no request until then.
    pub fn due(&self) -> Option<Instant> {
        self.timers.first()
    }
}

/// The controllers, with the state of the server, which they change like clients.
pub(crate) struct Controllers<'a> {
    pub state: &'a mut State,
    pub memory: &'a mut ControllerState,
}

impl Controllers<'_> {
    /// Discards the state of a deleted object.
    pub(super) fn forget(&mut self, key: &Key) {
        self.memory.timers.clear(key);
        self.memory.steps.remove(key);
        self.memory.retries.remove(key);
        self.memory.failures.remove(key);
    }

    pub(super) fn next_due(&mut self, now: Instant) -> Option<(Key, Instant)> {
        self.memory.timers.take(now)
    }

    /// Reconciles an object again after this time, at the latest.
    pub(super) fn requeue_after(&mut self, key: &Key, after: Duration) {
        self.memory.timers.set(key, clock::instant() + after);
    }
}
