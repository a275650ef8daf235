//! Builds objects with fields that the schema specifies, and with others if it preserves them.

use super::edge::{ODD_KEY, UNKNOWN, keeps_unknown};
use super::goal::{GoalKind, Id};
use super::grow::Wanted;
use super::{Edge, Objects};
use crate::Schema;
use crate::default::field;
use serde_json::{Map, Value, json};

impl<'s> Objects<'s> {
    pub(super) fn object(&mut self, id: Id, wanted: &Wanted<'s>) -> Value {
        let is_goal = |edge| matches!(wanted.goal, Some(GoalKind::Edge(it)) if it == edge);
        if is_goal(Edge::Empty) {
            return json!({});
        }
        let schema = self.plan.nodes[id].schema;
        if schema.type_.is_none() && self.focus.is_none() && self.dice.one_in(3) {
            return self.anything();
        }
        let mut map = Map::new();
        if schema.embedded_resource {
            map.insert("apiVersion".into(), "v1".into());
            map.insert("kind".into(), "Example".into());
            map.insert(
                "metadata".into(),
                json!({"name": "example", "labels": {"odd.key/with-dash": "on"}}),
            );
        }
        self.fields(id, wanted, &mut map);
        if keeps_unknown(schema) && (is_goal(Edge::Unknown) || self.dice.one_in(4)) {
            map.insert(UNKNOWN.into(), self.anything());
        }
        if let Some(additional) = self.plan.nodes[id].additional {
            let least = Self::least(wanted, |it| it.min_properties);
            let keys = if is_goal(Edge::OddKey) || self.dice.one_in(2) {
                [ODD_KEY, "example"]
            } else {
                ["example", ODD_KEY]
            };
            for key in keys.into_iter().take(least.max(1)) {
                let facets = facets(wanted, key);
                if let Some(value) = self.grow(additional, &facets) {
                    map.insert(key.to_owned(), value);
                }
            }
        }
        map.into()
    }

    /// Adds the required fields, those that lead to the focus or to open goals, and others at random.
    fn fields(&mut self, id: Id, wanted: &Wanted<'s>, map: &mut Map<String, Value>) {
        let is_required = |key: &str| {
            wanted
                .facets
                .iter()
                .any(|it| it.required.iter().any(|it| it == key))
        };
        for (key, field) in self.plan.nodes[id].fields.clone() {
            let is_wanted = match &self.focus {
                Some(focus) => focus.path.contains(&field) && !self.is_left_out(field),
                None => self.is_open(field) || self.dice.one_in(2),
            };
            if !(is_required(key) || is_wanted) || map.contains_key(key) {
                continue;
            }
            if let Some(value) = self.grow(field, &facets(wanted, key)) {
                map.insert(key.to_owned(), value);
            }
        }
        // The required fields that the node does not have: those without a property, and the type and metadata of the root.
        let required = wanted.facets.iter().flat_map(|it| &it.required);
        for key in required {
            if !map.contains_key(key)
                && let Some(value) = self.smallest(&facets(wanted, key))
            {
                map.insert(key.clone(), value);
            }
        }
    }

    /// Whether the goal is the absence of the field.
    fn is_left_out(&self, id: Id) -> bool {
        let Some(focus) = self.focus.as_ref().filter(|focus| focus.node == id) else {
            return false;
        };
        let goal = self.plan.nodes[id].goals[focus.goal].kind;
        matches!(goal, GoalKind::Edge(Edge::Absent))
    }

    /// Any JSON value.
    fn anything(&mut self) -> Value {
        match self.dice.below(4) {
            0 => json!("on"),
            1 => json!([1, "x", {"a": {}}]),
            2 => json!(1.25),
            _ => json!({"any": [1, "x", null, {"a": {}}], "kind": "Any"}),
        }
    }
}

/// The schemas that the field must satisfy.
fn facets<'s>(wanted: &Wanted<'s>, key: &str) -> Vec<&'s Schema> {
    wanted
        .facets
        .iter()
        .filter_map(|it| field(it, key))
        .collect()
}
