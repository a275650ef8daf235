//! [Strategic merge patch] of built-in kinds, with the merge keys that were recorded from the real server.
//!
//! [Strategic merge patch]: https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/

use std::mem::discriminant;

use serde_json::{Map, Value};

use crate::apply::Node;
use crate::go::{ANY_OBJECT, no_value_of, printed, type_of};
use crate::model::{Failure, Result};

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
/// The prefix of a directive with the order of a list.
const ORDER: &str = "$setElementOrder/";
/// The prefix of a directive with the scalars to delete from a list.
const DELETE: &str = "$deleteFromPrimitiveList/";

/// Applies the patch to the live object. Directives that were applied are removed from the patch, as messages of the real server show.
pub(crate) fn merge(live: &Value, patch: &mut Value, node: Node<'_>) -> Result<Value> {
    let live = live.as_object().cloned().unwrap_or_default();
    match patch {
        Value::Object(patch) => merge_fields(live, patch, node).map(Value::Object),
        Value::Null => Ok(live.into()),
        other => Err(Failure::bad_request(no_value_of(ANY_OBJECT, other))),
    }
}

/// Merges a patch into the fields of an object, and applies its directives.
fn merge_fields(
    mut live: Map<String, Value>,
    patch: &mut Map<String, Value>,
    node: Node<'_>,
) -> Result<Map<String, Value>> {
    match patch.get(PATCH).map(|directive| directive.as_str()) {
        None => {}
        Some(Some("replace")) => {
            patch.shift_remove(PATCH);
            return Ok(patch.clone());
        }
        Some(Some("delete")) => return Ok(Map::new()),
        Some(_) => return Err(unknown_directive(patch)),
    }
    retain(&mut live, patch)?;
    merge_ordered(&mut live, patch, node)?;
    for (name, value) in patch.iter_mut() {
        let (name, is_deletion) = match name.strip_prefix(DELETE) {
            Some(list) => (list, true),
            None => (name.as_str(), false),
        };
        if value.is_null() {
            live.shift_remove(name);
            continue;
        }
        let below = node.field(name);
        let new = match (live.shift_remove(name), &mut *value) {
            (None, _) if is_deletion => None,
            (Some(old), value) if is_deletion && discriminant(&old) != discriminant(value) => {
                Some(old)
            }
            (Some(Value::Object(old)), Value::Object(new)) => {
                Some(merge_fields(old, new, below)?.into())
            }
            (Some(Value::Array(old)), Value::Array(new)) => Some(match is_deletion {
                true => old.into_iter().filter(|item| !new.contains(item)).collect(),
                false if below.merges_lists() => {
                    Value::Array(merge_items(old, new.clone(), below)?)
                }
                false => Value::Array(new.clone()),
            }),
            (_, value) => {
                discard_nulls(value);
                taken(value)
            }
        };
        if let Some(new) = new {
            live.insert(name.to_owned(), new);
        }
    }
    Ok(live)
}

