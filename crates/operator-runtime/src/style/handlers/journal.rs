//! Keeps the progress of an object's handlers while they run: decides whether and when a handler is called again, and writes the progress
//! to the object.

use std::{
    collections::BTreeMap,
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use tokio::time::Instant;

use super::{
    place::{self, Place},
    progress::{End, Entry, Progress, text},
};
use crate::{
    Context, Error, Result, engine::objects::Backoff, lock::lock, retries::Retries, style::Object,
};

/// The progress of an object's handlers, and the place where it is recorded.
pub(super) struct Journal {
    progress: Mutex<Progress>,
    /// `None` if the progress is only kept in memory.
    place: Option<Place>,
    backoff: Backoff,
    random: RandomState,
}

impl Journal {
    pub fn new(progress: Progress, place: Option<Place>, backoff: Backoff) -> Arc<Self> {
        Arc::new(Self {
            progress: Mutex::new(progress),
            place,
            backoff,
            random: RandomState::new(),
        })
    }

    pub fn progress(&self) -> MutexGuard<'_, Progress> {
        lock(&self.progress)
    }

    /// Whether a handler has ended.
    pub fn has_ended(&self, handler: &str) -> bool {
        let progress = self.progress();
        progress
            .handlers
            .get(handler)
            .is_some_and(|it| it.end.is_some())
    }

    /// Begins an attempt of a handler, if it is due.
    pub fn begin(&self, handler: &str, retries: Retries) -> Due {
        let now = now();
        let mut progress = self.progress();
        let entry = progress.handlers.entry(handler.to_owned());
        let entry = entry.or_insert_with(|| Entry::new(now));
        if entry.end.is_some() {
            return Due::Ended;
        }
        if let Some(next) = entry.next.filter(|next| *next > now) {
            return Due::Later(between(now, next));
        }
        let deadline = retries.timeout.map(|timeout| after(entry.started, timeout));
        // a handler is called at least once, whatever its timeout is
        if entry.attempts > 0 && deadline.is_some_and(|deadline| deadline <= now) {
            let message = entry.message.clone().unwrap_or_default();
            entry.end = Some(End::Failed);
            return Due::TimedOut(message);
        }
        Due::Now {
            number: entry.attempts.saturating_add(1),
            started: entry.started,
        }
    }

    /// Records the result of an attempt.
    pub fn end(&self, handler: &str, result: Result<(), &Error>, retries: Retries) -> Ended {
        let now = now();
        let mut progress = self.progress();
        let entry = progress.handlers.entry(handler.to_owned());
        let entry = entry.or_insert_with(|| Entry::new(now));
        let error = match result {
            Ok(()) => {
                entry.succeed();
                return Ended::Succeeded;
            }
            Err(error) => error,
        };
        let message = error.to_string();
        let elapsed = between(entry.started, now);
        // from 0 to 1
        let jitter = self.random.hash_one((handler, entry.attempts)) as f64 / u64::MAX as f64;
        let backoff = self.backoff.delay(entry.attempts, jitter);
        match retries.delay(error, entry.attempts, elapsed, backoff) {
            Some(delay) => {
                entry.retry(after(now, delay), &message);
                Ended::Retries(delay)
            }
            None => {
                entry.fail(&message);
                Ended::Failed
            }
        }
    }

    /// Records that a handler has returned without an error, but is called again, because its status was not written.
    pub fn set_returned(&self, handler: &str) {
        if let Some(entry) = self.progress().handlers.get_mut(handler) {
            entry.returned = true;
        }
    }

    /// Postpones a handler until its next sub-handler is due. This does not count as an attempt.
    pub fn wait(&self, handler: &str, delay: Duration) {
        let next = after(now(), delay);
        if let Some(entry) = self.progress().handlers.get_mut(handler) {
            entry.next = Some(next);
        }
    }

    /// Writes the progress. Returns `false` if the object was deleted, even if another one has its name now.
    pub async fn write<K: Object>(&self, object: &K, cx: &Context) -> Result<bool> {
        let Some(place) = &self.place else {
            return Ok(true);
        };
        let text = text(&*self.progress(), &object.uid().unwrap_or_default())?;
        let changes = BTreeMap::from([(place::Entry::Progress, Some(text))]);
        place.write(object, cx, changes).await
    }
}

/// The delay until a handler is called again whose status was not written, because the object had changed.
const OUTDATED_DELAY: Duration = Duration::from_secs(1);

/// The error of a handler whose status was not written, because the object had changed.
pub(super) fn outdated() -> Error {
    let reason = "the object was changed during the call, so the status was not written";
    Error::temporary(OUTDATED_DELAY, anyhow::anyhow!(reason))
}

