//! The server's clock. It is tokio's, so that a test that pauses the clock controls the server's time. Without the feature `server`, it is
//! the system clock.

#[cfg(feature = "workloads")]
use std::cell::Cell;
#[cfg(feature = "server")]
use std::time::Duration;

#[cfg(feature = "server")]
use jiff::SignedDuration;
use jiff::Timestamp;
#[cfg(feature = "server")]
use tokio::time::Instant;

#[cfg(feature = "workloads")]
thread_local! {
    /// The due time of the delayed work that runs now.
    static DUE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// The current time of tokio's clock.
#[cfg(feature = "server")]
pub(crate) fn instant() -> Instant {
    #[cfg(feature = "workloads")]
    if let Some(due) = DUE.get() {
        return due;
    }
    Instant::now()
}

/// Does work that was due in the past, with the clock set to its due time.
#[cfg(feature = "workloads")]
pub(crate) fn at<T>(due: Instant, act: impl FnOnce() -> T) -> T {
    DUE.set(Some(due));
    let done = act();
    DUE.set(None);
    done
}

/// The current time of day: the real time, plus the time by which a paused clock was advanced.
#[cfg(feature = "server")]
pub(crate) fn now() -> Timestamp {
    let (clock, real) = (instant().into_std(), std::time::Instant::now());
    let ahead = signed(clock.saturating_duration_since(real));
    let behind = signed(real.saturating_duration_since(clock));
    Timestamp::now()
        .saturating_add(ahead - behind)
        .unwrap_or(Timestamp::MAX)
}

#[cfg(not(feature = "server"))]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

#[cfg(feature = "server")]
fn signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}

/// Formats a time as Kubernetes does: in UTC, to the second.
pub(crate) fn text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
