//! The two strategies: the new ReplicaSet replaces the others step by step, or after all their pods are deleted.

use serde_json::{Value, json};

use super::revision::{DeploymentState, size_of_new};
use super::status::is_complete;
use super::{REVISION, Rollout, bounds, desired};
use crate::kinds::resource::PODS;
use crate::model::Result;
use crate::model::json::number;
use crate::model::metadata::is_deleting;
use crate::workload::actor::CONTROLLERS;
use crate::workload::controllers::Controllers;
use crate::workload::field::{annotation, is_over};
use crate::workload::replica_set::{age, replicas};

impl Controllers<'_> {
    /// One pass of the strategy `RollingUpdate`.
    pub(super) fn roll_over(&mut self, mut rollout: Rollout) -> Result<()> {
        let found = match &rollout.new {
            Some(_) => self.note_revision(&mut rollout)?,
            None => {
                let size = size_of_new(&rollout, 0);
                self.make_set(&mut rollout, size)?
            }
        };
        if found == DeploymentState::Changed {
            return Ok(());
        }
        if !self.grow_new(&mut rollout)? && !self.shrink_old(&mut rollout)? {
            self.forget_old(&rollout)?;
        }
        self.report_progress(&rollout)
    }

    /// One pass of the strategy `Recreate`.
    pub(super) fn recreate(&mut self, mut rollout: Rollout) -> Result<()> {
        if self.note_revision(&mut rollout)? == DeploymentState::Changed {
            return Ok(());
        }
        let mut is_scaled = false;
        for at in 0..rollout.old.len() {
            let mut set = rollout.old[at].clone();
            is_scaled |= replicas(&set) > 0 && self.resize(&rollout, &mut set, 0)?;
            rollout.old[at] = set;
        }
        if is_scaled || self.has_old_pods(&rollout) {
            return self.report_progress(&rollout);
        }
        match rollout.new.clone() {
            None => {
                let size = desired(&rollout.deployment);
                if self.make_set(&mut rollout, size)? == DeploymentState::Changed {
                    return Ok(());
                }
            }
            Some(mut set) => {
                let size = desired(&rollout.deployment);
                if replicas(&set) != size {
                    self.resize(&rollout, &mut set, size)?;
                    rollout.new = Some(set);
                }
            }
        }
        self.forget_old(&rollout)?;
        self.report_progress(&rollout)
    }

    /// Whether a pod of an old template still runs.
    fn has_old_pods(&self, rollout: &Rollout) -> bool {
        rollout.old.iter().any(|set| {
            let pods = self.controlled(set, PODS);
            number(&set["status"]["replicas"]) > 0 || pods.iter().any(|pod| !is_over(pod))
        })
    }

    /// Scales the newest ReplicaSet to the desired replicas, as far as the surge permits. Returns whether it scaled it.
    fn grow_new(&mut self, rollout: &mut Rollout) -> Result<bool> {
        let Some(mut set) = rollout.new.clone() else {
            return Ok(false);
        };
        let (size, desired) = (replicas(&set), desired(&rollout.deployment));
        let wanted = match size.cmp(&desired) {
            std::cmp::Ordering::Equal => return Ok(false),
            std::cmp::Ordering::Greater => desired,
            std::cmp::Ordering::Less => size_of_new(rollout, size),
        };
        let is_scaled = wanted != size && self.resize(rollout, &mut set, wanted)?;
        rollout.new = Some(set);
        Ok(is_scaled)
    }

    /// Scales down the old ReplicaSets as far as enough pods remain available. Returns whether it scaled one.
    fn shrink_old(&mut self, rollout: &mut Rollout) -> Result<bool> {
        if rollout.old.iter().all(|set| replicas(set) == 0) {
            return Ok(false);
        }
        let available = |set: &Value| number(&set["status"]["availableReplicas"]);
        let (_, fewer) = bounds(&rollout.deployment);
        let least = desired(&rollout.deployment) - fewer;
        let missing = rollout
            .new
            .as_ref()
            .map_or(0, |set| replicas(set) - available(set));
        let mut removable = rollout.total() - least - missing;
        if removable <= 0 {
            return Ok(false);
        }
        // unavailable pods are removed first, because this does not reduce the number of available ones
        let mut is_scaled = false;
        for at in 0..rollout.old.len() {
            let mut set = rollout.old[at].clone();
            let removed = removable.min(replicas(&set) - available(&set)).max(0);
            if removed > 0 {
                let size = replicas(&set) - removed;
                is_scaled |= self.resize(rollout, &mut set, size)?;
                removable -= removed;
                rollout.old[at] = set;
            }
        }
        let mut spare = rollout.available() - least;
        for at in 0..rollout.old.len() {
            let mut set = rollout.old[at].clone();
            let removed = spare.min(replicas(&set)).max(0);
            if removed > 0 {
                let size = replicas(&set) - removed;
                is_scaled |= self.resize(rollout, &mut set, size)?;
                spare -= removed;
                rollout.old[at] = set;
            }
        }
        Ok(is_scaled)
    }

    /// Deletes the oldest ReplicaSets beyond the revision history limit.
    pub(super) fn forget_old(&mut self, rollout: &Rollout) -> Result<()> {
        let deployment = &rollout.deployment;
        let limit = &deployment["spec"]["revisionHistoryLimit"];
        let is_paused = deployment["spec"]["paused"] == true;
        if limit.is_null() || !is_paused && !is_complete(deployment, &deployment["status"]) {
            return Ok(());
        }
        let mut sets: Vec<&Value> = rollout.old.iter().filter(|set| !is_deleting(set)).collect();
        sets.sort_by_cached_key(|set| {
            let revision: i64 = annotation(set, REVISION).parse().unwrap_or_default();
            (revision, age(set))
        });
        let kept = usize::try_from(number(limit)).unwrap_or_default();
        let surplus = sets.len().saturating_sub(kept);
        for set in sets.into_iter().take(surplus) {
            let status = &set["status"];
            let is_seen = set["metadata"]["generation"] == status["observedGeneration"];
            if replicas(set) == 0 && number(&status["replicas"]) == 0 && is_seen {
                self.discard(CONTROLLERS, set, &json!({}))?;
            }
        }
        Ok(())
    }
}
