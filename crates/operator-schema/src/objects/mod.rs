//! Arbitrary valid objects of a schema, for tests that should cover every field and value.
//!
//! The schema is split into goals: a value at each node, each enum value and union branch, and the edge cases of each node. An object
//! reaches as many open goals as are compatible; the remaining goals are then tried one by one, each in the smallest possible object. The
//! same schema and seed give the same objects.

mod array;
mod dice;
mod edge;
mod goal;
mod grow;
mod limit;
mod mark;
mod object;
mod scalar;

pub use edge::Edge;
pub use goal::{Coverage, Unreached};

use self::dice::Dice;
use self::goal::{Id, Plan};
use crate::sample::{accepts, named, sample};
use crate::{Schema, Violation, prune};
use serde_json::Value;

/// An endless series of valid objects, which first covers what can be covered of the schema and then continues at random.
///
/// Each object has no [`violations`](crate::violations) after defaulting, and [`prune`] drops nothing of it. The first object is the result
/// of [`sample`](crate::sample). As there, `apiVersion`, `kind` and `metadata` of the root are left to the caller. The series is empty if
/// no valid object was found.
///
/// ```
/// let schema = serde_json::from_str(r#"{"type": "object", "properties": {"mode": {"type": "string", "enum": ["On", "Off"]}}}"#)?;
/// let mut objects = operator_schema::Objects::new(&schema, 0);
/// let modes: Vec<_> = objects.cover(100).iter().filter_map(|it| it["mode"].as_str().map(str::to_owned)).collect();
/// assert!(modes.contains(&"On".to_owned()) && modes.contains(&"Off".to_owned()));
/// assert_eq!(objects.coverage().unreached, []);
/// # Ok::<_, serde_json::Error>(())
/// ```
pub struct Objects<'s> {
    plan: Plan<'s>,
    dice: Dice,
    stage: Stage,
    /// The remaining budget of the current object, in nodes and checks.
    budget: usize,
    abandoned: usize,
    /// The only goal of the current object, if it has one.
    focus: Option<Focus>,
    /// The last violations of a part of the current object.
    refused: Vec<Violation>,
}

enum Stage {
    First,
    /// All open goals at once; the number of consecutive objects that reached nothing new.
    Broad {
        unproductive: usize,
    },
    /// The open goals, one by one.
    Single,
    Random,
}

/// The goal that an object is built for alone.
struct Focus {
    node: Id,
    goal: usize,
    /// The node and its ancestors.
    path: Vec<Id>,
}

/// How many consecutive objects may reach nothing new before the open goals are tried one by one.
const MAX_UNPRODUCTIVE: usize = 3;

/// The budget of an object; one that costs more is abandoned.
const BUDGET: usize = 200_000;

/// After this number of abandoned objects, the series returns only the sample.
const MAX_ABANDONED: usize = 4;

impl<'s> Objects<'s> {
    /// Creates the series of `schema`, which is the root of a version or any part of one. Another `seed` gives another series.
    pub fn new(schema: &'s Schema, seed: u64) -> Self {
        Self {
            plan: Plan::of(schema),
            dice: Dice::new(seed),
            stage: Stage::First,
            budget: 0,
            abandoned: 0,
            focus: None,
            refused: Vec::new(),
        }
    }

    /// What the objects so far have covered of the schema, and what not.
    pub fn coverage(&self) -> Coverage {
        self.plan.coverage()
    }

    /// The next objects, up to the last that covers something new; at most `most`.
    pub fn cover(&mut self, most: usize) -> Vec<Value> {
        let mut objects = Vec::new();
        while objects.len() < most && !matches!(self.stage, Stage::Random) {
            match self.next_new() {
                Some(object) => objects.push(object),
                None => break,
            }
        }
        objects
    }

    /// The next object of the stages before the random stage.
    fn next_new(&mut self) -> Option<Value> {
        loop {
            let before = self.plan.reached();
            let object = match self.stage {
                Stage::First => {
                    self.stage = Stage::Broad { unproductive: 0 };
                    sample(self.plan.schema()).ok()
                }
                Stage::Broad { unproductive } if unproductive < MAX_UNPRODUCTIVE => self.build(),
                Stage::Broad { .. } => {
                    self.stage = Stage::Single;
                    continue;
                }
                Stage::Single => {
                    let Some((node, goal)) = self.plan.next_open() else {
                        self.stage = Stage::Random;
                        return None;
                    };
                    self.single(node, goal)
                }
                Stage::Random => return None,
            };
            if let Some(object) = &object {
                self.plan.mark(object);
            }
            let is_new = self.plan.reached() > before;
            if let Stage::Broad { unproductive } = &mut self.stage {
                *unproductive = if is_new { 0 } else { *unproductive + 1 };
            }
            if is_new && object.is_some() {
                return object;
            }
        }
    }

    /// An object for a single goal; if none is found, the violations are recorded. The branches of surrounding unions are chosen at random.
    fn single(&mut self, node: Id, goal: usize) -> Option<Value> {
        const TRIES: usize = 6;
        let mut object = None;
        self.refused.clear();
        for _ in 0..TRIES {
            let path = self.plan.path(node);
            self.focus = Some(Focus { node, goal, path });
            object = self.build();
            self.focus = None;
            if let Some(object) = &object {
                self.plan.mark(object);
            }
            if self.plan.is_reached(node, goal) {
                break;
            }
        }
        let refused = std::mem::take(&mut self.refused);
        self.plan.tried(node, goal, refused);
        object
    }

    /// Builds a complete object; `None` if no valid one was found.
    fn build(&mut self) -> Option<Value> {
        if self.abandoned >= MAX_ABANDONED {
            return None;
        }
        let schema = self.plan.schema();
        self.budget = BUDGET;
        let object = self.grow(Plan::ROOT, &[schema]);
        self.abandoned += usize::from(self.budget == 0);
        let object = object?;
        let is_whole = prune(schema, &mut object.clone()).is_empty();
        let is_valid = is_whole && accepts(&[schema], &object);
        is_valid.then(|| named(schema, object))
    }

    /// An object without a goal of its own, or else the sample.
    fn random(&mut self) -> Option<Value> {
        const TRIES: usize = 4;
        let object = (0..TRIES)
            .find_map(|_| self.build())
            .or_else(|| sample(self.plan.schema()).ok())?;
        self.plan.mark(&object);
        Some(object)
    }
}

impl Iterator for Objects<'_> {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        self.next_new().or_else(|| self.random())
    }
}