/// When a handler is called.
pub(super) enum Due {
    Now {
        number: u32,
        started: Timestamp,
    },
    Later(Duration),
    Ended,
    /// Its timeout is over; this is its last error.
    TimedOut(String),
}

/// How an attempt has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Succeeded,
    /// There are no more attempts.
    Failed,
    /// The next attempt is after this time.
    Retries(Duration),
}

fn after(time: Timestamp, delay: Duration) -> Timestamp {
    let delay = SignedDuration::try_from(delay).unwrap_or(SignedDuration::MAX);
    time.saturating_add(delay).unwrap_or(Timestamp::MAX)
}

/// The time on the clock of tokio, which tests can pause and advance: it must agree with the delays of retries.
pub(super) fn now() -> Timestamp {
    let (simulated, real) = (Instant::now().into_std(), std::time::Instant::now());
    let now = Timestamp::now();
    match simulated.checked_duration_since(real) {
        Some(ahead) => after(now, ahead),
        None => now
            .saturating_sub(real.duration_since(simulated))
            .unwrap_or(now),
    }
}

fn between(start: Timestamp, end: Timestamp) -> Duration {
    end.duration_since(start).try_into().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;
    use crate::style::handlers::cause::Cause;

    const BACKOFF: Backoff = Backoff {
        first: Duration::from_secs(1),
        last: Duration::from_secs(60),
    };

    fn journal() -> Arc<Journal> {
        Journal::new(Progress::new(Cause::Create), None, BACKOFF)
    }

    #[test]
    fn a_handler_is_called_until_it_has_ended() {
        let journal = journal();
        let none = Retries::default();
        let Due::Now { number: 1, started } = journal.begin("a", none) else {
            panic!("not called");
        };
        let busy = Error::temporary(Duration::ZERO, anyhow!("busy"));
        assert_eq!(
            journal.end("a", Err(&busy), none),
            Ended::Retries(Duration::ZERO)
        );
        let due = journal.begin("a", none);
        assert!(matches!(due, Due::Now { number: 2, started: same } if same == started));
        let busy = Error::temporary(Duration::from_secs(60), anyhow!("busy"));
        journal.end("a", Err(&busy), none);
        assert!(
            matches!(journal.begin("a", none), Due::Later(rest) if rest > Duration::from_secs(50))
        );
        assert_eq!(journal.end("a", Ok(()), none), Ended::Succeeded);
        assert!(matches!(journal.begin("a", none), Due::Ended));
        assert_eq!(journal.progress().handlers["a"].attempts, 3);
    }

    #[test]
    fn a_permanent_error_the_last_attempt_and_the_timeout_are_final() {
        let journal = journal();
        let other = Error::from(anyhow!("other"));
        let permanent = Error::permanent(anyhow!("wrong"));
        assert_eq!(
            journal.end("a", Err(&permanent), Retries::default()),
            Ended::Failed
        );
        let three = Retries {
            limit: Some(3),
            backoff: Some(Duration::ZERO),
            ..Retries::default()
        };
        let ended: Vec<_> = (0..3)
            .map(|_| journal.end("b", Err(&other), three))
            .collect();
        let retries = Ended::Retries(Duration::ZERO);
        assert_eq!(ended, [retries, retries, Ended::Failed]);
        let short = Retries {
            timeout: Some(Duration::from_secs(5)),
            backoff: Some(Duration::from_secs(10)),
            ..Retries::default()
        };
        assert_eq!(
            journal.end("c", Err(&other), short),
            Ended::Failed,
            "too late"
        );
        let late = Retries {
            timeout: Some(Duration::ZERO),
            ..Retries::default()
        };
        assert!(
            matches!(journal.begin("d", late), Due::Now { .. }),
            "once in any case"
        );
        let entry = &journal.progress().handlers["b"];
        assert_eq!(
            (entry.attempts, entry.message.as_deref()),
            (3, Some("other"))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_follows_the_clock_of_tokio() {
        let journal = journal();
        let busy = Error::temporary(Duration::from_secs(60), anyhow!("busy"));
        journal.end("a", Err(&busy), Retries::default());
        for (seconds, is_due) in [(59, false), (2, true)] {
            tokio::time::advance(Duration::from_secs(seconds)).await;
            let due = journal.begin("a", Retries::default());
            assert_eq!(matches!(due, Due::Now { .. }), is_due);
        }
    }

    #[test]
    fn the_backoff_grows() {
        let journal = journal();
        let other = Error::from(anyhow!("other"));
        let mut delays = vec![];
        for _ in 0..4 {
            let Ended::Retries(delay) = journal.end("a", Err(&other), Retries::default()) else {
                panic!("ended");
            };
            delays.push(delay);
        }
        assert!(
            delays.is_sorted() && delays[3] > Duration::from_secs(6),
            "{delays:?}"
        );
    }
}
