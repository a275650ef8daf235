//! Edits an object until it satisfies its schema and all rules.
//!
//! For a broken rule, `demand` returns alternatives: the edits that would make it true. Each alternative is applied to the object, which is
//! then pruned, defaulted and evaluated. The search continues with the step for which the sum of violations and discrepancies is smallest.
//! A discrepancy is the choice of an alternative, or of a rule, other than the first. No object is edited twice. The cost of a search is
//! limited by the number of evaluated values, so the result does not depend on the speed of the machine. At the end, optional fields are
//! dropped as long as the object stays valid.

mod candidate;
mod demand;
mod edit;
mod guess;
mod scene;
mod start;
mod union;

use self::demand::Plan;
use self::scene::Scene;
use super::depth::with_stack;
use super::evaluate::{Evaluation, program};
use super::has_rules;
use super::sampling::is_resource;
use crate::default::field;
use crate::prune::prune_part;
use crate::validate::is_valid;
use crate::{Schema, apply_defaults, prune, violations};
use kube_cel::cel::IdedExpr;
use serde_json::Value;
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet, VecDeque};
use std::rc::Rc;

/// The maximum cost of a search, in parts of values that are evaluated.
const COST: usize = 16_000;

/// How many alternatives of a broken rule are tried.
const ALTERNATIVES: usize = 8;

/// How many broken rules of an object are tried.
const BROKEN: usize = 3;

/// How many fields and items the solver tries to drop.
const DROPPED: usize = 200;

/// Finds an object that satisfies the schema and all rules, with few edits of `closest`. The fields `wanted` of the root are not dropped.
pub(crate) fn solve(schema: &Schema, closest: &Value, wanted: &[&str]) -> Option<Value> {
    if !has_rules(schema) {
        return None;
    }
    let named = start::with_name(schema);
    let schema = named.as_ref().unwrap_or(schema);
    let solver = Solver {
        schema,
        is_root: is_resource(schema),
    };
    with_stack(|| {
        let minimal = start::minimal(schema, closest);
        let solved = solver
            .search(solver.served(minimal.clone()))
            .or_else(|| solver.search(solver.served(start::full(schema, &minimal))))?;
        Some(solver.reduced(solved, &minimal, wanted))
    })
}

struct Solver<'s> {
    schema: &'s Schema,
    is_root: bool,
}

/// A rule that is not true for its value.
struct Broken<'s> {
    /// The pointer of the value.
    place: String,
    schema: &'s Schema,
    is_root: bool,
    rule: Rc<IdedExpr>,
}

/// An object that was evaluated.
struct Judged<'s> {
    object: Value,
    broken: Vec<Broken<'s>>,
    /// The number of violations of the schema and of broken rules.
    wrong: usize,
}

/// A step of the search, from one of its objects.
enum Step {
    /// Finds edits for the broken rule with this index.
    Ask(usize),
    /// Evaluates the object after edits.
    Try(Plan),
}

/// The objects so far, and the remaining steps.
#[derive(Default)]
struct Search<'s> {
    objects: Vec<Judged<'s>>,
    /// The JSON of all edited objects.
    known: HashSet<String>,
    /// All steps with the indices of their objects; `None` for the steps that were taken.
    steps: Vec<Option<(usize, Step)>>,
    /// The priority, the discrepancy and the index of each remaining step, the smallest first.
    open: BinaryHeap<Reverse<(usize, usize, usize)>>,
}

impl<'s> Search<'s> {
    fn add(&mut self, judged: Judged<'s>, discrepancy: usize) {
        let priority = judged.wrong + discrepancy;
        self.objects.push(judged);
        self.push(priority, discrepancy, self.objects.len() - 1, Step::Ask(0));
    }

    fn push(&mut self, priority: usize, discrepancy: usize, index: usize, step: Step) {
        let nth = self.steps.len();
        self.open.push(Reverse((priority, discrepancy, nth)));
        self.steps.push(Some((index, step)));
    }
}

/// The alternatives of a rule with their discrepancies: the index in the list. If the first alternative only adds to the object, `wrong` is
/// added for each one that changes existing values.
fn ranked(alternatives: Vec<Plan>, wrong: usize) -> impl Iterator<Item = (usize, Plan)> {
    let adds = |plan: &Plan| plan.iter().all(edit::Edit::adds);
    let can_add = alternatives.first().is_some_and(adds);
    let alternatives = alternatives.into_iter().take(ALTERNATIVES).enumerate();
    alternatives.map(move |(nth, plan)| {
        let replaces = can_add && !adds(&plan);
        (nth + if replaces { wrong } else { 0 }, plan)
    })
}

impl<'s> Solver<'s> {
    /// The object as the API server would validate it.
    fn served(&self, mut object: Value) -> Value {
        if self.is_root {
            prune(self.schema, &mut object)
        } else {
            prune_part(self.schema, &mut object)
        };
        apply_defaults(self.schema, &mut object);
        object
    }

