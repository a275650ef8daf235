//! The progress of an object's handlers while they run: what a result means for the next attempt, and the writes of the progress.

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

/// The progress of an object.
pub(super) struct Journal {
    progress: Mutex<Progress>,
    /// Where it is written; `None` if it is only kept in memory.
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

    /// Begins an attempt, or returns when the handler is due or that it has ended.
    pub fn begin(&self, handler: &str, retries: Retries) -> Turn {
        let now = now();
        let mut progress = self.progress();
        let entry = progress.handlers.entry(handler.to_owned());
        let entry = entry.or_insert_with(|| Entry::new(now));
        if entry.end.is_some() {
            return Turn::Ended;
        }
        if let Some(next) = entry.next.filter(|next| *next > now) {
            return Turn::Later(delay(now, next));
        }
        let ends = retries.timeout.map(|timeout| after(entry.started, timeout));
        if entry.attempts > 0 && ends.is_some_and(|ends| ends <= now) {
            let message = entry.message.clone().unwrap_or_default();
            entry.end = Some(End::Failed);
            return Turn::TimedOut(message);
        }
        Turn::Attempt {
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
        let elapsed = delay(entry.started, now);
        let jitter = self.random.hash_one((handler, entry.attempts)) as f64 / u64::MAX as f64;
        let growing = self.backoff.delay(entry.attempts, jitter);
        match retries.delay(error, entry.attempts, elapsed, growing) {
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
    pub fn returned(&self, handler: &str) {
        if let Some(entry) = self.progress().handlers.get_mut(handler) {
            entry.returned = true;
        }
    }

    /// Lets a handler wait for its sub-handlers; that is no attempt.
    pub fn wait(&self, handler: &str, delay: Duration) {
        let next = after(now(), delay);
        if let Some(entry) = self.progress().handlers.get_mut(handler) {
            entry.next = Some(next);
        }
    }

    /// Writes the progress. Returns whether the object is still there and what it was.
    pub async fn write<K: Object>(&self, object: &K, cx: &Context) -> Result<bool> {
        let Some(place) = &self.place else {
            return Ok(true);
        };
        let text = text(&*self.progress(), &object.uid().unwrap_or_default())?;
        let changes = BTreeMap::from([(place::Entry::Progress, Some(text))]);
        place.write(object, cx, changes).await
    }
}

/// A handler is called again so long after a write that found its object changed.
const OUTDATED_DELAY: Duration = Duration::from_secs(1);

/// The error of a handler whose write of the status found another version of the object.
pub(super) fn outdated() -> Error {
    let reason = "the object was changed during the call, so the status was not written";
    Error::temporary(OUTDATED_DELAY, anyhow::anyhow!(reason))
}

/// Whether a handler is called.
pub(super) enum Turn {
    Attempt {
        number: u32,
        started: Timestamp,
    },
    Later(Duration),
    Ended,
    /// Its time is over; the last error.
    TimedOut(String),
}

/// What an attempt has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Succeeded,
    /// There are no more attempts.
    Failed,
    Retries(Duration),
}

fn after(time: Timestamp, delay: Duration) -> Timestamp {
    let delay = SignedDuration::try_from(delay).unwrap_or(SignedDuration::MAX);
    time.saturating_add(delay).unwrap_or(Timestamp::MAX)
}

/// The time, on the clock of the runtime: tests simulate it, and it must agree with the delays of retries.
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

fn delay(now: Timestamp, next: Timestamp) -> Duration {
    next.duration_since(now).try_into().unwrap_or_default()
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
        let Turn::Attempt { number: 1, started } = journal.begin("a", none) else {
            panic!("not called");
        };
        let busy = Error::temporary(Duration::ZERO, anyhow!("busy"));
        assert_eq!(
            journal.end("a", Err(&busy), none),
            Ended::Retries(Duration::ZERO)
        );
        let turn = journal.begin("a", none);
        assert!(matches!(turn, Turn::Attempt { number: 2, started: same } if same == started));
        let busy = Error::temporary(Duration::from_secs(60), anyhow!("busy"));
        journal.end("a", Err(&busy), none);
        assert!(
            matches!(journal.begin("a", none), Turn::Later(rest) if rest > Duration::from_secs(50))
        );
        assert_eq!(journal.end("a", Ok(()), none), Ended::Succeeded);
        assert!(matches!(journal.begin("a", none), Turn::Ended));
        assert_eq!(journal.progress().handlers["a"].attempts, 3);
    }

    #[test]
    fn a_permanent_error_the_last_attempt_and_the_end_of_the_time_are_final() {
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
            matches!(journal.begin("d", late), Turn::Attempt { .. }),
            "once in any case"
        );
        let entry = &journal.progress().handlers["b"];
        assert_eq!(
            (entry.attempts, entry.message.as_deref()),
            (3, Some("other"))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_is_that_of_the_runtime() {
        let journal = journal();
        let busy = Error::temporary(Duration::from_secs(60), anyhow!("busy"));
        journal.end("a", Err(&busy), Retries::default());
        for (seconds, is_due) in [(59, false), (2, true)] {
            tokio::time::advance(Duration::from_secs(seconds)).await;
            let turn = journal.begin("a", Retries::default());
            assert_eq!(matches!(turn, Turn::Attempt { .. }), is_due);
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
