//! Limits how many calls begin in a second: a token bucket that all objects of a controller share.

use std::{sync::Mutex, time::Duration};

use tokio::time::{Instant, sleep_until};

use super::ExternalOptions;
use crate::lock::lock;

/// The times at which calls may begin (a generic cell rate algorithm). A call that waits has its time already, so that calls begin in the
/// order in which they came.
pub(super) struct Limit {
    /// The time between two calls.
    interval: Duration,
    /// By how much calls may begin earlier, after a pause.
    tolerance: Duration,
    /// When the next call would begin if there were no bursts.
    next: Mutex<Option<Instant>>,
}

impl Limit {
    pub fn new(options: &ExternalOptions) -> Self {
        let interval = match options.calls_per_second {
            rate if rate > 0.0 => Duration::try_from_secs_f64(1.0 / rate).unwrap_or_default(),
            _ => Duration::ZERO,
        };
        Self {
            interval,
            tolerance: interval.saturating_mul(options.burst.saturating_sub(1)),
            next: Mutex::default(),
        }
    }

    /// Waits until the next call may begin.
    pub async fn wait(&self) {
        let begin = self.reserve(Instant::now());
        sleep_until(begin).await;
    }

    fn reserve(&self, now: Instant) -> Instant {
        let mut next = lock(&self.next);
        let planned = next.map_or(now, |next| next.max(now));
        *next = Some(planned + self.interval);
        planned.checked_sub(self.tolerance).unwrap_or(now).max(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn after_a_burst_calls_begin_at_the_rate() {
        let limit = Limit::new(&ExternalOptions::default().rate(2.0, 3));
        let start = Instant::now();
        let begins = |now: Instant, count: usize| {
            (0..count)
                .map(|_| (limit.reserve(now) - start).as_millis())
                .collect::<Vec<_>>()
        };
        assert_eq!(begins(start, 5), [0, 0, 0, 500, 1000]);
        let later = start + Duration::from_secs(60);
        assert_eq!(begins(later, 4), [60_000, 60_000, 60_000, 60_500]);
    }
}
