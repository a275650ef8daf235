//! How long an object that fails waits for its next try. No clock, no io.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hash, RandomState},
    sync::Mutex,
    time::Duration,
};

/// Delays that double with each failure in a row, up to a bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    pub first: Duration,
    pub last: Duration,
}

impl Growth {
    /// The delay after `failures` earlier ones; `jitter` in 0..1 takes up to a fifth off, so that
    /// objects which failed together do not come back together.
    pub fn delay(self, failures: u32, jitter: f64) -> Duration {
        let full = self
            .first
            .saturating_mul(1 << failures.min(30))
            .min(self.last);
        full.mul_f64(1.0 - jitter.clamp(0.0, 1.0) / 5.0)
    }
}

/// How often each object has failed in a row; those that succeed take no room.
pub(crate) struct Backoffs<Key> {
    growth: Growth,
    failures: Mutex<HashMap<Key, u32>>,
    random: RandomState,
}

impl<Key: Hash + Eq + Clone> Backoffs<Key> {
    pub fn new(growth: Growth) -> Self {
        Self {
            growth,
            failures: Mutex::default(),
            random: RandomState::new(),
        }
    }

    /// Counts a failure, and says how many there are in a row, and how long to wait.
    pub fn failed(&self, key: &Key) -> (u32, Duration) {
        let mut failures = self.lock();
        let count = failures.entry(key.clone()).or_default();
        let jitter = self.random.hash_one((key, *count)) as f64 / u64::MAX as f64;
        let delay = self.growth.delay(*count, jitter);
        *count = count.saturating_add(1);
        (*count, delay)
    }

    /// The object succeeded, or is gone.
    pub fn reset(&self, key: &Key) {
        self.lock().remove(key);
    }

    /// How many objects fail at present.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, u32>> {
        self.failures
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROWTH: Growth = Growth {
        first: Duration::from_secs(1),
        last: Duration::from_secs(300),
    };

    #[test]
    fn the_delay_doubles_up_to_its_bound() {
        let seconds = |failures| GROWTH.delay(failures, 0.0).as_secs();
        assert_eq!(
            [seconds(0), seconds(1), seconds(2), seconds(8)],
            [1, 2, 4, 256]
        );
        assert_eq!([seconds(9), seconds(31), seconds(u32::MAX)], [300; 3]);
    }

    #[test]
    fn jitter_takes_up_to_a_fifth() {
        assert_eq!(GROWTH.delay(9, 1.0), Duration::from_secs(240));
        let backoffs = Backoffs::new(GROWTH);
        let delays: Vec<_> = (0..50).map(|key| backoffs.failed(&key).1).collect();
        let bounds = Duration::from_millis(800)..=Duration::from_secs(1);
        assert!(
            delays.iter().all(|delay| bounds.contains(delay)),
            "{delays:?}"
        );
        assert!(
            delays.iter().any(|delay| *delay != delays[0]),
            "no jitter at all"
        );
    }

    #[test]
    fn each_object_has_its_own_and_success_resets_it() {
        let backoffs = Backoffs::new(GROWTH);
        let (count, first) = backoffs.failed(&"a");
        let (next, second) = backoffs.failed(&"a");
        assert!((count, next) == (1, 2) && second > first);
        assert!(backoffs.failed(&"b").1 <= GROWTH.first);
        assert_eq!(backoffs.len(), 2);
        backoffs.reset(&"a");
        assert_eq!(
            backoffs.failed(&"a"),
            (1, first),
            "the jitter depends on object and count only"
        );
    }
}
