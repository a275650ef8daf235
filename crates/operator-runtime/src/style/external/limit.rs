//! Limits how many calls begin in a second: a token bucket that all objects of a controller share. It pauses when the other system is
//! throttling.

use std::{sync::Mutex, time::Duration};

use tokio::time::{Instant, sleep_until};
use tracing::warn;

use super::ExternalOptions;
use crate::lock::lock;

/// The longest time for which a call waits until a pause ends.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// The times at which calls may begin (a generic cell rate algorithm). A call that waits has its time already, so that calls begin in the
/// order in which they came.
pub(super) struct Limit {
    /// The time between two calls.
    interval: Duration,
    /// By how much calls may begin earlier, after a pause.
    tolerance: Duration,
    times: Mutex<Times>,
}

#[derive(Default)]
struct Times {
    /// When the next call would begin if there were no bursts.
    next: Option<Instant>,
    /// The end of the pause.
    paused_until: Option<Instant>,
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
            times: Mutex::default(),
        }
    }

    /// Waits until the next call may begin. A call that waits when a pause begins gets another time after it.
    ///
    /// # Errors
    /// The rest of a long pause: what the caller knows would be old after it.
    pub async fn wait(&self) -> Result<(), Duration> {
        loop {
            self.check()?;
            let (begin, pause) = self.reserve(Instant::now());
            sleep_until(begin).await;
            if lock(&self.times).paused_until == pause {
                return Ok(());
            }
        }
    }

    /// # Errors
    /// The rest of a long pause.
    pub fn check(&self) -> Result<(), Duration> {
        let end = lock(&self.times).paused_until;
        let rest = end.map_or(Duration::ZERO, |end| {
            end.saturating_duration_since(Instant::now())
        });
        if rest > LONGEST_WAIT {
            Err(rest)
        } else {
            Ok(())
        }
    }

    /// Lets no call begin for this time. After it they begin at the rate, without a burst.
    pub fn pause(&self, time: Duration) {
        let end = Instant::now() + time;
        let mut times = lock(&self.times);
        if times.paused_until.is_none_or(|paused| paused < end) {
            warn!(
                ?time,
                "the other system limits the rate of its requests: no calls until then"
            );
            times.paused_until = Some(end);
            times.next = Some(end + self.tolerance);
        }
    }

    /// When the call may begin, if there is no other pause than this one.
    fn reserve(&self, now: Instant) -> (Instant, Option<Instant>) {
        let mut times = lock(&self.times);
        let planned = times.next.map_or(now, |next| next.max(now));
        times.next = Some(planned + self.interval);
        let begin = planned.checked_sub(self.tolerance).unwrap_or(now).max(now);
        (begin, times.paused_until)
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
                .map(|_| (limit.reserve(now).0 - start).as_millis())
                .collect::<Vec<_>>()
        };
        assert_eq!(begins(start, 5), [0, 0, 0, 500, 1000]);
        let later = start + Duration::from_secs(60);
        assert_eq!(begins(later, 4), [60_000, 60_000, 60_000, 60_500]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_applies_to_the_calls_that_wait_already_and_ends_without_a_burst() {
        let limit = Limit::new(&ExternalOptions::default().rate(2.0, 3));
        let start = Instant::now();
        let wait = async || {
            limit.wait().await.unwrap();
            start.elapsed().as_millis()
        };
        let paused = async {
            limit.pause(Duration::from_secs(2));
            limit.pause(Duration::from_secs(1));
        };
        let calls = futures::future::join_all(std::iter::repeat_with(wait).take(5));
        let (begun, ()) = futures::join!(calls, paused);
        assert_eq!(begun, [0, 0, 0, 2000, 2500]);
        limit.pause(Duration::from_secs(60));
        assert_eq!(limit.wait().await, Err(Duration::from_secs(60)));
    }
}
