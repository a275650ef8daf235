//! The recent events: counts repeated events, and limits the number of new events about an object.
//!
//! In: events about objects, with their times. Out: whether to create an event, to update its count, or neither. No clock, no I/O.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::EventType;
use tokio::time::Instant;

/// The identity of an event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    object: Object,
    /// The hash of the type, the reason and the note.
    hash: u64,
}

/// Namespace, name and uid: events about a recreated object are different ones.
type Object = (Option<String>, Option<String>, Option<String>);

impl Key {
    pub fn of(object: &ObjectReference, type_: EventType, reason: &str, note: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        (matches!(type_, EventType::Warning), reason, note).hash(&mut hasher);
        Self {
            object: (
                object.namespace.clone(),
                object.name.clone(),
                object.uid.clone(),
            ),
            hash: hasher.finish(),
        }
    }
}

/// What to do about an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EventAction {
    Create,
    /// It has occurred `count` times.
    UpdateCount {
        name: String,
        count: i32,
    },
    /// It was counted; a later occurrence writes the count.
    Skip,
}

/// The recent events of a controller.
#[derive(Default)]
pub(crate) struct History {
    series: HashMap<Key, Series>,
    budgets: HashMap<Object, Budget>,
}

struct Series {
    name: String,
    count: i32,
    seen: Instant,
    written: Instant,
}

/// How many more new events an object may get.
struct Budget {
    left: u32,
    refilled: Instant,
}

impl History {
    /// The time within which an equal event counts as a repetition; the recorders of kube and client-go use the same.
    const REMEMBERED: Duration = Duration::from_secs(6 * 60);
    /// The shortest time between two writes of a count, after the first.
    const PERIOD: Duration = Duration::from_secs(30);
    /// How many new events an object may get at once, and how long it takes until it may get one more.
    const BURST: u32 = 10;
    const REFILL: Duration = Duration::from_secs(60);

    /// Whether the object may get this event: it is a repetition, or the object has budget for a new event.
    pub fn allows(&mut self, key: &Key, now: Instant) -> bool {
        self.forget(now);
        if self.series.contains_key(key) {
            return true;
        }
        let budget = self.budgets.entry(key.object.clone());
        let budget = budget.or_insert(Budget {
            left: Self::BURST,
            refilled: now,
        });
        let due = (now - budget.refilled).as_secs() / Self::REFILL.as_secs();
        if let Some(due) = u32::try_from(due).ok().filter(|due| *due > 0) {
            budget.left = budget.left.saturating_add(due).min(Self::BURST);
            budget.refilled += Self::REFILL * due;
        }
        let is_allowed = budget.left > 0;
        budget.left = budget.left.saturating_sub(1);
        is_allowed
    }

    /// Counts the event, and returns what to write.
    pub fn next(&mut self, key: &Key, now: Instant) -> EventAction {
        self.forget(now);
        let Some(series) = self.series.get_mut(key) else {
            return EventAction::Create;
        };
        series.count = series.count.saturating_add(1);
        series.seen = now;
        if series.count > 2 && now - series.written < Self::PERIOD {
            return EventAction::Skip;
        }
        series.written = now;
        EventAction::UpdateCount {
            name: series.name.clone(),
            count: series.count,
        }
    }

    /// Records that the event was created under this name.
    pub fn created(&mut self, key: Key, name: String, now: Instant) {
        let series = Series {
            name,
            count: 1,
            seen: now,
            written: now,
        };
        self.series.insert(key, series);
    }

    fn forget(&mut self, now: Instant) {
        self.series
            .retain(|_, series| now - series.seen < Self::REMEMBERED);
        // an object without a budget has a full one
        let full = Self::REFILL * Self::BURST;
        self.budgets
            .retain(|_, budget| now - budget.refilled < full);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str, note: &str) -> Key {
        let object = ObjectReference {
            name: Some(name.into()),
            ..ObjectReference::default()
        };
        Key::of(&object, EventType::Warning, "ReconcileError", note)
    }

    #[test]
    fn a_repeated_event_is_counted_and_not_written_each_time() {
        let (mut history, start) = (History::default(), Instant::now());
        let key = key("a", "no luck");
        assert_eq!(history.next(&key, start), EventAction::Create);
        history.created(key.clone(), "a.1".into(), start);
        let write = |count| EventAction::UpdateCount {
            name: "a.1".into(),
            count,
        };
        assert_eq!(history.next(&key, start), write(2));
        for _ in 0..100 {
            assert_eq!(history.next(&key, start), EventAction::Skip);
        }
        assert_eq!(history.next(&key, start + History::PERIOD), write(103));
        let later = start + History::PERIOD + History::REMEMBERED;
        assert_eq!(
            history.next(&key, later),
            EventAction::Create,
            "it is forgotten"
        );
        assert!(history.series.is_empty());
    }

    #[test]
    fn new_events_of_an_object_are_limited_to_a_burst_and_then_one_a_minute() {
        let (mut history, start) = (History::default(), Instant::now());
        let notes: Vec<Key> = (0..100).map(|it| key("a", &format!("{it}"))).collect();
        let mut allowed = |from: usize, at: Instant| {
            notes[from..]
                .iter()
                .filter(|key| history.allows(key, at))
                .count()
        };
        assert_eq!(allowed(0, start), 10);
        assert_eq!(allowed(10, start + History::REFILL * 2), 2);
        assert_eq!(
            allowed(10, start + History::REFILL * 90),
            10,
            "no more are saved"
        );
        assert!(
            history.allows(&key("b", "0"), start),
            "another object has its own"
        );
        history.created(
            notes[99].clone(),
            "a.1".into(),
            start + History::REFILL * 90,
        );
        assert!(
            history.allows(&notes[99], start + History::REFILL * 90),
            "a known one"
        );
        history.forget(start + History::REFILL * 200);
        assert!(history.budgets.is_empty() && history.series.is_empty());
    }
}
