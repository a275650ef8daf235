//! Retries failed creations of pods: after the delay of pods, then after twice that, and so on.

use serde_json::Value;

use super::controllers::Controllers;
use super::enqueue::workload_of;
use super::field::reference;
use super::pod::backoff;
use crate::model::metadata::text;

impl Controllers<'_> {
    /// Records that a workload created a pod, or failed to.
    pub(super) fn note_made(&mut self, owner: &Value, is_made: bool) {
        let Some(key) = workload_of(self.state, &reference(owner), text(owner, "namespace")) else {
            return;
        };
        if is_made {
            self.memory.failures.remove(&key);
            return;
        }
        let uid = text(owner, "uid");
        let known = self.memory.failures.remove(&key);
        let times = known.filter(|(of, _)| of == uid).map_or(0, |(_, it)| it);
        let delay = backoff(self.memory.settings.delay, times);
        self.memory
            .failures
            .insert(key.clone(), (uid.to_owned(), times + 1));
        self.requeue_after(&key, delay);
    }
}
