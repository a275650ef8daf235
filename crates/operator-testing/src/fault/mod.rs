//! Injects faults into the requests of an operator, as a layer in its client.

mod answer;
mod layer;
mod schedule;

pub(crate) use self::layer::{Faults, LEASE, is_webhook_failure, lease};
pub(crate) use self::schedule::{bounded, sampled, schedules, seed};
use crate::Request;
use crate::schedule::NamedFault;

/// A fault that is injected into one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// `429 Too Many Requests` with a `Retry-After` of a second; the server does not see the request.
    TooManyRequests,
    /// `409 Conflict`; the server does not see the request.
    Conflict,
    /// `500 Internal Server Error`; the server does not see the request.
    ServerError,
    /// `504 Gateway Timeout` after the server has handled the request.
    TimeoutAfter,
    /// The connection is reset before the request reaches the server.
    ResetBefore,
    /// The connection is reset after the server has handled the request, before its response.
    ResetAfter,
    /// The request reaches the server five seconds late, after requests that were made after it.
    Delay,
    /// The server gets the request twice; the client gets the second response.
    Duplicate,
    /// The watch ends before its first event, as when a server shuts down gracefully.
    Cut,
    /// The connection of the watch is reset before its first event.
    ResetWatch,
    /// The watch stays open without any event.
    Stall,
    /// The watch stays open without any event after the first.
    StallAfterFirst,
    /// Each part of the response to a list or watch arrives 30 seconds late, so that it may be older than a write that was answered before.
    Late,
    /// The watch reports that its version has expired (`410 Gone`).
    Expire,
    /// `500` for this request and all similar ones, for five seconds.
    Outage,
    /// The server closes all connections, and refuses new ones for three seconds.
    Restart,
    /// Like `Restart`, and the server has compacted all versions but the newest.
    Compact,
    /// Another replica takes the lease just before the request, and never renews it; for an operator with leader election.
    LoseLease,
    /// The watch delivers objects that do not match the schema, as after a change of the CRD. Objects that cannot be decoded need not
    /// converge.
    Undecodable,
}

impl NamedFault for Fault {
    const ALL: &'static [(Self, &'static str)] = &[
        (Self::TooManyRequests, "429"),
        (Self::Conflict, "409"),
        (Self::ServerError, "500"),
        (Self::TimeoutAfter, "504"),
        (Self::ResetBefore, "reset-before"),
        (Self::ResetAfter, "reset-after"),
        (Self::Delay, "delay"),
        (Self::Duplicate, "duplicate"),
        (Self::Cut, "cut"),
        (Self::ResetWatch, "reset-watch"),
        (Self::Stall, "stall"),
        (Self::StallAfterFirst, "stall-after-first"),
        (Self::Late, "late"),
        (Self::Expire, "410"),
        (Self::Outage, "outage"),
        (Self::Restart, "restart"),
        (Self::Compact, "compact"),
        (Self::LoseLease, "lose-lease"),
        (Self::Undecodable, "undecodable"),
    ];
}

impl Fault {
    /// Whether the client detects the fault only by a timeout, because no more data arrives.
    pub fn is_silence(self) -> bool {
        matches!(self, Self::Stall | Self::StallAfterFirst)
    }

    /// Whether the client continues only after a long time.
    pub fn is_slow(self) -> bool {
        self.is_silence() || self == Self::Late
    }

    /// Whether the fault can be injected into a request.
    pub fn applies_to(self, request: &Request) -> bool {
        match self {
            Self::LoseLease => true,
            Self::Undecodable => request.verb == "watch",
            _ => Self::of(request).contains(&self),
        }
    }

    /// The faults of a request after which an operator must reach the same state; the loss of a lease is tested separately.
    pub fn of(request: &Request) -> &'static [Self] {
        match request.verb {
            "watch" => &[
                Self::TooManyRequests,
                Self::ServerError,
                Self::ResetBefore,
                Self::Delay,
                Self::Cut,
                Self::ResetWatch,
                Self::Stall,
                Self::StallAfterFirst,
                Self::Late,
                Self::Expire,
                Self::Restart,
            ],
            "list" => &[
                Self::TooManyRequests,
                Self::ServerError,
                Self::ResetBefore,
                Self::ResetAfter,
                Self::Delay,
                Self::Late,
                Self::Restart,
            ],
            _ if request.is_write() => &[
                Self::TooManyRequests,
                Self::Conflict,
                Self::ServerError,
                Self::TimeoutAfter,
                Self::ResetBefore,
                Self::ResetAfter,
                Self::Delay,
                Self::Duplicate,
                Self::Outage,
                Self::Restart,
                Self::Compact,
            ],
            _ => &[
                Self::TooManyRequests,
                Self::ServerError,
                Self::ResetBefore,
                Self::ResetAfter,
                Self::Delay,
                Self::Restart,
            ],
        }
    }
}
