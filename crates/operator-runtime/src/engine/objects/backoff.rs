//! How long an object that fails waits for its next attempt. No clock, no io.

use std::time::Duration;

/// Delays that double with each failure in a row, up to a bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    pub first: Duration,
    pub last: Duration,
}

impl Backoff {
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

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff = Backoff {
        first: Duration::from_secs(1),
        last: Duration::from_secs(300),
    };

    #[test]
    fn the_delay_doubles_up_to_its_maximum() {
        let seconds = |failures| BACKOFF.delay(failures, 0.0).as_secs();
        assert_eq!(
            [seconds(0), seconds(1), seconds(2), seconds(8)],
            [1, 2, 4, 256]
        );
        assert_eq!([seconds(9), seconds(31), seconds(u32::MAX)], [300; 3]);
    }

    #[test]
    fn jitter_shortens_the_delay_by_up_to_a_fifth() {
        assert_eq!(BACKOFF.delay(9, 1.0), Duration::from_secs(240));
    }
}
