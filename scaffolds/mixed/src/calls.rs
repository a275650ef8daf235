//! A record of reconciliations: who was reconciled when, and how many at once. Tests provide one to see what the options of a controller do.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

#[derive(Clone, Default)]
pub struct Calls(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// By the name of the object: how often it was reconciled, and how many times at once right now.
    objects: BTreeMap<String, (usize, usize)>,
    most: usize,
    overlaps: bool,
}

/// A reconciliation that is running; it ends when this is dropped.
pub struct Running {
    calls: Calls,
    name: String,
}

impl Calls {
    pub fn begin(&self, name: String) -> Running {
        let mut state = self.lock();
        let (count, running) = state.objects.entry(name.clone()).or_default();
        *count += 1;
        *running += 1;
        let overlaps = *running > 1;
        let at_once = state.objects.values().map(|(_, running)| running).sum();
        state.overlaps |= overlaps;
        state.most = state.most.max(at_once);
        let calls = self.clone();
        Running { calls, name }
    }

    /// How often the object of this name was reconciled.
    pub fn of(&self, name: &str) -> usize {
        self.lock().objects.get(name).map_or(0, |(count, _)| *count)
    }

    /// The largest number of objects that were reconciled at once.
    pub fn most_at_once(&self) -> usize {
        self.lock().most
    }

    /// Whether one object was ever reconciled twice at once.
    pub fn overlaps(&self) -> bool {
        self.lock().overlaps
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = self.calls.lock();
        if let Some((_, running)) = state.objects.get_mut(&self.name) {
            *running -= 1;
        }
    }
}
