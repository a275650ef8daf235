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
mod controllers;
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

pub(crate) use self::controllers::{ControllerState, Controllers};
pub use self::settings::Workloads;

use std::collections::BTreeSet;

use tokio::time::Instant;

use self::enqueue::keys_to_reconcile;
use crate::finalize::collect::settle_dependents;
use crate::finalize::protection::unprotect;
use crate::kinds::strategy::Controller;
use crate::kinds::table::strategy_of;
use crate::model::{Key, clock};

impl Controllers<'_> {
    /// Starts the controllers, which reconcile all existing objects.
    pub fn begin(&mut self) {
        self.state.observe(keys_to_reconcile);
        if self.memory.settings.has_node {
            self.create_node();
        }
        self.work();
    }

    /// Does all due work, each part at its due time.
    pub(crate) fn advance(&mut self) {
        let now = Instant::now();
        let window = self.memory.settings.delay / 4;
        while let Some((key, at)) = self.next_due(now) {
            clock::at(at, || {
                self.reconcile(&key, true);
                // steps that are due within this window, which no client could observe separately, have one reconciliation together
                let mut done = BTreeSet::from([key]);
                let mut again = Vec::new();
                while let Some((key, due)) = self.next_due(now.min(at + window)) {
                    if done.insert(key.clone()) {
                        self.reconcile(&key, true);
                    } else {
                        // the object was reconciled in this window already; its timer is set again below
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

    /// Reconciles queued objects until the queue is empty.
    pub(crate) fn work(&mut self) {
        loop {
            match self.state.queue.pop_first() {
                Some(key) => self.reconcile(&key, false),
                None if self.state.gc.is_due => settle_dependents(self.state),
                None => return,
            }
        }
    }

    fn reconcile(&mut self, key: &Key, is_due: bool) {
        match strategy_of(key.resource()).controller {
            Some(Controller::Budget) => self.sync_budget(key),
            Some(Controller::Claim) => self.sync_claim(key),
            Some(Controller::CronJob) => self.sync_cron_job(key),
            Some(Controller::DaemonSet) => self.sync_daemon_set(key),
            Some(Controller::Deployment) => self.sync_deployment(key),
            Some(Controller::Job) => self.sync_job(key),
            Some(Controller::Pod) => self.run_pod(key, is_due),
            Some(Controller::ReplicaSet) => self.sync_replica_set(key),
            Some(Controller::Service) => self.sync_service(key),
            Some(Controller::StatefulSet) => self.sync_stateful_set(key),
            Some(Controller::Volume) => unprotect(self.state, key),
            None => {}
        }
    }
}
