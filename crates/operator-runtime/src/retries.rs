//! When functions of the user that have failed are called again.

use std::time::Duration;

use crate::{Error, error::LONGEST_DELAY};

/// When a function that has failed is called again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Retries {
    /// The maximum number of attempts.
    pub limit: Option<u32>,
    /// The time after the first attempt in which further ones begin.
    pub timeout: Option<Duration>,
    /// The delay after an error that has none of its own; `None` for a growing one.
    pub backoff: Option<Duration>,
}

impl Retries {
    /// The time until the next attempt after an error; `None` if there is none. `attempts` is the number of attempts before the failed one,
    /// `elapsed` the time since the first one, and `growing` the delay if neither the error nor `backoff` sets one.
    pub fn delay(
        &self,
        error: &Error,
        attempts: u32,
        elapsed: Duration,
        growing: Duration,
    ) -> Option<Duration> {
        let delay = match error {
            error if error.is_permanent() => return None,
            error => error.delay().or(self.backoff).unwrap_or(growing),
        };
        let delay = delay.min(LONGEST_DELAY);
        let is_last = self.limit.is_some_and(|limit| attempts + 1 >= limit);
        let is_late = self
            .timeout
            .is_some_and(|timeout| elapsed + delay >= timeout);
        (!is_last && !is_late).then_some(delay)
    }
}
