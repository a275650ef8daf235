//! What the engine remembers of objects while the process runs. Nothing of it is needed after a crash.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::Answer;

/// By the uid of the object.
#[derive(Default)]
pub(super) struct Memory(Mutex<HashMap<String, Entry>>);

#[derive(Default)]
struct Entry {
    absent_since: Option<Instant>,
    unrecorded: Option<Unrecorded>,
}

/// What this process knows of a creation, and the object does not yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unrecorded {
    Id(String),
    Refused,
    /// The write that records this start may have succeeded, but no call has followed it.
    NotCalled(String),
}

impl Unrecorded {
    pub fn of(answer: &Answer) -> Self {
        match answer {
            Answer::Id(id) => Self::Id(id.clone()),
            Answer::Refused(_) => Self::Refused,
        }
    }
}

impl Memory {
    /// The rest of the time that a thing has to be absent; it begins with the first call, also after a restart of the operator.
    pub fn absent(&self, uid: &str, grace: Duration) -> Option<Duration> {
        let mut entries = self.entries();
        let entry = entries.entry(uid.to_owned()).or_default();
        let since = *entry.absent_since.get_or_insert_with(Instant::now);
        let rest = grace.saturating_sub(since.elapsed());
        (!rest.is_zero()).then_some(rest)
    }

    /// The thing was found, or is about to be created.
    pub fn present(&self, uid: &str) {
        if let Some(entry) = self.entries().get_mut(uid) {
            entry.absent_since = None;
        }
    }

    pub fn unrecorded(&self, uid: &str) -> Option<Unrecorded> {
        self.entries().get(uid)?.unrecorded.clone()
    }

    pub fn set_unrecorded(&self, uid: &str, unrecorded: Option<Unrecorded>) {
        self.entries().entry(uid.to_owned()).or_default().unrecorded = unrecorded;
    }

    pub fn forget(&self, uid: &str) {
        self.entries().remove(uid);
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
