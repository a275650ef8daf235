//! Scales the ReplicaSets of a Deployment whose replicas changed, or that is paused, without a rollout.

use serde_json::Value;

use super::revision::DeploymentState;
use super::{DESIRED, MOST, Rollout, bounds, desired};
use crate::kinds::resource::REPLICA_SETS;
use crate::model::Result;
use crate::model::json::number;
use crate::workload::child::copies;
use crate::workload::controllers::Controllers;
use crate::workload::field::annotation;
use crate::workload::replica_set::{age, replicas};

impl Controllers<'_> {
    /// Scales the ReplicaSets to the replicas of the Deployment.
    pub(super) fn scale_all(&mut self, rollout: &mut Rollout) -> Result<()> {
        if self.note_revision(rollout)? == DeploymentState::Changed {
            return Ok(());
        }
        let wanted = desired(&rollout.deployment);
        let mut active: Vec<Value> = rollout
            .sets()
            .filter(|set| replicas(set) > 0)
            .cloned()
            .collect();
        if active.is_empty() {
            let newest = rollout.new.clone().or_else(|| rollout.old.last().cloned());
            active.extend(newest);
        }
        if let [only] = active.as_mut_slice() {
            if replicas(only) != wanted {
                self.resize(rollout, only, wanted)?;
            }
        } else if rollout
            .new
            .as_ref()
            .is_some_and(|new| is_saturated(new, wanted))
        {
            for at in 0..rollout.old.len() {
                let mut set = rollout.old[at].clone();
                if replicas(&set) > 0 {
                    self.resize(rollout, &mut set, 0)?;
                }
            }
        } else if rollout.deployment["spec"]["strategy"]["type"] == "RollingUpdate" {
            self.scale_proportionally(rollout, active)?;
        }
        *rollout = Rollout::of(rollout.deployment.clone(), self.sets_of(rollout));
        if rollout.deployment["spec"]["paused"] == true {
            self.forget_old(rollout)?;
        }
        Ok(())
    }

    fn sets_of(&self, rollout: &Rollout) -> Vec<Value> {
        copies(self.controlled(&rollout.deployment, REPLICA_SETS))
    }

    /// During a rollout, distributes the change of replicas proportionally to all ReplicaSets.
    fn scale_proportionally(&mut self, rollout: &Rollout, mut sets: Vec<Value>) -> Result<()> {
        let deployment = &rollout.deployment;
        let wanted = desired(deployment);
        let (surge, _) = bounds(deployment);
        let most = if wanted > 0 { wanted + surge } else { 0 };
        let change = most - sets.iter().map(replicas).sum::<i64>();
        sets.sort_by_cached_key(age);
        if change > 0 {
            sets.reverse();
        }
        sets.sort_by_key(|set| -replicas(set));
        let mut done = 0;
        let mut sizes = Vec::new();
        for set in &sets {
            let size = replicas(set);
            let left = change - done;
            let share = match left {
                0 => 0,
                _ if wanted == 0 => -size,
                _ => share(deployment, set, wanted + surge),
            };
            let share = if change > 0 {
                share.min(left)
            } else {
                share.max(left)
            };
            done += share;
            sizes.push(size + share);
        }
        if let Some(first) = sizes.first_mut() {
            *first = (*first + change - done).max(0);
        }
        for (set, size) in sets.iter_mut().zip(sizes) {
            self.resize(rollout, set, size)?;
        }
        Ok(())
    }
}

/// The change of a ReplicaSet's replicas that keeps its proportion, rounded.
fn share(deployment: &Value, set: &Value, most: i64) -> i64 {
    let before = annotation(set, MOST).parse().unwrap_or_default();
    let before = match before {
        0 => number(&deployment["status"]["replicas"]),
        before => before,
    };
    match before {
        0 => 0,
        before => (2 * replicas(set) * most + before) / (2 * before) - replicas(set),
    }
}

/// Whether the newest ReplicaSet has all pods of the Deployment, and all of them are available.
fn is_saturated(set: &Value, wanted: i64) -> bool {
    replicas(set) == wanted
        && annotation(set, DESIRED).parse() == Ok(wanted)
        && number(&set["status"]["availableReplicas"]) == wanted
}
