//! What a workload could not make is tried again: after the delay of pods, then after twice that, and so on.

use serde_json::Value;

use super::field::reference;
use super::pod::backoff;
use crate::api::State;
use crate::api::metadata::text;

impl State {
    /// Notes that a workload made a pod, or could not.
    pub(super) fn note_made(&mut self, owner: &Value, is_made: bool) {
        let Some(key) = self.workload(&reference(owner), text(owner, "namespace")) else {
            return;
        };
        let Some(workloads) = &mut self.workloads else {
            return;
        };
        if is_made {
            workloads.failures.remove(&key);
            return;
        }
        let uid = text(owner, "uid");
        let known = workloads.failures.remove(&key);
        let times = known.filter(|(of, _)| of == uid).map_or(0, |(_, it)| it);
        let delay = backoff(workloads.settings.delay, times);
        workloads
            .failures
            .insert(key.clone(), (uid.to_owned(), times + 1));
        self.wake(&key, delay);
    }
}
