//! Merges an applied object into the live one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::path::Step;
use super::shape::{Items, Node, Shape};

/// Merges the applied value into the live one. Items of the applied list keep their order; items of the live list keep their positions
/// between them.
pub(crate) fn merge(
    live: Option<&Value>,
    applied: Option<&Value>,
    node: Node<'_>,
) -> Option<Value> {
    let shaped = applied
        .filter(|value| !value.is_null())
        .or(live)
        .or(applied)?;
    match node.shape(shaped) {
        Shape::Fields => {
            let (left, right) = (
                live.and_then(Value::as_object),
                applied.and_then(Value::as_object),
            );
            let empty = |side: Option<&Map<String, Value>>| side.is_none_or(Map::is_empty);
            if empty(left) && empty(right) {
                return applied.or(live).cloned();
            }
            let mut merged = Map::new();
            for (name, value) in left.into_iter().flatten() {
                let other = right.and_then(|right| right.get(name));
                if let Some(value) = merge(Some(value), other, node.field(name)) {
                    merged.insert(name.clone(), value);
                }
            }
            for (name, value) in right.into_iter().flatten() {
                if !merged.contains_key(name)
                    && let Some(value) = merge(None, Some(value), node.field(name))
                {
                    merged.insert(name.clone(), value);
                }
            }
            Some(Value::Object(merged))
        }
        Shape::Items(items) => {
            let left = live
                .and_then(Value::as_array)
                .map_or(&[][..], Vec::as_slice);
            let right = applied
                .and_then(Value::as_array)
                .map_or(&[][..], Vec::as_slice);
            match (left, right) {
                ([], []) => applied.or(live).cloned(),
                _ => Some(Value::Array(merge_items(left, right, items, node))),
            }
        }
        Shape::Leaf => applied.or(live).cloned(),
    }
}

fn merge_items(left: &[Value], right: &[Value], items: Items<'_>, node: Node<'_>) -> Vec<Value> {
    let steps = |list: &[Value]| -> Vec<(Step, Value)> {
        list.iter()
            .filter_map(|item| Some((items.step(item).ok()?, item.clone())))
            .collect()
    };
    let (left, right) = (steps(left), steps(right));
    // An item that the live list has twice is not merged with the applied one.
    let mut once: BTreeMap<&Step, Option<&Value>> = BTreeMap::new();
    for (step, item) in &left {
        once.entry(step)
            .and_modify(|found| *found = None)
            .or_insert(Some(item));
    }
    let in_left = |step: &Step| once.get(step).copied().flatten();
    let in_right: BTreeSet<&Step> = right.iter().map(|(step, _)| step).collect();
    let mut shared = right
        .iter()
        .map(|(step, _)| step)
        .filter(|step| once.contains_key(step))
        .peekable();
    let mut merged = Vec::new();
    let mut done: BTreeSet<&Step> = BTreeSet::new();
    let (mut l, mut r) = (0, 0);
    while l < left.len() || r < right.len() {
        if let (Some((left_step, left_item)), Some((right_step, right_item))) =
            (left.get(l), right.get(r))
        {
            if left_step == right_step {
                done.insert(left_step);
                let unique = in_left(left_step).map(|_| left_item);
                merged.extend(merge(unique, Some(right_item), node.at(left_step)));
                l += 1;
                r += 1;
                shared.next();
                continue;
            }
            if in_right.contains(left_step) && shared.peek().is_some_and(|next| *next != left_step)
            {
                l += 1;
                continue;
            }
        }
        if let Some((step, item)) = left.get(l) {
            if !in_right.contains(step) {
                merged.push(item.clone());
                l += 1;
                continue;
            }
            if done.contains(step) {
                l += 1;
            }
        }
        if let Some((step, item)) = right.get(r) {
            done.insert(step);
            merged.extend(merge(in_left(step), Some(item), node.at(step)));
            r += 1;
            if shared.peek() == Some(&step) {
                shared.next();
            }
        }
    }
    merged
}