    fn broken(&self, object: &Value) -> Vec<Broken<'s>> {
        let mut broken = Vec::new();
        broken_at(
            self.schema,
            object,
            String::new(),
            self.is_root,
            &mut broken,
        );
        broken
    }

    fn is_solved(&self, object: &Value) -> bool {
        is_valid(self.schema, object) && self.broken(object).is_empty()
    }

    /// Searches for an object that satisfies the schema and all rules; `None` if no step or no budget remains.
    fn search(&self, start: Value) -> Option<Value> {
        let meter = Cell::new(COST);
        let mut search = Search::default();
        search.add(self.judged(start, &meter), 0);
        while let Some(Reverse((_, discrepancy, nth))) = search.open.pop() {
            if meter.get() == 0 {
                return None;
            }
            let (index, step) = search.steps[nth].take()?;
            let Judged {
                object,
                broken,
                wrong,
            } = &search.objects[index];
            let wrong = *wrong;
            match step {
                _ if wrong == 0 => return Some(object.clone()),
                Step::Ask(rule) => {
                    let mut plans = Vec::new();
                    if rule == 0 && !is_valid(self.schema, object) {
                        plans.extend(union::plans(self.schema, object).into_iter().enumerate());
                    }
                    if let Some(broken) = broken.get(rule) {
                        plans.extend(ranked(self.alternatives(broken, object, &meter), wrong));
                    }
                    let has_more = rule + 1 < broken.len().min(BROKEN);
                    for (more, plan) in plans {
                        let discrepancy = discrepancy + more;
                        search.push(wrong - 1 + discrepancy, discrepancy, index, Step::Try(plan));
                    }
                    if has_more {
                        let discrepancy = discrepancy + 1;
                        search.push(wrong + discrepancy, discrepancy, index, Step::Ask(rule + 1));
                    }
                }
                Step::Try(plan) => {
                    let mut edited = object.clone();
                    plan.iter()
                        .for_each(|edit| edit.apply(self.schema, &mut edited));
                    let edited = self.served(edited);
                    if search.known.insert(edited.to_string()) {
                        search.add(self.judged(edited, &meter), discrepancy);
                    }
                }
            }
        }
        None
    }

    /// Evaluates an object, and subtracts the cost from the budget `meter`.
    fn judged(&self, object: Value, meter: &Cell<usize>) -> Judged<'s> {
        let broken = self.broken(&object);
        let wrong = violations(self.schema, &object).len() + broken.len();
        meter.set(meter.get().saturating_sub(scene::size(&object)));
        Judged {
            object,
            broken,
            wrong,
        }
    }

    /// The edits of the object that would make a rule true.
    fn alternatives(&self, broken: &Broken<'_>, object: &Value, meter: &Cell<usize>) -> Vec<Plan> {
        let Some(value) = object.pointer(&broken.place) else {
            return Vec::new();
        };
        let rules = rules(broken.schema);
        let scene = Scene::new(broken.schema, value.clone(), broken.is_root, &rules, meter);
        let plans = demand::demand(&scene, &broken.rule, true, &[]);
        let moved = |plan: Plan| {
            plan.into_iter()
                .map(|edit| edit.below(&broken.place))
                .collect()
        };
        plans.into_iter().map(moved).collect()
    }

    /// Drops optional fields and items that the start did not have while the object stays valid.
    fn reduced(&self, object: Value, start: &Value, wanted: &[&str]) -> Value {
        let mut object = object;
        let defaulted = self.served(start.clone());
        let mut tries = 0;
        let mut open = VecDeque::from([(String::new(), self.schema)]);
        while let Some((place, schema)) = open.pop_front() {
            let parts: Vec<(String, &Schema, bool)> = match object.pointer(&place) {
                Some(Value::Object(map)) => {
                    let keys = map
                        .keys()
                        .filter(|key| !(place.is_empty() && *key == "metadata"));
                    let part = |key: &String| {
                        let is_kept = schema.required.contains(key)
                            || place.is_empty() && wanted.contains(&key.as_str());
                        Some((edit::member(&place, key), field(schema, key)?, !is_kept))
                    };
                    keys.filter_map(part).collect()
                }
                Some(Value::Array(items)) => {
                    let Some(each) = schema.items.as_deref() else {
                        continue;
                    };
                    (0..items.len())
                        .rev()
                        .map(|nth| (format!("{place}/{nth}"), each, true))
                        .collect()
                }
                _ => continue,
            };
            // the items of a default list are kept
            let before = match schema.type_.as_deref() {
                Some("array") => &defaulted,
                _ => start,
            };
            for (part, schema, is_optional) in parts {
                if is_optional && before.pointer(&part).is_none() && tries < DROPPED {
                    tries += 1;
                    let mut less = object.clone();
                    edit::Edit::Remove(part.clone()).apply(self.schema, &mut less);
                    if self.is_solved(&self.served(less.clone())) {
                        object = less;
                        continue;
                    }
                }
                open.push_back((part, schema));
            }
        }
        object
    }
}

/// Collects the broken rules of a value and of all values in it.
fn broken_at<'s>(
    schema: &'s Schema,
    value: &Value,
    place: String,
    is_root: bool,
    broken: &mut Vec<Broken<'s>>,
) {
    if value.is_null() || !has_rules(schema) {
        return;
    }
    if !schema.validations.is_empty() {
        let evaluation = Evaluation::new(schema, value, None, is_root);
        for rule in &schema.validations {
            if evaluation.of(rule, "").refusal.is_some()
                && let Ok(rule) = program(&rule.rule)
            {
                let place = place.clone();
                broken.push(Broken {
                    place,
                    schema,
                    is_root,
                    rule,
                });
            }
        }
    }
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                if let Some(field) = field(schema, key) {
                    broken_at(field, value, edit::member(&place, key), false, broken);
                }
            }
        }
        Value::Array(items) => {
            if let Some(each) = &schema.items {
                for (index, item) in items.iter().enumerate() {
                    broken_at(each, item, format!("{place}/{index}"), false, broken);
                }
            }
        }
        _ => {}
    }
}

/// The rules that apply to a new value.
fn rules(schema: &Schema) -> Vec<Rc<IdedExpr>> {
    let applies = |rule: &Rc<IdedExpr>, is_optional: bool| {
        is_optional || !rule.references().has_variable("oldSelf")
    };
    let parsed = schema.validations.iter().filter_map(|rule| {
        let parsed = program(&rule.rule).ok()?;
        applies(&parsed, rule.optional_old_self == Some(true)).then_some(parsed)
    });
    parsed.collect()
}
