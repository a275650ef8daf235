//! Builds lists: with few items, which are distinct if required.

use super::goal::{GoalKind, Id};
use super::grow::Wanted;
use super::{Edge, Objects};
use crate::Schema;
use serde_json::{Value, json};

/// The maximum number of items that are built for goals; more of them would cover nothing new.
const LARGEST: usize = 3;

impl<'s> Objects<'s> {
    pub(super) fn array(&mut self, id: Id, wanted: &Wanted<'s>) -> Option<Value> {
        let least = Self::least(wanted, |it| it.min_items);
        let most = wanted.facets.iter().filter_map(|it| it.max_items).min();
        let most = most.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(0));
        let is_empty = matches!(wanted.goal, Some(GoalKind::Edge(Edge::Empty))) && least == 0;
        let Some(items) = self.plan.nodes[id].items.filter(|_| !is_empty && most > 0) else {
            return Some(json!([]));
        };
        let facets: Vec<_> = wanted
            .facets
            .iter()
            .filter_map(|it| it.items.as_deref())
            .collect();
        let more = match self.focus {
            Some(_) => 0,
            None => usize::from(self.dice.one_in(3)),
        };
        let count = least.max(1 + more).min(most).min(LARGEST);
        let mut grown = Vec::new();
        for _ in 0..count {
            grown.extend(self.grow(items, &facets));
        }
        let is_set = |it: &&Schema| it.list_type.as_deref().is_some_and(|it| it != "atomic");
        let distinct = wanted.facets.iter().any(is_set);
        if least > 1 && (distinct || least > LARGEST) {
            // the smallest list that satisfies the schemas, with its first item replaced by the one that was built for goals
            let Some(Value::Array(mut small)) = self.smallest(&wanted.roots) else {
                return None;
            };
            for (place, item) in small.iter_mut().zip(grown.into_iter().take(1)) {
                *place = item;
            }
            return Some(small.into());
        }
        if distinct && grown.len() > 1 && !self.is_accepted(&wanted.roots, &grown.clone().into()) {
            grown.truncate(1);
        }
        (grown.len() >= least).then(|| grown.into())
    }
}
