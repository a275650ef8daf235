//! The faults in webhook calls, and which call gets which fault.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

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
    pub const ALL: [(Self, &str); 5] = [
        (Self::Down, "down"),
        (Self::Slow, "slow"),
        (Self::Garbage, "garbage"),
        (Self::Expired, "expired"),
        (Self::Replaced, "replaced"),
    ];

    /// How long all calls have the fault, beginning with the first; zero for only that call. A slow call takes up to 30 seconds, so that
    /// only a longer time has a second one.
    pub fn duration(self) -> Duration {
        match self {
            Self::Down | Self::Garbage | Self::Expired => Duration::from_secs(10),
            Self::Slow => Duration::from_secs(40),
            Self::Replaced => Duration::ZERO,
        }
    }
}

impl fmt::Display for WebhookFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = Self::ALL.iter().filter(|(fault, _)| fault == self);
        f.write_str(names.next().map_or("", |(_, name)| name))
    }
}

/// The faults by the number of the call with which they begin, from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WebhookSchedule(pub BTreeMap<usize, WebhookFault>);

impl fmt::Display for WebhookSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults: Vec<String> = self
            .0
            .iter()
            .map(|(number, fault)| format!("{number}:{fault}"))
            .collect();
        f.write_str(&faults.join(" "))
    }
}

impl FromStr for WebhookSchedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let faults = text.split_whitespace().map(|word| {
            word.split_once(':')
                .and_then(|(number, name)| {
                    let mut known = WebhookFault::ALL.iter();
                    let (fault, _) = known.find(|(_, known)| *known == name)?;
                    Some((number.parse().ok()?, *fault))
                })
                .ok_or_else(|| {
                    let names = WebhookFault::ALL.map(|(_, name)| name).join(", ");
                    format!("`{word}` is not NUMBER:FAULT, with a fault of {names}")
                })
        });
        Ok(Self(faults.collect::<Result<_, _>>()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_read_as_it_is_printed() {
        let all = WebhookFault::ALL.into_iter().enumerate();
        let schedule = WebhookSchedule(all.map(|(number, (fault, _))| (number, fault)).collect());
        let text = "0:down 1:slow 2:garbage 3:expired 4:replaced";
        assert_eq!(schedule.to_string(), text);
        assert_eq!(text.parse(), Ok(schedule));
        let error = "3:late".parse::<WebhookSchedule>().unwrap_err();
        assert!(error.contains("`3:late` is not NUMBER:FAULT"), "{error}");
    }
}
