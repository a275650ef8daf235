//! When functions of the user that have failed are called again.

use std::time::Duration;

use crate::{Error, error::LONGEST_DELAY};

/// When a function that has failed is called again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Retries {
    /// The largest number of attempts.
    pub limit: Option<u32>,
    /// The longest time since the first attempt.
    pub timeout: Option<Duration>,
    /// The delay after an error; `None` for a growing one.
    pub backoff: Option<Duration>,
}

impl Retries {
    /// The time until the next attempt after an error; `None` if there is none. `attempts` and `elapsed` are those before this attempt and
    /// since the first one, and `growing` is the delay that applies if nothing else is said.
    pub fn delay(
        &self,
        error: &Error,
        attempts: u32,
        elapsed: Duration,
        growing: Duration,
    ) -> Option<Duration> {
        let delay = match error {
            error if error.is_permanent() => return None,
            Error::Temporary { delay, .. } => *delay,
            _ => self.backoff.unwrap_or(growing),
        };
        let delay = delay.min(LONGEST_DELAY);
        let is_last = self.limit.is_some_and(|limit| attempts + 1 >= limit);
        let is_late = self
            .timeout
            .is_some_and(|timeout| elapsed + delay >= timeout);
        (!is_last && !is_late).then_some(delay)
    }
}
