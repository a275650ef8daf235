//! Detects hot loops, and replaces their repeated events by a line from time to time.
//!
//! In: events with their times. Out: the events to show. No clock, no I/O.

use std::collections::{HashMap, VecDeque};

use jiff::{SignedDuration, Timestamp};

use operator_schema::dev::{Change, Event};

use super::event::DevEvent;

/// The number of equal events within [`WINDOW`] that count as a loop.
const MANY: usize = 12;
const WINDOW: SignedDuration = SignedDuration::from_secs(3);

/// The time between two lines about a loop.
const PERIOD: SignedDuration = SignedDuration::from_secs(10);
/// The time before the first line about a loop, so that it can name the repeated requests.
const FIRST_DELAY: SignedDuration = SignedDuration::from_secs(1);

/// The number of objects and requests that a line names.
const NAMED: usize = 3;

/// The part of an event that stays equal in a loop.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum LoopKey {
    Reconciled(String),
    Requested(String),
    Other(String),
}

/// The recent events.
#[derive(Default)]
pub struct HotLoops {
    recent: HashMap<LoopKey, VecDeque<Timestamp>>,
    /// When to report the hot loops next, if there are any.
    due: Option<Timestamp>,
}

impl HotLoops {
    /// Returns what to show for an event: the event itself, or nothing or a report if it is in a loop.
    pub fn filter(&mut self, now: Timestamp, event: DevEvent) -> Vec<DevEvent> {
        let Some(key) = key(&event) else {
            return vec![event];
        };
        let times = self.recent.entry(key).or_default();
        times.push_back(now);
        forget(times, now);
        if times.len() < MANY {
            return vec![event];
        }
        match self.due {
            None => {
                self.due = Some(now + FIRST_DELAY);
                vec![]
            }
            Some(due) if now < due => vec![],
            Some(_) => {
                self.due = Some(now + PERIOD);
                self.report(now).into_iter().collect()
            }
        }
    }

    /// The current hot loops. Old events are discarded.
    fn report(&mut self, now: Timestamp) -> Option<DevEvent> {
        self.recent.retain(|_, times| {
            forget(times, now);
            !times.is_empty()
        });
        let (mut objects, mut requests) = (vec![], vec![]);
        #[cfg_attr(
            not(test),
            expect(clippy::iter_over_hash_type, reason = "sorted below")
        )]
        for (key, times) in &self.recent {
            let first = times.front().filter(|_| times.len() >= MANY);
            let Some(seconds) = first.map(|first| now.duration_since(*first).as_secs_f64()) else {
                continue;
            };
            let rate = (times.len() as f64 / seconds.max(0.1)).round() as u32;
            match key {
                LoopKey::Reconciled(object) => objects.push((object.clone(), rate)),
                LoopKey::Requested(request) => requests.push((request.clone(), rate)),
                LoopKey::Other(_) => {}
            }
        }
        if objects.is_empty() && requests.is_empty() {
            return None;
        }
        for of in [&mut objects, &mut requests] {
            of.sort_by(|(a, fewer), (b, more)| more.cmp(fewer).then_with(|| a.cmp(b)));
            of.truncate(NAMED);
        }
        Some(DevEvent::HotLoop { objects, requests })
    }
}

fn forget(times: &mut VecDeque<Timestamp>, now: Timestamp) {
    while times
        .front()
        .is_some_and(|first| now.duration_since(*first) > WINDOW)
    {
        times.pop_front();
    }
}

/// The key of an event that can repeat in a loop; `None` for events that the user causes or waits for.
fn key(event: &DevEvent) -> Option<LoopKey> {
    let without_numbers = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
    Some(match event {
        DevEvent::Reconciled { object, .. } => LoopKey::Reconciled(object.clone()),
        DevEvent::Cluster(Event::Request(request)) => {
            LoopKey::Requested(format!("{} {}", request.text, request.code))
        }
        DevEvent::Cluster(Event::Object { object, change }) => match change {
            Change::Fields(_) => LoopKey::Other(format!("fields of {object}")),
            Change::Condition { kind, .. } => LoopKey::Other(format!("{kind} of {object}")),
            Change::Created | Change::Deleting(_) | Change::Deleted => {
                LoopKey::Other(format!("life of {object}"))
            }
        },
        DevEvent::Cluster(Event::Event { object, text, .. }) => {
            LoopKey::Other(format!("event {object} {}", without_numbers(text)))
        }
        DevEvent::Log {
            level,
            object,
            text,
        } if !level.is_empty() => {
            LoopKey::Other(format!("log {level} {object} {}", without_numbers(text)))
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_millisecond(1_700_000_000_000 + milliseconds).unwrap()
    }

    fn reconciled(object: &str) -> DevEvent {
        DevEvent::Reconciled {
            object: object.into(),
            took: "1 ms".into(),
        }
    }

    fn changed(object: &str) -> DevEvent {
        DevEvent::Cluster(Event::Object {
            object: object.into(),
            change: Change::Fields(vec!["status.time 1 → 2".into()]),
        })
    }

    #[test]
    fn a_hot_loop_is_reported_every_ten_seconds_with_the_object_and_its_rate() {
        let mut loops = HotLoops::default();
        let mut shown = vec![];
        // 100 a second, for 20 seconds
        for step in 0..2000 {
            for event in [reconciled("Widget default/a"), changed("Widget default/a")] {
                shown.extend(loops.filter(at(step * 10), event));
            }
        }
        let (reports, lines): (Vec<_>, Vec<_>) = shown
            .into_iter()
            .partition(|it| matches!(it, DevEvent::HotLoop { .. }));
        assert_eq!(lines.len(), 2 * (MANY - 1));
        assert_eq!(reports.len(), 2, "at first, and 10 seconds later");
        let DevEvent::HotLoop { objects, requests } = &reports[1] else {
            panic!("{reports:?}");
        };
        assert_eq!(objects[0].0, "Widget default/a");
        assert!((99..=101).contains(&objects[0].1), "{objects:?}");
        assert!(objects.len() == 1 && requests.is_empty(), "{reports:?}");
    }

    #[test]
    fn an_ended_loop_is_shown_again_and_many_objects_are_not_a_loop() {
        let mut loops = HotLoops::default();
        let mut shown = |time: i64, object: &str| loops.filter(at(time), reconciled(object)).len();
        for number in 0..1000 {
            assert_eq!(shown(number, &format!("Widget default/{number}")), 1);
        }
        let loop_lines: usize = (0..100)
            .map(|step| shown(2000 + step * 10, "Widget a"))
            .sum();
        assert_eq!(loop_lines, MANY - 1);
        assert_eq!(shown(10_000, "Widget a"), 1);
        // as often as a backoff allows
        for second in 11..60 {
            assert_eq!(shown(second * 1000, "Widget a"), 1);
        }
    }
}
