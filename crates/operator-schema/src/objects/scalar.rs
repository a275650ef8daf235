//! Builds strings, numbers and booleans.

use super::Objects;
use super::goal::{GoalKind, Id};
use super::grow::Wanted;
use crate::sample::{accepts, scalar::candidates};
use serde_json::Value;

/// Strings that YAML parsers and writers often get wrong, and other unusual ones.
const ODD: [&str; 12] = [
    "on",
    "1e3",
    "0x1F",
    "null",
    "~",
    " ",
    "# no",
    "a: b",
    "two\nlines\n",
    "é😀",
    "\"'",
    "12:30:00",
];

impl<'s> Objects<'s> {
    pub(super) fn scalar(&mut self, id: Id, wanted: &Wanted<'s>) -> Option<Value> {
        let node = &self.plan.nodes[id];
        let (schema, name) = (node.schema, node.name);
        if let Some(GoalKind::Edge(edge)) = wanted.goal
            && let Some(value) = edge.value(schema, &wanted.facets)
            && self.is_accepted(&wanted.roots, &value)
        {
            return Some(value);
        }
        let mut pool = candidates(&wanted.facets, name);
        let values = wanted.facets.iter().filter_map(|it| it.enum_.as_ref());
        pool.extend(values.flatten().filter(|it| !it.is_null()).cloned());
        if pool.iter().any(Value::is_string) && self.dice.one_in(2) {
            pool.splice(0..0, ODD.map(Value::from));
        }
        let first = self.dice.below(pool.len().min(ODD.len() * 2));
        let tried = pool.iter().skip(first).chain(pool.iter().take(first));
        let accepted = tried.into_iter().find(|it| accepts(&wanted.roots, it));
        if accepted.is_none()
            && let Some(some) = pool.first()
        {
            // only records the violations
            self.is_accepted(&wanted.roots, some);
        }
        accepted.cloned()
    }
}
