//! When to reconcile objects again: one time for each object, the earliest that was requested.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

use crate::model::Key;

/// The times of future reconciliations.
#[derive(Clone, Debug, Default)]
pub(super) struct Timers {
    by_time: BTreeSet<(Instant, Key)>,
    by_key: BTreeMap<Key, Instant>,
}

impl Timers {
    pub fn first(&self) -> Option<Instant> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// Sets the time for an object, unless it has an earlier one.
    pub fn set(&mut self, key: &Key, at: Instant) {
        if self.by_key.get(key).is_none_or(|known| at < *known) {
            self.clear(key);
            self.by_key.insert(key.clone(), at);
            self.by_time.insert((at, key.clone()));
        }
    }

    pub fn clear(&mut self, key: &Key) {
        if let Some(at) = self.by_key.remove(key) {
            self.by_time.remove(&(at, key.clone()));
        }
    }

    /// Removes and returns the first time up to this one.
    pub fn take(&mut self, now: Instant) -> Option<(Key, Instant)> {
        self.first().filter(|at| *at <= now)?;
        let (at, key) = self.by_time.pop_first()?;
        self.by_key.remove(&key);
        Some((key, at))
    }
}
