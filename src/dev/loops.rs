//! Hot loops: what comes again and again is one line now and then, and not a flood.
//!
//! In: what happens, and when. Out: what is to be shown. No clock, no io.

use std::collections::{HashMap, VecDeque};

use jiff::{SignedDuration, Timestamp};

use super::happening::{Change, Happening};

/// So many of one thing within [`WINDOW`] are a loop.
const MANY: usize = 12;
const WINDOW: SignedDuration = SignedDuration::from_secs(3);

/// The time between two lines about a loop, and before the first one, when the requests that repeat are known.
const PERIOD: SignedDuration = SignedDuration::from_secs(10);
const FIRST: SignedDuration = SignedDuration::from_secs(1);

/// How many objects and requests a line names.
const NAMED: usize = 3;

/// What is the same in two happenings of a loop.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Thing {
    Reconciled(String),
    Asked(String),
    Other(String),
}

/// What happened of late.
#[derive(Default)]
pub struct Loops {
    recent: HashMap<Thing, VecDeque<Timestamp>>,
    /// When the loops are to be told next, as long as there are some.
    due: Option<Timestamp>,
}

impl Loops {
    /// What is to be shown because of a happening.
    pub fn step(&mut self, now: Timestamp, happening: Happening) -> Vec<Happening> {
        let Some(thing) = thing(&happening) else {
            return vec![happening];
        };
        let times = self.recent.entry(thing).or_default();
        times.push_back(now);
        forget(times, now);
        if times.len() < MANY {
            return vec![happening];
        }
        match self.due {
            None => {
                self.due = Some(now + FIRST);
                vec![]
            }
            Some(due) if now < due => vec![],
            Some(_) => {
                self.due = Some(now + PERIOD);
                self.told(now).into_iter().collect()
            }
        }
    }

    /// The loops; what is over is forgotten.
    fn told(&mut self, now: Timestamp) -> Option<Happening> {
        self.recent.retain(|_, times| {
            forget(times, now);
            !times.is_empty()
        });
        let (mut objects, mut requests) = (vec![], vec![]);
        for (thing, times) in &self.recent {
            let first = times.front().filter(|_| times.len() >= MANY);
            let Some(seconds) = first.map(|first| now.duration_since(*first).as_secs_f64()) else {
                continue;
            };
            let rate = (times.len() as f64 / seconds.max(0.1)).round() as u32;
            match thing {
                Thing::Reconciled(object) => objects.push((object.clone(), rate)),
                Thing::Asked(request) => requests.push((request.clone(), rate)),
                Thing::Other(_) => {}
            }
        }
        if objects.is_empty() && requests.is_empty() {
            return None;
        }
        for of in [&mut objects, &mut requests] {
            of.sort_by(|(a, fewer), (b, more)| more.cmp(fewer).then_with(|| a.cmp(b)));
            of.truncate(NAMED);
        }
        Some(Happening::Loop { objects, requests })
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

/// What may come in a loop; what a person does, or waits for, does not.
fn thing(happening: &Happening) -> Option<Thing> {
    let without_numbers = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
    Some(match happening {
        Happening::Reconciled { object, .. } => Thing::Reconciled(object.clone()),
        Happening::Asked { request, .. } => Thing::Asked(format!("{request} {}", request.code)),
        Happening::Object { object, change } => match change {
            Change::Fields(_) => Thing::Other(format!("fields of {object}")),
            Change::Condition { kind, .. } => Thing::Other(format!("{kind} of {object}")),
            Change::Created | Change::Deleting(_) | Change::Deleted => {
                Thing::Other(format!("life of {object}"))
            }
        },
        Happening::Event { object, text, .. } => {
            Thing::Other(format!("event {object} {}", without_numbers(text)))
        }
        Happening::Logged {
            level,
            object,
            text,
        } if !level.is_empty() => {
            Thing::Other(format!("log {level} {object} {}", without_numbers(text)))
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

    fn reconciled(object: &str) -> Happening {
        Happening::Reconciled {
            object: object.into(),
            took: "1 ms".into(),
        }
    }

    fn changed(object: &str) -> Happening {
        Happening::Object {
            object: object.into(),
            change: Change::Fields(vec!["status.time 1 → 2".into()]),
        }
    }

    #[test]
    fn a_hot_loop_is_a_line_now_and_then_that_names_the_object_and_how_often() {
        let mut loops = Loops::default();
        let mut shown = vec![];
        // 100 a second, for 20 seconds
        for step in 0..2000 {
            for happening in [reconciled("Widget default/a"), changed("Widget default/a")] {
                shown.extend(loops.step(at(step * 10), happening));
            }
        }
        let (told, lines): (Vec<_>, Vec<_>) = shown
            .into_iter()
            .partition(|it| matches!(it, Happening::Loop { .. }));
        assert_eq!(lines.len(), 2 * (MANY - 1));
        assert_eq!(told.len(), 2, "at first, and 10 seconds later");
        let Happening::Loop { objects, requests } = &told[1] else {
            panic!("{told:?}");
        };
        assert_eq!(objects[0].0, "Widget default/a");
        assert!((99..=101).contains(&objects[0].1), "{objects:?}");
        assert!(objects.len() == 1 && requests.is_empty(), "{told:?}");
    }

    #[test]
    fn what_ends_is_shown_again_and_many_objects_are_no_loop() {
        let mut loops = Loops::default();
        let mut shown = |time: i64, object: &str| loops.step(at(time), reconciled(object)).len();
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
