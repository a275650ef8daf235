//! The controllers of workloads, and the node that their pods run on: Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs and
//! CronJobs come to what they ask for.
//!
//! In: every object that is stored or removed, and tokio's clock. Out: what kube-controller-manager, the scheduler and a kubelet write,
//! under their names and through the same paths as any client. What they do at once is done before the answer to the request that
//! caused it; what takes time is done by the first request or watch after that time, so there is no task that could outlive the server.

mod actor;
mod budget;
mod child;
mod claim;
mod cron_job;
mod daemon_set;
mod deployment;
mod endpoints;
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

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

pub use self::settings::Workloads;

use self::pod::Step;
use self::timer::Timers;
use crate::api::store::Key;
use crate::api::{State, clock};

/// The controllers at work.
#[derive(Clone, Debug)]
pub(crate) struct Controllers {
    settings: Workloads,
    /// What is to be looked at.
    queue: BTreeSet<Key>,
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

impl State {
    /// Begins with all that is there.
    pub(crate) fn employ(&mut self, settings: Workloads) {
        let queue = self.store.all().map(|(key, _)| key.clone()).collect();
        let has_node = settings.has_node;
        self.workloads = Some(Controllers {
            settings,
            queue,
            timers: Timers::default(),
            steps: BTreeMap::new(),
            retries: BTreeMap::new(),
            failures: BTreeMap::new(),
            addresses: 0,
        });
        if has_node {
            self.found_node();
        }
        self.work();
    }

    /// When there will be something to do, if nothing is asked until then.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.workloads.as_ref()?.timers.first()
    }

    /// Does what is due by now, each at its time.
    pub(crate) fn advance(&mut self) {
        let now = Instant::now();
        let instant = self.workloads.as_ref();
        let instant = instant.map(|workloads| workloads.settings.delay / 4);
        let instant = instant.unwrap_or_default();
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
                if let Some(workloads) = &mut self.workloads {
                    for (key, due) in again {
                        workloads.timers.set(&key, due);
                    }
                }
                self.work();
            });
        }
    }

    /// Forgets an object that has gone.
    fn forget(&mut self, key: &Key) {
        if let Some(workloads) = &mut self.workloads {
            workloads.timers.clear(key);
            workloads.steps.remove(key);
            workloads.retries.remove(key);
            workloads.failures.remove(key);
        }
    }

    fn next_due(&mut self, now: Instant) -> Option<(Key, Instant)> {
        self.workloads.as_mut()?.timers.take(now)
    }

    /// Does what follows from what was stored or removed, until nothing does.
    pub(crate) fn work(&mut self) {
        loop {
            match self.next_key() {
                Some(key) => self.reconcile(&key, false),
                None if self.unsettled => self.settle_dependents(),
                None => return,
            }
        }
    }

    fn next_key(&mut self) -> Option<Key> {
        self.workloads.as_mut()?.queue.pop_first()
    }

    fn reconcile(&mut self, key: &Key, is_due: bool) {
        match (key.group.as_str(), key.plural.as_str()) {
            ("", "pods") => self.run_pod(key, is_due),
            ("apps", "replicasets") => self.sync_replica_set(key),
            ("", "persistentvolumeclaims") => self.sync_claim(key),
            ("", "persistentvolumes") => self.unprotect(key),
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

    /// Notes that an object was stored or removed, for those whom it concerns.
    pub(crate) fn notice(&mut self, key: &Key, object: &Value) {
        if self.workloads.is_none() {
            return;
        }
        let mut concerned = self.concerned(key, object);
        if let Some(controllers) = &mut self.workloads {
            controllers.queue.append(&mut concerned);
        }
    }

    /// Looks at an object again, after so long at the latest.
    fn wake(&mut self, key: &Key, after: Duration) {
        if let Some(controllers) = &mut self.workloads {
            controllers.timers.set(key, clock::instant() + after);
        }
    }
}
