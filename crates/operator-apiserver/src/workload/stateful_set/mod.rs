//! StatefulSets: numbered pods with their claims, created one after another unless the policy is `Parallel`.

mod identity;

use serde_json::{Value, json};

use self::identity::{ordinal, pod};
use super::actor::{CONTROLLERS, EventText, MOST_PODS};
use super::child::copies;
use super::controllers::Controllers;
use super::field::{available_in, counts, is_over, is_ready, until_available};
use super::history::{restored, revision_of};
use crate::kinds::resource::PODS;
use crate::model::json::number;
use crate::model::metadata::{is_deleting, name};
use crate::model::{Key, Result};

const COMPONENT: &str = "statefulset-controller";

/// A StatefulSet, during one pass.
struct Pass {
    set: Value,
    /// The ControllerRevision before the current rollout.
    current: Value,
    /// The ControllerRevision of the template.
    update: Value,
    /// The pods by ordinal; `None` for a pod to be created.
    replicas: Vec<(i64, Option<Value>)>,
    /// The other pods, the highest ordinal first.
    condemned: Vec<Value>,
    /// Whether pods are created and deleted one after another.
    is_ordered: bool,
    /// The `minReadySeconds`.
    wait: i64,
}

impl Controllers<'_> {
    pub(super) fn sync_stateful_set(&mut self, key: &Key) {
        let Some(set) = self.state.store.find(key) else {
            return;
        };
        // If an object cannot be created, an event reports it, and the next change retries.
        let _done = self.step_stateful_set(key, Value::clone(&set));
    }

    fn step_stateful_set(&mut self, key: &Key, set: Value) -> Result<()> {
        let revisions = self.revise(&set)?;
        let is_member = |pod: &Value| ordinal(name(&set), pod).is_some();
        let mut pods = copies(self.claim(&set, PODS, is_member));
        pods.sort_by_cached_key(|pod| ordinal(name(&set), pod));
        let wait = number(&set["spec"]["minReadySeconds"]);
        if let Some(time) = until_available(&pods, wait) {
            self.requeue_after(key, time);
        }
        let current = revisions
            .iter()
            .find(|one| one["metadata"]["name"] == set["status"]["currentRevision"]);
        let update = &revisions[revisions.len() - 1];
        let pass = Pass::new(set.clone(), current.unwrap_or(update), update, &pods);
        let mut status = pass.status(&pods);
        let result = if is_deleting(&set) {
            Ok(0)
        } else {
            self.run_pass(&pass)
        };
        if let Ok(updated @ 1..) = result {
            status["currentReplicas"] = (number(&status["currentReplicas"]) - updated).into();
        }
        pass.complete(&mut status);
        self.write_status(CONTROLLERS, &set, status)?;
        let mut live = vec![name(&pass.current), name(&pass.update)];
        live.extend(pods.iter().map(revision_of));
        self.forget_revisions(&set, &revisions, &live);
        result.map(drop)
    }

    /// Runs one pass. Returns the number of pods that were deleted because of a new template.
    fn run_pass(&mut self, pass: &Pass) -> Result<i64> {
        for (number, found) in &pass.replicas {
            let is_blocked = match found {
                None => {
                    self.make_member(pass, *number)?;
                    true
                }
                Some(found) if is_over(found) => {
                    if !is_deleting(found) {
                        self.drop_member(&pass.set, found);
                    }
                    true
                }
                Some(found) => {
                    self.create_claims(&pass.set, found, *number)?;
                    pass.is_unavailable(found)
                }
            };
            if is_blocked && pass.is_ordered {
                return Ok(0);
            }
        }
        for found in &pass.condemned {
            if let Some(number) = ordinal(name(&pass.set), found) {
                self.release_claims(&pass.set, found, number);
            }
        }
        let first = pass.first_unavailable();
        for found in &pass.condemned {
            if is_deleting(found) {
                if pass.is_ordered {
                    return Ok(0);
                }
                continue;
            }
            let is_first = first.is_some_and(|first| name(first) == name(found));
            if pass.is_ordered && pass.is_unavailable(found) && !is_first {
                return Ok(0);
            }
            self.drop_member(&pass.set, found);
            if pass.is_ordered {
                return Ok(0);
            }
        }
        Ok(self.update_members(pass))
    }

    /// Replaces the last pod with an old template, if the pods after it are available.
    fn update_members(&mut self, pass: &Pass) -> i64 {
        let strategy = &pass.set["spec"]["updateStrategy"];
        if strategy["type"] == "OnDelete" {
            return 0;
        }
        let least = usize::try_from(number(&strategy["rollingUpdate"]["partition"]));
        let found = pass.replicas.iter().skip(least.unwrap_or_default()).rev();
        for (_, found) in found {
            let Some(found) = found else {
                return 0;
            };
            if revision_of(found) != name(&pass.update) && !is_deleting(found) {
                self.drop_member(&pass.set, found);
                return 1;
            }
            if pass.is_unavailable(found) {
                return 0;
            }
        }
        0
    }

    /// Creates the pod with an ordinal, from the current or the new template, depending on the progress of the rollout.
    fn make_member(&mut self, pass: &Pass, ordinal: i64) -> Result<()> {
        let set = &pass.set;
        let strategy = &set["spec"]["updateStrategy"];
        let start = number(&set["spec"]["ordinals"]["start"]);
        let old = if strategy["rollingUpdate"].is_object() {
            number(&strategy["rollingUpdate"]["partition"])
        } else {
            number(&set["status"]["currentReplicas"])
        };
        let is_old = strategy["type"] == "RollingUpdate" && ordinal < start + old;
        let revision = if is_old { &pass.current } else { &pass.update };
        let source = restored(set, revision);
        let pod = pod(&source, ordinal, name(revision));
        self.create_claims(&source, &pod, ordinal)?;
        let member = name(&pod).to_owned();
        let made = self.make(CONTROLLERS, pod);
        self.note_made(set, made.is_ok());
        match made {
            Ok(_) => {
                let message = format!(
                    "create Pod {member} in StatefulSet {} successful",
                    name(set)
                );
                self.record_event(
                    COMPONENT,
                    set,
                    EventText::normal("SuccessfulCreate", &message),
                );
                Ok(())
            }
            Err(failure) => {
                let message = format!(
                    "create Pod {member} in StatefulSet {} failed error: {}",
                    name(set),
                    failure.message
                );
                self.record_event(COMPONENT, set, EventText::warning("FailedCreate", &message));
                Err(failure)
            }
        }
    }

    fn drop_member(&mut self, set: &Value, pod: &Value) {
        if self.discard(CONTROLLERS, pod, &json!({})).is_ok() {
            let message = format!(
                "delete Pod {} in StatefulSet {} successful",
                name(pod),
                name(set)
            );
            self.record_event(
                COMPONENT,
                set,
                EventText::normal("SuccessfulDelete", &message),
            );
        }
    }
}

