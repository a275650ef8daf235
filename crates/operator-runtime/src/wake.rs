//! Keeps a failing object's wait from being cut short by its own status write.
//!
//! In: what woke an object, how long it is to wait, and what its turn wrote. Out: whether it must wait on.
//! A watch may deliver a write before its answer arrives, so this is decided at the start of the next turn. No io.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
};

use kube::runtime::controller::Action;
use tokio::time::Instant;

/// What woke the objects that have not had their turn since, and until when those that failed wait.
pub(crate) struct Wakes<Key>(Mutex<HashMap<Key, Wake>>);

#[derive(Default)]
struct Wake {
    /// The versions of the object that the watch delivered.
    versions: Vec<String>,
    /// Whether there was another cause.
    other: bool,
    waiting: Option<Waiting>,
}

struct Waiting {
    /// `None` is until a change.
    until: Option<Instant>,
    /// The version that the turn wrote.
    wrote: String,
}

impl<Key> Default for Wakes<Key> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<Key: Hash + Eq + Clone> Wakes<Key> {
    /// The object is to have a turn, because it has this version now, or for another cause.
    pub fn woken(&self, key: &Key, version: Option<String>) {
        let mut wakes = self.lock();
        let wake = wakes.entry(key.clone()).or_default();
        match version {
            Some(version) => wake.versions.push(version),
            None => wake.other = true,
        }
    }

    /// The object failed in a turn that wrote this version.
    pub fn wait(&self, key: &Key, until: Option<Instant>, wrote: String) {
        let mut wakes = self.lock();
        let wake = wakes.entry(key.clone()).or_default();
        wake.waiting = Some(Waiting { until, wrote });
    }

    /// Begins the object's turn, or says how it waits on.
    pub fn begin(&self, key: &Key, now: Instant) -> Option<Action> {
        let mut wakes = self.lock();
        let wake = wakes.get_mut(key)?;
        if let Some(Waiting { until, wrote }) = &wake.waiting
            && !wake.other
            && !wake.versions.is_empty()
            && wake.versions.iter().all(|version| version == wrote)
            && until.is_none_or(|until| now < until)
        {
            wake.versions.clear();
            let rest = until.map(|until| until - now);
            return Some(rest.map_or_else(Action::await_change, Action::requeue));
        }
        wakes.remove(key);
        None
    }

    pub fn forget(&self, key: &Key) {
        self.lock().remove(key);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Wake>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const DELAY: Duration = Duration::from_secs(8);

    fn version(version: &str) -> Option<String> {
        Some(version.into())
    }

    #[test]
    fn its_own_write_lets_a_failing_object_wait_on() {
        let (wakes, now) = (Wakes::default(), Instant::now());
        // Its event may come before the turn has ended.
        wakes.woken(&"a", version("10"));
        wakes.wait(&"a", Some(now + DELAY), "10".into());
        assert_eq!(wakes.begin(&"a", now), Some(Action::requeue(DELAY)));
        wakes.woken(&"a", version("10"));
        let later = now + DELAY / 2;
        assert_eq!(wakes.begin(&"a", later), Some(Action::requeue(DELAY / 2)));
        assert_eq!(wakes.begin(&"a", now + DELAY), None, "its time has come");

        wakes.wait(&"a", None, "11".into());
        wakes.woken(&"a", version("11"));
        assert_eq!(wakes.begin(&"a", now), Some(Action::await_change()));
    }

    #[test]
    fn any_other_cause_gives_it_a_turn_at_once() {
        let (wakes, now) = (Wakes::default(), Instant::now());
        for causes in [
            &[version("9"), version("10")][..],
            &[version("10"), version("11")],
            &[version("10"), None],
            &[None],
        ] {
            wakes.wait(&"a", Some(now + DELAY), "10".into());
            for cause in causes {
                wakes.woken(&"a", cause.clone());
            }
            assert_eq!(wakes.begin(&"a", now), None, "{causes:?}");
            assert!(wakes.lock().is_empty(), "nothing is kept");
        }
    }
}
