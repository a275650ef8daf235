//! What the engine remembers of objects while the process runs. After a crash, nothing of it is needed.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use tokio::time::Instant;

use super::Answer;
use crate::lock::lock;

#[derive(Default)]
pub(super) struct Memory(Mutex<State>);

#[derive(Default)]
struct State {
    /// By the uid of the object.
    entries: HashMap<String, Entry>,
    /// The objects that have an external resource, or are creating one, by its name.
    holders: HashMap<String, Holder>,
}

#[derive(Default)]
struct Entry {
    absent_since: Option<Instant>,
    unobserved_since: Option<Instant>,
    unrecorded: Option<Unrecorded>,
    /// The name that the object holds.
    name: Option<String>,
}

/// The only object that may have the external resource of a name.
struct Holder {
    uid: String,
    /// The object, for messages.
    object: String,
    hold: Hold,
}

/// How certainly an object has the external resource of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hold {
    /// No external resource is recorded: the object only wants one, and loses the name to an object with a record.
    Tentative,
    /// The object has an id or a started creation, or is about to record one.
    Recorded,
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
    /// Records that the external resource is absent. Returns the rest of the grace period, which begins with the first call in this
    /// process; `None` if it is over.
    pub fn absent(&self, uid: &str, grace: Duration) -> Option<Duration> {
        let mut state = self.state();
        let entry = state.entries.entry(uid.to_owned()).or_default();
        let since = *entry.absent_since.get_or_insert_with(Instant::now);
        let rest = grace.saturating_sub(since.elapsed());
        (!rest.is_zero()).then_some(rest)
    }

    /// Ends the absence: the external resource was found, or is about to be created.
    pub fn present(&self, uid: &str) {
        if let Some(entry) = self.state().entries.get_mut(uid) {
            entry.absent_since = None;
        }
    }

    /// Records that the external resource cannot be observed. Returns for how long, which begins with the first call in this process.
    pub fn unobserved(&self, uid: &str) -> Duration {
        let mut state = self.state();
        let entry = state.entries.entry(uid.to_owned()).or_default();
        entry
            .unobserved_since
            .get_or_insert_with(Instant::now)
            .elapsed()
    }

    /// The external resource was observed.
    pub fn observed(&self, uid: &str) {
        if let Some(entry) = self.state().entries.get_mut(uid) {
            entry.unobserved_since = None;
        }
    }

    pub fn unrecorded(&self, uid: &str) -> Option<Unrecorded> {
        self.state().entries.get(uid)?.unrecorded.clone()
    }

    pub fn set_unrecorded(&self, uid: &str, unrecorded: Option<Unrecorded>) {
        let mut state = self.state();
        state.entries.entry(uid.to_owned()).or_default().unrecorded = unrecorded;
    }

    /// Makes the object the holder of the external resource of this name, and of no other one. A recorded hold displaces a tentative one.
    ///
    /// # Errors
    /// The current holder, for messages.
    pub fn claim(
        &self,
        name: &str,
        uid: &str,
        hold: Hold,
        object: impl FnOnce() -> String,
    ) -> Result<(), String> {
        let mut state = self.state();
        if let Some(holder) = state.holders.get_mut(name) {
            if holder.uid == uid {
                holder.hold = hold;
                return Ok(());
            }
            if hold <= holder.hold {
                return Err(holder.object.clone());
            }
            let displaced = holder.uid.clone();
            state.release(&displaced);
        }
        state.release(uid);
        let uid = uid.to_owned();
        state.entries.entry(uid.clone()).or_default().name = Some(name.to_owned());
        let object = object();
        let holder = Holder { uid, object, hold };
        state.holders.insert(name.to_owned(), holder);
        Ok(())
    }

    /// Releases the name of an object that has no external resource, or does not exist any more.
    pub fn release(&self, uid: &str) {
        self.state().release(uid);
    }

    /// Forgets an object that was deleted.
    pub fn forget(&self, uid: &str) {
        let mut state = self.state();
        state.release(uid);
        state.entries.remove(uid);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }
}

impl State {
    fn release(&mut self, uid: &str) {
        let name = self.entries.get_mut(uid).and_then(|it| it.name.take());
        if let Some(name) = name {
            self.holders.remove(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_holder_until_it_is_released() {
        let memory = Memory::default();
        let claim = |uid: &str, name: &str| {
            memory.claim(name, uid, Hold::Recorded, || format!("object {uid}"))
        };
        assert_eq!(claim("a", "x"), Ok(()));
        assert_eq!(claim("a", "x"), Ok(()));
        assert_eq!(claim("b", "x"), Err("object a".into()));
        assert_eq!(claim("b", "y"), Ok(()));
        memory.release("b");
        assert_eq!(claim("c", "x"), Err("object a".into()), "it is not b's");
        assert_eq!(claim("a", "z"), Ok(()), "another name instead");
        assert_eq!(claim("b", "x"), Ok(()));
        memory.forget("b");
        assert_eq!(claim("c", "x"), Ok(()));
    }

    #[test]
    fn an_object_with_a_record_displaces_one_without() {
        let memory = Memory::default();
        let claim = |uid: &str, hold| memory.claim("x", uid, hold, || format!("object {uid}"));
        let in_use_by = |uid: &str| Err(format!("object {uid}"));
        assert_eq!(claim("a", Hold::Tentative), Ok(()));
        assert_eq!(claim("b", Hold::Tentative), in_use_by("a"));
        assert_eq!(claim("b", Hold::Recorded), Ok(()));
        memory.release("a");
        assert_eq!(claim("a", Hold::Recorded), in_use_by("b"));
        assert_eq!(claim("b", Hold::Tentative), Ok(()), "its record is removed");
        assert_eq!(claim("a", Hold::Recorded), Ok(()));
    }
}