impl Pass {
    fn new(set: Value, current: &Value, update: &Value, pods: &[Value]) -> Self {
        let spec = &set["spec"];
        let start = number(&spec["ordinals"]["start"]);
        // one more than the server allows, so that its creation fails and is reported
        let most = i64::try_from(MOST_PODS)
            .unwrap_or(i64::MAX)
            .saturating_add(1);
        let range = start..start.saturating_add(number(&spec["replicas"]).min(most));
        let find = |number: i64| {
            pods.iter()
                .find(|pod| ordinal(name(&set), pod) == Some(number))
                .cloned()
        };
        let replicas = range.clone().map(|number| (number, find(number))).collect();
        let is_beyond = |pod: &&Value| {
            let number = ordinal(name(&set), pod);
            number.is_some_and(|number| !range.contains(&number))
        };
        let condemned = pods.iter().filter(is_beyond).rev().cloned().collect();
        Self {
            current: current.clone(),
            update: update.clone(),
            replicas,
            condemned,
            is_ordered: spec["podManagementPolicy"] != "Parallel",
            wait: number(&spec["minReadySeconds"]),
            set,
        }
    }

    fn is_unavailable(&self, pod: &Value) -> bool {
        is_deleting(pod) || available_in(pod, self.wait) != Some(0)
    }

    /// The unavailable pod with the lowest ordinal, which a scale-down in order must not wait for.
    fn first_unavailable(&self) -> Option<&Value> {
        self.replicas
            .iter()
            .filter_map(|(_, found)| found.as_ref())
            .chain(self.condemned.iter().rev())
            .find(|pod| self.is_unavailable(pod))
    }

    fn status(&self, pods: &[Value]) -> Value {
        let count = |fits: &dyn Fn(&Value) -> bool| -> i64 {
            let pods = pods.iter().filter(|pod| fits(pod));
            i64::try_from(pods.count()).unwrap_or(i64::MAX)
        };
        let is_of =
            |pod: &Value, revision: &Value| !is_deleting(pod) && revision_of(pod) == name(revision);
        let is_running = |pod: &Value| pod["status"]["phase"] == "Running" && is_ready(pod);
        let available = count(&|pod| is_running(pod) && available_in(pod, self.wait) == Some(0));
        let mut status = counts(&[
            (
                "observedGeneration",
                number(&self.set["metadata"]["generation"]),
            ),
            ("readyReplicas", count(&is_running)),
            ("currentReplicas", count(&|pod| is_of(pod, &self.current))),
            ("updatedReplicas", count(&|pod| is_of(pod, &self.update))),
        ]);
        status.insert("replicas".into(), pods.len().into());
        status.insert("availableReplicas".into(), available.into());
        status.insert("currentRevision".into(), name(&self.current).into());
        status.insert("updateRevision".into(), name(&self.update).into());
        status.insert("collisionCount".into(), 0.into());
        status.into()
    }

    /// When all pods have the new template, makes its revision the current one.
    fn complete(&self, status: &mut Value) {
        let spec = &self.set["spec"];
        let wanted = number(&spec["replicas"]);
        let all = ["updatedReplicas", "readyReplicas", "replicas"];
        let is_complete = all.iter().all(|field| number(&status[*field]) == wanted);
        if spec["updateStrategy"]["type"] == "RollingUpdate" && is_complete {
            status["currentReplicas"] = status["updatedReplicas"].clone();
            status["currentRevision"] = status["updateRevision"].clone();
        }
        if let Some(fields) = status.as_object_mut() {
            let is_shown = |field: &str, value: &Value| {
                field != "currentReplicas" || !value.is_null() && *value != 0
            };
            fields.retain(|field, value| is_shown(field, value));
        }
    }
}