/// Keeps only the live fields that a `$retainKeys` list names, which must name all fields of the patch.
fn retain(live: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Result<()> {
    let Some(kept) = patch.shift_remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let refused = || Failure::bad_request("invalid patch format of retainKeys");
    let kept = kept.as_array().ok_or_else(refused)?;
    let is_kept = |name: &str| kept.iter().any(|kept| kept == name);
    let mut named = patch.iter().filter(|(name, value)| {
        !value.is_null() && !name.starts_with(DELETE) && !name.starts_with(ORDER)
    });
    if !named.all(|(name, _)| is_kept(name)) {
        return Err(refused());
    }
    live.retain(|name, _| is_kept(name));
    Ok(())
}

/// Merges the lists whose order the patch defines.
fn merge_ordered(
    live: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    node: Node<'_>,
) -> Result<()> {
    let orders: Vec<String> = patch
        .keys()
        .filter(|it| it.starts_with(ORDER))
        .cloned()
        .collect();
    for name in orders {
        let order = patch.shift_remove(&name).unwrap_or_default();
        let Some(order) = order.as_array() else {
            return Err(not_a_list(&order));
        };
        let field = name.trim_start_matches(ORDER);
        let list = |value: Option<&Value>| match value {
            Some(Value::Array(items)) => Ok(Some(items.clone())),
            Some(other) => Err(not_a_list(other)),
            None => Ok(None),
        };
        let (old, new) = (list(live.get(field))?, list(patch.get(field))?);
        let below = node.field(field);
        check_order(new.as_deref().unwrap_or_default(), order, below.merge_key())?;
        let merged = match (&old, new) {
            (None, None) => continue,
            (Some(old), None) => old.clone(),
            (None, Some(mut new)) => {
                new.retain_mut(without_directives);
                new
            }
            (Some(old), Some(new)) if below.merges_lists() => merge_items(old.clone(), new, below)?,
            (Some(_), Some(new)) => new,
        };
        let old = old.unwrap_or_default();
        let merged = sorted(&old, merged, order, below.merge_key())?;
        live.insert(field.to_owned(), Value::Array(merged));
        patch.shift_remove(field);
    }
    Ok(())
}

/// Checks that the items of a patch have the order that the patch defines.
fn check_order(items: &[Value], order: &[Value], key: Option<&str>) -> Result<()> {
    if items.is_empty() || order.is_empty() {
        return Ok(());
    }
    let id = |item: &Value| key.map_or_else(|| item.clone(), |key| item[key].clone());
    let mut left = order.iter();
    let mut ordered = items.iter().filter(|item| item.get(PATCH).is_none());
    if ordered.all(|item| left.any(|other| id(other) == id(item))) {
        Ok(())
    } else {
        Err(Failure::without_reason(format!(
            "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
            printed(&items.into()),
            printed(&order.into())
        )))
    }
}

/// Merges two lists by their merge key, or, without a merge key, as sets.
fn merge_items(mut live: Vec<Value>, patch: Vec<Value>, node: Node<'_>) -> Result<Vec<Value>> {
    let mut types = live.iter().chain(&patch).map(discriminant);
    let Some(first) = types.next() else {
        return Ok(live);
    };
    if types.any(|other| other != first) {
        let lists = printed(&Value::from(vec![live, patch]));
        let text = format!("list element types are not identical: {lists}");
        return Err(Failure::without_reason(text));
    }
    let Some(key) = node.merge_key() else {
        let mut merged = live.clone();
        for item in &patch {
            if !merged.contains(item) {
                merged.push(item.clone());
            }
        }
        return sorted(&live, merged, &patch, None);
    };
    let mut items = Vec::new();
    let mut is_replaced = false;
    for item in patch {
        match item.get(PATCH).map(|directive| directive.as_str()) {
            None => items.push(item),
            Some(Some("delete")) => {
                let id = item.get(key).ok_or_else(|| keyless(&item, key))?;
                live.retain(|other| other.get(key) != Some(id));
            }
            Some(Some("replace")) => is_replaced = true,
            Some(Some("merge")) => {
                let text = "merging lists cannot yet be specified in the patch";
                return Err(Failure::without_reason(text));
            }
            Some(_) => return Err(unknown_directive(item.as_object().unwrap_or(&Map::new()))),
        }
    }
    if is_replaced {
        return sorted(&items.clone(), items, &[], Some(key));
    }
    let mut merged = live.clone();
    for item in &items {
        let id = item.get(key).ok_or_else(|| keyless(item, key))?;
        match merged.iter_mut().find(|other| other.get(key) == Some(id)) {
            Some(old) => *old = merge(old, &mut item.clone(), node.item())?,
            None => merged.push(item.clone()),
        }
    }
    sorted(&live, merged, &items, Some(key))
}

/// Sorts the items as in the patch; items that the patch does not name keep their positions in the live list.
fn sorted(
    live: &[Value],
    merged: Vec<Value>,
    order: &[Value],
    key: Option<&str>,
) -> Result<Vec<Value>> {
    if let Some(key) = key
        && let Some(item) = merged
            .iter()
            .chain(order)
            .find(|item| item.get(key).is_none())
    {
        return Err(keyless(item, key));
    }
    let id = |item: &Value| key.map_or_else(|| item.clone(), |key| item[key].clone());
    let place = |list: &[Value], item: &Value| list.iter().position(|other| id(other) == id(item));
    let (mut named, mut others): (Vec<Value>, Vec<Value>) = merged
        .into_iter()
        .partition(|item| place(order, item).is_some());
    named.sort_by_cached_key(|item| place(order, item));
    // items with the same key become neighbors
    others.sort_by_cached_key(|item| place(live, item));
    let mut others = others.into_iter().peekable();
    let mut sorted = Vec::new();
    for item in named {
        let is_before = |other: &Value| {
            place(live, other)
                .zip(place(live, &item))
                .is_some_and(|(other, item)| other < item)
        };
        while let Some(other) = others.next_if(is_before) {
            sorted.push(other);
        }
        sorted.push(item);
    }
    sorted.extend(others);
    Ok(sorted)
}

/// The result of merging a value with nothing. A list in the patch itself does not change.
fn taken(value: &mut Value) -> Option<Value> {
    match value {
        Value::Array(items) => {
            let kept = items
                .iter_mut()
                .filter_map(|item| without_directives(item).then(|| item.clone()));
            Some(kept.collect())
        }
        value => without_directives(value).then(|| value.clone()),
    }
}

/// Removes the directives from a value that is merged with nothing. Returns whether the value contains anything else.
fn without_directives(value: &mut Value) -> bool {
    match value {
        Value::Object(fields) if fields.contains_key(PATCH) => return false,
        Value::Object(fields) => fields.retain(|_, value| without_directives(value)),
        Value::Array(items) => items.retain_mut(without_directives),
        _ => {}
    }
    true
}

/// Removes null fields from a value that the live object does not have.
fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(discard_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

fn keyless(item: &Value, key: &str) -> Failure {
    let item = printed(item);
    Failure::without_reason(format!(
        "map: {item} does not contain declared merge key: {key}"
    ))
}

fn unknown_directive(patch: &Map<String, Value>) -> Failure {
    let directive = match &patch[PATCH] {
        Value::Null => "%!s(<nil>)".to_owned(),
        Value::String(text) => text.clone(),
        // what Go's `%s` prints for a value that is not a string
        other => format!("%!s({}={})", type_of(other), printed(other)),
    };
    let shown = printed(&Value::Object(patch.clone()));
    Failure::without_reason(format!("unknown patch type: {directive} in map: {shown}"))
}

fn not_a_list(found: &Value) -> Failure {
    let type_ = type_of(found);
    Failure::without_reason(format!(
        "expected a []interface {{}}, but received a {type_}"
    ))
}
