//! Builds a value for a node: picks a goal, builds a value for it, and removes what is invalid.

use super::goal::{GoalKind, Id};
use super::{Edge, Objects};
use crate::sample::{self, Facets, Kind, accepts, flatten, kind_of};
use crate::{Schema, violations};
use serde_json::{Map, Value};
use std::cmp::Reverse;

/// How often a goal is picked together with others before it is tried alone.
const TRIES: usize = 3;

/// The number of parts of a value whose check costs one unit of the budget.
const CHECKED_AT_ONCE: usize = 16;

/// The cost of each value that [`sample::smallest`] tries.
const SPENT_ON_SMALL: usize = 20;

/// The requirements for a value.
pub(super) struct Wanted<'s> {
    /// The schemas that the value must satisfy, the node's own schema first.
    pub(super) roots: Facets<'s>,
    /// The same, with all `allOf` schemas and the chosen branches.
    pub(super) facets: Facets<'s>,
    pub(super) goal: Option<GoalKind<'s>>,
}

impl<'s> Objects<'s> {
    /// A value that satisfies all `roots`; `None` if none was found or the budget is used up.
    pub(super) fn grow(&mut self, id: Id, roots: &[&'s Schema]) -> Option<Value> {
        self.budget = self.budget.checked_sub(1)?;
        let is_aside = |objects: &Self| {
            let focus = objects.focus.as_ref();
            focus.is_some_and(|focus| !focus.path.contains(&id))
        };
        if is_aside(self) {
            return self.smallest(roots);
        }
        let goal = self.pick(id);
        let schema = self.plan.nodes[id].schema;
        let given = match goal {
            Some(GoalKind::Enum(nth)) => {
                schema.enum_.as_ref().and_then(|all| all.get(nth)).cloned()
            }
            Some(GoalKind::Edge(Edge::Null)) => Some(Value::Null),
            _ => None,
        };
        if let Some(given) = given {
            if self.is_accepted(roots, &given) {
                return Some(given);
            }
            return self.smallest(roots);
        }
        let wanted = self.wanted(roots, goal);
        let value = match kind_of(&wanted.facets) {
            Kind::Object => self.object(id, &wanted),
            Kind::Array => self.array(id, &wanted)?,
            Kind::Scalar => return self.scalar(id, &wanted),
        };
        let restricts = |it: &&Schema| {
            !it.all_of.is_empty()
                || !it.any_of.is_empty()
                || !it.one_of.is_empty()
                || it.not.is_some()
                || it.min_properties.is_some()
                || it.max_properties.is_some()
                || it.enum_.is_some()
                || it.list_type.is_some()
                || !it.validations.is_empty()
        };
        let is_plain = roots.len() == 1 && !roots.iter().any(restricts);
        let lacks = |it: &&Schema| it.required.iter().any(|key| value.get(key).is_none());
        if is_plain && !roots.iter().any(lacks) || self.is_accepted(roots, &value) {
            return Some(value);
        }
        self.repair(id, &wanted, value)
    }

    /// Picks the goal of the focus, or an open goal, or any goal.
    fn pick(&mut self, id: Id) -> Option<GoalKind<'s>> {
        let goals = &mut self.plan.nodes[id].goals;
        if let Some(focus) = &self.focus {
            return (focus.node == id).then(|| goals[focus.goal].kind);
        }
        let here = goals.iter().filter(|goal| !goal.is_reached).count();
        let is_open_below = self.plan.nodes[id].open > here;
        let goals = &mut self.plan.nodes[id].goals;
        let suits = |kind: &GoalKind<'_>| match kind {
            GoalKind::Edge(Edge::Absent) => false,
            GoalKind::Edge(Edge::Empty | Edge::Null) => !is_open_below,
            _ => true,
        };
        let open = goals.iter_mut().find(|goal| {
            !goal.is_reached
                && goal.tries < TRIES
                && suits(&goal.kind)
                && !matches!(goal.kind, GoalKind::Value)
        });
        if let Some(goal) = open {
            goal.tries += 1;
            return Some(goal.kind);
        }
        let any = self.dice.below(goals.len());
        Some(goals[any].kind).filter(suits)
    }

    /// Chooses a branch of each union: that of the goal, or any.
    fn wanted(&mut self, roots: &[&'s Schema], goal: Option<GoalKind<'s>>) -> Wanted<'s> {
        let (mut roots, mut facets, mut open) = (roots.to_vec(), Vec::new(), Vec::new());
        for root in &roots {
            flatten(root, &mut facets, &mut open);
        }
        let mut nth = 0;
        while let Some(union) = open.get(nth).copied() {
            let branch = match goal {
                Some(GoalKind::Branch { union, index, .. }) if union == nth => index,
                _ => self.dice.below(union.len()),
            };
            roots.push(&union[branch]);
            flatten(&union[branch], &mut facets, &mut open);
            nth += 1;
        }
        Wanted {
            roots,
            facets,
            goal,
        }
    }

    /// Whether the value satisfies all schemas; records the violations.
    pub(super) fn is_accepted(&mut self, roots: &[&Schema], value: &Value) -> bool {
        self.budget = self
            .budget
            .saturating_sub(1 + size(value) / CHECKED_AT_ONCE);
        let is_accepted = accepts(roots, value);
        if !is_accepted && self.focus.is_some() {
            let violations = roots.iter().flat_map(|root| violations(root, value));
            self.refused = violations.collect();
        }
        is_accepted
    }

    /// A small value that satisfies all schemas.
    pub(super) fn smallest(&mut self, roots: &[&Schema]) -> Option<Value> {
        if self.budget == 0 {
            return None;
        }
        let (value, spent) = sample::smallest(roots);
        self.budget = self.budget.saturating_sub(spent * SPENT_ON_SMALL);
        value
    }

    /// The smallest valid value, with all parts of `value` that can be added to it.
    fn repair(&mut self, id: Id, wanted: &Wanted<'s>, value: Value) -> Option<Value> {
        let roots = &wanted.roots;
        let base = self
            .smallest(roots)
            .or_else(|| self.smallest(&roots[..1]))?;
        let checked: Vec<&Schema> = if accepts(roots, &base) {
            roots.clone()
        } else {
            vec![roots[0]]
        };
        match (base, value) {
            (Value::Object(mut base), Value::Object(value)) => {
                let mut fields: Vec<_> = value.into_iter().collect();
                fields.retain(|(key, value)| base.get(key) != Some(value));
                // if not all fields fit, those with the most open goals are added first
                let open = |key: &str| self.plan.field(id, key).map_or(0, |it| it.open);
                fields.sort_by_key(|(key, _)| Reverse(open(key)));
                self.merge(&checked, &mut base, &fields);
                Some(base.into())
            }
            (Value::Array(mut base), Value::Array(mut items)) => {
                if items.is_empty() {
                    return Some(base.into());
                }
                let first = items.swap_remove(0);
                let shorter = base.clone();
                match base.first_mut() {
                    Some(place) => *place = first,
                    None => base.push(first),
                }
                let base = Value::Array(base);
                if self.is_accepted(&checked, &base) {
                    Some(base)
                } else {
                    Some(shorter.into())
                }
            }
            (base, _) => Some(base),
        }
    }

    /// Adds the parts that keep the value valid, by bisection.
    fn merge(
        &mut self,
        roots: &[&Schema],
        base: &mut Map<String, Value>,
        fields: &[(String, Value)],
    ) {
        if fields.is_empty() || self.budget == 0 {
            return;
        }
        let mut both = base.clone();
        both.extend(fields.iter().cloned());
        let both = Value::Object(both);
        if self.is_accepted(roots, &both) {
            if let Value::Object(both) = both {
                *base = both;
            }
        } else if fields.len() > 1 {
            let (left, right) = fields.split_at(fields.len() / 2);
            self.merge(roots, base, left);
            self.merge(roots, base, right);
        }
    }

    /// Whether the node or a node below has open goals.
    pub(super) fn is_open(&self, id: Id) -> bool {
        let node = &self.plan.nodes[id];
        let absent = node
            .goals
            .iter()
            .find(|goal| !goal.is_reached && matches!(goal.kind, GoalKind::Edge(Edge::Absent)));
        node.open > usize::from(absent.is_some())
    }

    /// The strictest lower bound of all schemas, such as `minItems`.
    pub(super) fn least(wanted: &Wanted<'_>, bound: fn(&Schema) -> Option<i64>) -> usize {
        sample::most_of(&wanted.facets, bound)
    }
}

/// The number of values that a value consists of.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(size).sum::<usize>(),
        _ => 1,
    }
}
