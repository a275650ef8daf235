//! [Strategic merge patch] of built-in kinds, with the keys that were recorded from the real server.
//!
//! [Strategic merge patch]: https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/

use serde_json::{Map, Value};

use super::apply::Node;
use super::go::printed;
use super::status::{Failure, Result};

/// The live object with the patch laid over it.
pub(crate) fn merge(live: &Value, patch: &Value, node: Node<'_>) -> Result<Value> {
    match (live, patch) {
        (Value::Object(live), Value::Object(patch)) => merge_fields(live, patch, node),
        (_, Value::Object(patch)) => merge_fields(&Map::new(), patch, node),
        // In a list that is replaced, directives say nothing.
        (_, Value::Array(items)) => {
            let is_kept =
                |item: &&Value| !matches!(item["$patch"].as_str(), Some("delete" | "replace"));
            let items = items.iter().filter(is_kept);
            Ok(items.cloned().collect())
        }
        (_, patch) => Ok(patch.clone()),
    }
}

fn merge_fields(
    live: &Map<String, Value>,
    patch: &Map<String, Value>,
    node: Node<'_>,
) -> Result<Value> {
    let mut merged = live.clone();
    match patch.get("$patch").and_then(Value::as_str) {
        Some("replace") => {
            let fields = patch.iter().filter(|(name, _)| *name != "$patch");
            return Ok(Value::Object(
                fields.map(|(k, v)| (k.clone(), v.clone())).collect(),
            ));
        }
        Some("delete") => return Ok(Value::Object(Map::new())),
        None => {}
        Some(other) => {
            let shown = printed(&Value::Object(patch.clone()));
            let text = format!("unknown patch type: {other} in map: {shown}");
            return Err(Failure::internal(text));
        }
    }
    if let Some(kept) = patch.get("$retainKeys").and_then(Value::as_array) {
        merged.retain(|name, _| kept.iter().any(|kept| kept == name));
    }
    for (name, value) in patch {
        if let Some(list) = name.strip_prefix("$deleteFromPrimitiveList/") {
            let gone = value.as_array().map_or(&[][..], Vec::as_slice);
            if let Some(Value::Array(items)) = merged.get_mut(list) {
                items.retain(|item| !gone.contains(item));
            }
            continue;
        }
        if name.starts_with('$') {
            continue;
        }
        let below = node.field(name);
        let live = merged.get(name).unwrap_or(&Value::Null);
        let new = match (live, value) {
            (_, Value::Null) => {
                merged.shift_remove(name);
                continue;
            }
            (_, Value::Array(items)) if below.merges_lists() => {
                let live = live.as_array().map_or(&[][..], Vec::as_slice);
                let order = patch.get(&format!("$setElementOrder/{name}"));
                let merged = merge_items(live, items, below)?;
                let order = order.and_then(Value::as_array).unwrap_or(items);
                ordered(live, merged, order, below.merge_key())
            }
            (live, value) => merge(live, value, below)?,
        };
        merged.insert(name.clone(), new);
    }
    Ok(Value::Object(merged))
}

/// The items in the order of the patch, those that it does not name where the live list has them.
fn ordered(live: &[Value], merged: Vec<Value>, order: &[Value], key: Option<&str>) -> Value {
    let id = |item: &Value| key.map_or_else(|| item.clone(), |key| item[key].clone());
    let place = |list: &[Value], item: &Value| list.iter().position(|other| id(other) == id(item));
    let (mut named, others): (Vec<Value>, Vec<Value>) = merged
        .into_iter()
        .partition(|item| place(order, item).is_some());
    named.sort_by_key(|item| place(order, item));
    let mut others = others.into_iter().peekable();
    let mut sorted = Vec::new();
    for item in named {
        let is_before = |other: &Value| {
            let places = place(live, other).zip(place(live, &item));
            places.is_some_and(|(other, item)| other < item)
        };
        while let Some(other) = others.next_if(is_before) {
            sorted.push(other);
        }
        sorted.push(item);
    }
    sorted.extend(others);
    sorted.into()
}

fn merge_items(live: &[Value], patch: &[Value], node: Node<'_>) -> Result<Vec<Value>> {
    let mut merged = live.to_vec();
    let Some(key) = node.merge_key() else {
        for item in patch {
            if !merged.contains(item) {
                merged.push(item.clone());
            }
        }
        return Ok(merged);
    };
    let directive = |item: &Value| item["$patch"].as_str().unwrap_or_default().to_owned();
    if patch.iter().any(|item| directive(item) == "replace") {
        let kept = patch.iter().filter(|item| directive(item) != "replace");
        return Ok(kept.cloned().collect());
    }
    for item in patch {
        let Some(id) = item.get(key) else {
            let text = format!(
                "map: {} does not contain declared merge key: {key}",
                printed(item)
            );
            return Err(Failure::internal(text));
        };
        let place = merged.iter().position(|other| other.get(key) == Some(id));
        match (place, directive(item).as_str()) {
            (Some(place), "delete") => drop(merged.remove(place)),
            (None, "delete") => {}
            (Some(place), _) => merged[place] = merge(&merged[place], item, node.item())?,
            (None, _) => merged.push(merge(&Value::Null, item, node.item())?),
        }
    }
    Ok(merged)
}
