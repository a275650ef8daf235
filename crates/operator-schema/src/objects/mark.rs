//! Marks the goals that an object reaches.

use super::Edge;
use super::goal::{GoalKind, Id, Plan};
use crate::sample::accepts;
use crate::validate::is_same;
use crate::{Schema, apply_defaults};
use serde_json::Value;

impl Plan<'_> {
    pub(super) fn mark(&mut self, object: &Value) {
        self.mark_at(Self::ROOT, object);
    }

    fn mark_at(&mut self, id: Id, value: &Value) {
        let schema = self.nodes[id].schema;
        let mut defaulted = None;
        for index in 0..self.nodes[id].goals.len() {
            let goal = &self.nodes[id].goals[index];
            if goal.is_reached {
                continue;
            }
            let reaches = match goal.kind {
                GoalKind::Value => !value.is_null(),
                GoalKind::Enum(nth) => schema
                    .enum_
                    .as_ref()
                    .and_then(|allowed| allowed.get(nth))
                    .is_some_and(|allowed| is_same(value, allowed)),
                GoalKind::Branch { schema: branch, .. } => {
                    let value = defaulted.get_or_insert_with(|| with_defaults(schema, value));
                    accepts(&[branch], value)
                }
                GoalKind::Edge(edge) => edge.is_at(schema, value),
            };
            if reaches {
                self.reach(id, index);
            }
        }
        match value {
            Value::Object(map) => {
                for nth in 0..self.nodes[id].fields.len() {
                    let (key, field) = self.nodes[id].fields[nth];
                    match map.get(key) {
                        Some(value) => self.mark_at(field, value),
                        None => self.mark_absent(field),
                    }
                }
                if let Some(additional) = self.nodes[id].additional {
                    map.iter()
                        .filter(|(key, _)| !schema.properties.contains_key(*key))
                        .for_each(|(_, value)| self.mark_at(additional, value));
                }
            }
            Value::Array(values) => {
                if let Some(items) = self.nodes[id].items {
                    values.iter().for_each(|value| self.mark_at(items, value));
                }
            }
            _ => {}
        }
    }

    fn mark_absent(&mut self, id: Id) {
        let is_absent = |kind: &GoalKind<'_>| matches!(kind, GoalKind::Edge(Edge::Absent));
        let goals = &self.nodes[id].goals;
        if let Some(index) = goals.iter().position(|goal| is_absent(&goal.kind)) {
            self.reach(id, index);
        }
    }
}

fn with_defaults(schema: &Schema, value: &Value) -> Value {
    let mut value = value.clone();
    apply_defaults(schema, &mut value);
    value
}
