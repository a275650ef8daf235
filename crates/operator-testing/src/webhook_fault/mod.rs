//! Faults in the calls that the API server in memory makes to the webhooks of the operator under test.

mod inject;

use std::time::Duration;

pub(crate) use self::inject::WebhookFaults;
use crate::schedule::NamedFault;

/// A fault in the calls of webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WebhookFault {
    /// Connections are refused, as when no pod serves the webhooks.
    Down,
    /// Calls take longer than their timeout.
    Slow,
    /// Answers are not JSON, have another kind, have a wrong uid, or are an error of the server; one after the other.
    Garbage,
    /// The certificate of the webhooks has expired.
    Expired,
    /// The pod that serves the webhooks is replaced: the call in flight ends without an answer.
    Replaced,
}

impl WebhookFault {
    /// How long all calls have the fault, from the first one on; zero for only that one. `Slow` lasts longer than the maximum timeout of 30
    /// seconds, so that it affects a second call.
    pub fn duration(self) -> Duration {
        match self {
            Self::Down | Self::Garbage | Self::Expired => Duration::from_secs(10),
            Self::Slow => Duration::from_secs(40),
            Self::Replaced => Duration::ZERO,
        }
    }
}

impl NamedFault for WebhookFault {
    const ALL: &'static [(Self, &'static str)] = &[
        (Self::Down, "down"),
        (Self::Slow, "slow"),
        (Self::Garbage, "garbage"),
        (Self::Expired, "expired"),
        (Self::Replaced, "replaced"),
    ];
}
