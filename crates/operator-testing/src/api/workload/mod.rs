//! The workload controllers (Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs and CronJobs), and the node that their pods run on.
//!
//! In: every object that is stored or removed, and tokio's clock. Out: the writes of kube-controller-manager, the scheduler and a kubelet,
//! with their user agents and through the same code as the writes of any client. Immediate work is done before the server answers the
//! request that triggered it. Delayed work is done by the first request or watch after the delay, so there is no task that could outlive
//! the server.

mod actor;
mod budget;
mod child;
mod claim;
mod cron_job;
mod daemon_set;
mod deployment;
mod endpoints;
mod enqueue;
mod field;
mod history;
mod job;
mod pod;
mod replica_set;
mod retry;
mod schedule;
mod settings;
mod stateful_set;
mod template;
mod timer;

pub use self::settings::Workloads;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use self::enqueue::keys_to_reconcile;
use self::pod::Step;
use self::timer::Timers;
use crate::api::model::clock;
use crate::api::model::key::Key;
use crate::api::store::state::State;

/// What the controllers remember of what they have begun.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    settings: Workloads,
    timers: Timers,
    /// What each pod, with its uid, is about to do.
    steps: BTreeMap<Key, (String, Step)>,
    /// How often pods of each Job, with its uid, have failed, and when there may be others.
    retries: BTreeMap<Key, (String, i64, Instant)>,
    /// How often in a row each workload, with its uid, could not make a pod.
    failures: BTreeMap<Key, (String, i64)>,
    /// How many addresses pods were given.
    addresses: u32,
}

impl Memory {
    /// The memory of controllers that have not begun.
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

    /// When there will be something to do, if nothing is asked until then.
    pub fn due(&self) -> Option<Instant> {
        self.timers.first()
    }
}

/// The controllers at work on the state of a server, as clients of it.
pub(crate) struct Controllers<'a> {
    pub state: &'a mut State,
    pub memory: &'a mut Memory,
}

impl Controllers<'_> {
    /// Begins with all that is there.
    pub fn begin(&mut self) {
        self.state.observe(keys_to_reconcile);
        if self.memory.settings.has_node {
            self.create_node();
        }
        self.work();
    }

    /// Does what is due by now, each at its time.
    pub(crate) fn advance(&mut self) {
        let now = Instant::now();
        let instant = self.memory.settings.delay / 4;
        while let Some((key, at)) = self.next_due(now) {
            clock::at(at, || {
                self.reconcile(&key, true);
                // What nobody could see one by one is followed by what follows from it once.
                let mut done = BTreeSet::from([key]);
                let mut again = Vec::new();
                while let Some((key, due)) = self.next_due(now.min(at + instant)) {
                    if done.insert(key.clone()) {
                        self.reconcile(&key, true);
                    } else {
                        // It waits for its own time, which this clock does not come to.
                        again.push((key, due));
                    }
                }
                for (key, due) in again {
                    self.memory.timers.set(&key, due);
                }
                self.work();
            });
        }
    }

    /// Forgets an object that has gone.
    fn forget(&mut self, key: &Key) {
        self.memory.timers.clear(key);
        self.memory.steps.remove(key);
        self.memory.retries.remove(key);
        self.memory.failures.remove(key);
    }

    fn next_due(&mut self, now: Instant) -> Option<(Key, Instant)> {
        self.memory.timers.take(now)
    }

    /// Does what follows from what was stored or removed, until nothing does.
    pub(crate) fn work(&mut self) {
        loop {
            match self.state.queue.pop_first() {
                Some(key) => self.reconcile(&key, false),
                None if self.state.unsettled => self.state.settle_dependents(),
                None => return,
            }
        }
    }

    fn reconcile(&mut self, key: &Key, is_due: bool) {
        match (key.group.as_str(), key.plural.as_str()) {
            ("", "pods") => self.run_pod(key, is_due),
            ("apps", "replicasets") => self.sync_replica_set(key),
            ("", "persistentvolumeclaims") => self.sync_claim(key),
            ("", "persistentvolumes") => self.state.unprotect(key),
            ("", "services") => self.sync_service(key),
            ("batch", "cronjobs") => self.sync_cron_job(key),
            ("batch", "jobs") => self.sync_job(key),
            ("apps", "daemonsets") => self.sync_daemon_set(key),
            ("apps", "statefulsets") => self.sync_stateful_set(key),
            ("apps", "deployments") => self.sync_deployment(key),
            ("policy", "poddisruptionbudgets") => self.sync_budget(key),
            _ => {}
        }
    }

    /// Looks at an object again, after so long at the latest.
    fn wake(&mut self, key: &Key, after: Duration) {
        self.memory.timers.set(key, clock::instant() + after);
    }
}
