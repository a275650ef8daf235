//! Finds for each item of a list the item of an earlier list that it comes from.
//!
//! In: two lists. Out: for each new item, the index of the old one that was kept, moved or changed, or `None` for an inserted one. No old
//! item is returned twice.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

/// Fields that may identify the items of a list, as in Kubernetes' [lists of maps], in the order in which they are tried. An item must have
/// the first field; that another one is absent counts as a value.
///
/// [lists of maps]: https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy
const KEYS: [&[&str]; 14] = [
    &["name", "namespace"],
    &["containerPort", "protocol"],
    &["port", "protocol"],
    &["key"],
    &["mountPath"],
    &["devicePath"],
    &["ip"],
    &["uid"],
    &["id"],
    &["type"],
    &["topologyKey", "whenUnsatisfiable"],
    &["path"],
    &["host"],
    &["url"],
];

/// The origin of each item of `new`.
pub(super) fn align(old: &[Value], new: &[Value]) -> Vec<Option<usize>> {
    let mut origins = vec![None; new.len()];
    let mut is_used = vec![false; old.len()];
    match_equal(old, new, &mut origins, &mut is_used);
    for key in KEYS {
        if is_used.iter().all(|used| *used) {
            break;
        }
        match_key(key, old, new, &mut origins, &mut is_used);
    }
    match_places(&mut origins, &mut is_used);
    origins
}

/// Matches equal items, in order.
fn match_equal(old: &[Value], new: &[Value], origins: &mut [Option<usize>], is_used: &mut [bool]) {
    let mut places: HashMap<&Value, VecDeque<usize>> = HashMap::new();
    for (index, item) in old.iter().enumerate() {
        places.entry(item).or_default().push_back(index);
    }
    for (origin, item) in origins.iter_mut().zip(new) {
        *origin = places.get_mut(item).and_then(VecDeque::pop_front);
        if let Some(index) = *origin {
            is_used[index] = true;
        }
    }
}

/// Matches items with the same key, if no two items of the same list have it.
fn match_key(
    key: &[&str],
    old: &[Value],
    new: &[Value],
    origins: &mut [Option<usize>],
    is_used: &mut [bool],
) {
    let (old_indices, new_indices) = (unique(key, old), unique(key, new));
    for (value, index) in new_indices {
        let Some(index) = index.filter(|index| origins[*index].is_none()) else {
            continue;
        };
        let same = old_indices.get(&value).copied().flatten();
        if let Some(origin) = same.filter(|origin| !is_used[*origin]) {
            origins[index] = Some(origin);
            is_used[origin] = true;
        }
    }
}

/// The index of each key; `None` if several items have it.
fn unique<'a>(key: &[&str], items: &'a [Value]) -> HashMap<Vec<&'a Value>, Option<usize>> {
    let mut indices = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        let is_set =
            |value: &Value| !matches!(value, Value::Null | Value::Array(_) | Value::Object(_));
        if item.get(key[0]).is_some_and(is_set) {
            let value: Vec<_> = key
                .iter()
                .map(|field| item.get(field).unwrap_or(&Value::Null))
                .collect();
            indices
                .entry(value)
                .and_modify(|index| *index = None)
                .or_insert(Some(index));
        }
    }
    indices
}

/// Matches the new items between two matched ones, if as many old items are unmatched at that place: they were changed in place.
fn match_places(origins: &mut [Option<usize>], is_used: &mut [bool]) {
    let mut start = 0;
    while start < origins.len() {
        if origins[start].is_some() {
            start += 1;
            continue;
        }
        let count = origins[start..]
            .iter()
            .take_while(|it| it.is_none())
            .count();
        let end = start + count;
        let first = start
            .checked_sub(1)
            .and_then(|index| origins[index])
            .map_or(0, |index| index + 1);
        let last = origins.get(end).copied().flatten().unwrap_or(is_used.len());
        let following = is_used[first..].iter().take_while(|used| !**used);
        let preceding = is_used[..last].iter().rev().take_while(|used| !**used);
        let begin = if following.count() == count {
            Some(first)
        } else {
            (preceding.count() == count).then(|| last - count)
        };
        if let Some(begin) = begin {
            for offset in 0..count {
                origins[start + offset] = Some(begin + offset);
                is_used[begin + offset] = true;
            }
        }
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(old: Value, new: Value, expected: &[Option<usize>]) {
        let (Value::Array(old), Value::Array(new)) = (old, new) else {
            panic!("no lists");
        };
        assert_eq!(align(&old, &new), expected, "{old:?} {new:?}");
    }

    #[test]
    fn kept_moved_removed_and_inserted_items_are_found() {
        let list = json!(["a", "b", "c"]);
        check(list.clone(), json!(["b", "c"]), &[Some(1), Some(2)]);
        check(
            list.clone(),
            json!(["c", "a", "b"]),
            &[Some(2), Some(0), Some(1)],
        );
        check(
            list.clone(),
            json!(["x", "a", "b", "c"]),
            &[None, Some(0), Some(1), Some(2)],
        );
        check(
            list.clone(),
            json!(["b", "c", "d"]),
            &[Some(1), Some(2), None],
        );
        check(list, json!([]), &[]);
        check(
            json!(["a", "a"]),
            json!(["a", "a", "a"]),
            &[Some(0), Some(1), None],
        );
    }

    #[test]
    fn a_changed_item_is_found_by_its_key() {
        let old = json!([{"name": "a", "v": 1}, {"name": "b", "v": 1}]);
        check(
            old.clone(),
            json!([{"name": "b", "v": 2}, {"name": "a", "v": 2}]),
            &[Some(1), Some(0)],
        );
        check(
            old,
            json!([{"name": "c"}, {"name": "b", "v": 2}, {"name": "d"}]),
            &[Some(0), Some(1), None],
        );
        let ports = json!([{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]);
        check(
            ports,
            json!([{"port": 53, "protocol": "UDP", "name": "x"}]),
            &[Some(1)],
        );
    }

    #[test]
    fn a_key_that_two_items_have_identifies_none() {
        let old = json!([{"type": "x", "v": 1}, {"type": "x", "v": 2}, {"type": "y", "v": 3}]);
        check(old, json!([{"type": "x", "v": 4}]), &[None]);
    }

    #[test]
    fn an_item_between_the_same_neighbors_was_changed_in_place() {
        let old = json!([{"name": "a"}, {"name": "b"}, {"name": "c"}]);
        check(
            old.clone(),
            json!([{"name": "a"}, {"name": "x"}, {"name": "c"}]),
            &[Some(0), Some(1), Some(2)],
        );
        check(
            old.clone(),
            json!([{"name": "x"}, {"name": "c"}]),
            &[None, Some(2)],
        );
        check(
            old,
            json!([{"name": "c"}, {"name": "x"}, {"name": "y"}]),
            &[Some(2), None, None],
        );
    }
}
