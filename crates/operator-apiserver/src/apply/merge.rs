//! Merges an applied object into the live one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::path::PathElement;
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

/// Merges two lists as `visitListItems` of structured-merge-diff does, including the order of the result.
fn merge_items(left: &[Value], right: &[Value], items: Items<'_>, node: Node<'_>) -> Vec<Value> {
    let elements = |list: &[Value]| -> Vec<(PathElement, Value)> {
        list.iter()
            .filter_map(|item| Some((items.path_element(item).ok()?, item.clone())))
            .collect()
    };
    let (left, right) = (elements(left), elements(right));
    // an item that the live list has twice is replaced by the applied one instead of being merged
    let mut once: BTreeMap<&PathElement, Option<&Value>> = BTreeMap::new();
    for (element, item) in &left {
        once.entry(element)
            .and_modify(|found| *found = None)
            .or_insert(Some(item));
    }
    let in_left = |element: &PathElement| once.get(element).copied().flatten();
    let in_right: BTreeSet<&PathElement> = right.iter().map(|(element, _)| element).collect();
    let mut shared = right
        .iter()
        .map(|(element, _)| element)
        .filter(|element| once.contains_key(element))
        .peekable();
    let mut merged = Vec::new();
    let mut done: BTreeSet<&PathElement> = BTreeSet::new();
    let (mut l, mut r) = (0, 0);
    while l < left.len() || r < right.len() {
        if let (Some((left_element, left_item)), Some((right_element, right_item))) =
            (left.get(l), right.get(r))
        {
            if left_element == right_element {
                done.insert(left_element);
                let unique = in_left(left_element).map(|_| left_item);
                merged.extend(merge(unique, Some(right_item), node.at(left_element)));
                l += 1;
                r += 1;
                shared.next();
                continue;
            }
            if in_right.contains(left_element)
                && shared.peek().is_some_and(|next| *next != left_element)
            {
                l += 1;
                continue;
            }
        }
        if let Some((element, item)) = left.get(l) {
            if !in_right.contains(element) {
                merged.push(item.clone());
                l += 1;
                continue;
            }
            if done.contains(element) {
                l += 1;
            }
        }
        if let Some((element, item)) = right.get(r) {
            done.insert(element);
            merged.extend(merge(in_left(element), Some(item), node.at(element)));
            r += 1;
            if shared.peek() == Some(&element) {
                shared.next();
            }
        }
    }
    merged
}
