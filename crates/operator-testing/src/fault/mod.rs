//! Faults between an operator and the API server, as a layer in the operator's client.

mod answer;
mod layer;
mod schedule;

use std::fmt;
use std::str::FromStr;

pub(crate) use self::layer::{Faults, LEASE, lease};
pub(crate) use self::schedule::{Schedule, bounded, sampled, schedules, seed};
use crate::record::Request;

/// What happens to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// `429 Too Many Requests` with a `Retry-After` of a second; the server does not see the request.
    TooManyRequests,
    /// `409 Conflict`; the server does not see the request.
    Conflict,
    /// `500 Internal Server Error`; the server does not see the request.
    ServerError,
    /// `504 Gateway Timeout` after the server has done what was asked.
    TimeoutAfter,
    /// The connection ends before the request has got to the server.
    ResetBefore,
    /// The connection ends after the server has done what was asked, and before its answer.
    ResetAfter,
    /// The request gets to the server five seconds later, after others that were made after it.
    Delay,
    /// The server gets the request twice; its second answer is the client's.
    Duplicate,
    /// The watch ends before its first event, as when a server goes away in good order.
    Cut,
    /// The connection of the watch ends before its first event.
    Torn,
    /// The watch stays open, and no event comes.
    Stall,
    /// The watch stays open, and no event comes after the first.
    Hush,
    /// Each part of the answer of a list or watch arrives 30 seconds late, and so may be older than a write that was answered before.
    Late,
    /// The watch reports that its version has expired (`410 Gone`).
    Expire,
    /// `500` to this request and to all like it, for five seconds.
    Outage,
    /// The server goes away with all connections, and takes none for three seconds.
    Restart,
    /// The same, and it has forgotten all versions but the newest when it is back.
    Compact,
    /// Another replica takes the lease just before, and dies some time after. Of an operator that elects a leader.
    Usurp,
    /// The watch delivers objects of another schema, as after a change of the definition. What cannot be decoded need not converge.
    Garble,
}

const ALL: [(Fault, &str); 19] = [
    (Fault::TooManyRequests, "429"),
    (Fault::Conflict, "409"),
    (Fault::ServerError, "500"),
    (Fault::TimeoutAfter, "504"),
    (Fault::ResetBefore, "reset-before"),
    (Fault::ResetAfter, "reset-after"),
    (Fault::Delay, "delay"),
    (Fault::Duplicate, "duplicate"),
    (Fault::Cut, "cut"),
    (Fault::Torn, "torn"),
    (Fault::Stall, "stall"),
    (Fault::Hush, "hush"),
    (Fault::Late, "late"),
    (Fault::Expire, "410"),
    (Fault::Outage, "outage"),
    (Fault::Restart, "restart"),
    (Fault::Compact, "compact"),
    (Fault::Usurp, "usurp"),
    (Fault::Garble, "garble"),
];

impl Fault {
    /// Whether the client only learns in time that nothing comes any more.
    pub fn is_silence(self) -> bool {
        matches!(self, Self::Stall | Self::Hush)
    }

    /// Whether it takes long before the client goes on.
    pub fn is_slow(self) -> bool {
        self.is_silence() || self == Self::Late
    }

    /// Whether it can befall a request.
    pub fn befalls(self, request: &Request) -> bool {
        match self {
            Self::Usurp => true,
            Self::Garble => request.verb == "watch",
            _ => Self::of(request).contains(&self),
        }
    }

    /// Those after which an operator must reach the same state; the loss of a lease has a trial of its own.
    pub fn of(request: &Request) -> &'static [Self] {
        match request.verb {
            "watch" => &[
                Self::TooManyRequests,
                Self::ServerError,
                Self::ResetBefore,
                Self::Delay,
                Self::Cut,
                Self::Torn,
                Self::Stall,
                Self::Hush,
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

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = ALL.iter().find(|(fault, _)| fault == self);
        f.write_str(name.map_or("", |(_, name)| name))
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = ALL.iter().find(|(_, name)| *name == text);
        found
            .map(|(fault, _)| *fault)
            .ok_or_else(|| format!("`{text}` is not a fault"))
    }
}
