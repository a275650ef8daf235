//! The delay before the next attempt after a failure. No clock, no I/O.

use std::time::Duration;

/// An exponential backoff with a maximum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    pub first: Duration,
    pub last: Duration,
}

impl Backoff {
    /// The delay after a failure that follows `failures` earlier ones. `jitter`, from 0 to 1, shortens it by up to a fifth, so that objects
    /// which failed together are not retried together.
    pub fn delay(self, failures: u32, jitter: f64) -> Duration {
        self.first
            .saturating_mul(1 << failures.min(30))
            .min(self.last)
            .mul_f64(1.0 - jitter.clamp(0.0, 1.0) / 5.0)
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
