//! The [JSON patch](https://datatracker.ietf.org/doc/html/rfc6902) from one JSON value to another. An item of a list that was inserted,
//! removed or moved is added or removed as a whole, and its neighbours are not touched.

use serde::Serialize;
use serde_json::Value;

use super::align::align;

/// An operation of a JSON patch.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(crate) enum Operation {
    Add { path: String, value: Value },
    Remove { path: String },
    Replace { path: String, value: Value },
}

/// The operations that change `old` into `new`.
pub(crate) fn diff(old: &Value, new: &Value) -> Vec<Operation> {
    let mut operations = vec![];
    compare("", old, new, &mut operations);
    operations
}

fn compare(path: &str, old: &Value, new: &Value, operations: &mut Vec<Operation>) {
    if old == new {
        return;
    }
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for name in old.keys().filter(|name| !new.contains_key(*name)) {
                let path = field(path, name);
                operations.push(Operation::Remove { path });
            }
            for (name, value) in new {
                let path = field(path, name);
                match old.get(name) {
                    Some(old) => compare(&path, old, value, operations),
                    None => operations.push(Operation::Add {
                        path,
                        value: value.clone(),
                    }),
                }
            }
        }
        (Value::Array(old), Value::Array(new)) if !old.is_empty() => {
            compare_lists(path, old, new, operations);
        }
        _ => operations.push(Operation::Replace {
            path: path.to_owned(),
            value: new.clone(),
        }),
    }
}

fn compare_lists(path: &str, old: &[Value], new: &[Value], operations: &mut Vec<Operation>) {
    let origins = in_order(align(old, new));
    let kept: Vec<_> = origins.iter().flatten().copied().collect();
    if kept.is_empty() {
        operations.push(Operation::Replace {
            path: path.to_owned(),
            value: new.into(),
        });
        return;
    }
    for index in (0..old.len()).rev() {
        if kept.binary_search(&index).is_err() {
            let path = format!("{path}/{index}");
            operations.push(Operation::Remove { path });
        }
    }
    // Invariant: the items before `index` are already as in `new`; from `index` on, they are the kept items of `old`.
    for (index, (item, origin)) in new.iter().zip(origins).enumerate() {
        let path = format!("{path}/{index}");
        match origin {
            Some(origin) => compare(&path, &old[origin], item, operations),
            None => operations.push(Operation::Add {
                path,
                value: item.clone(),
            }),
        }
    }
}

fn field(path: &str, name: &str) -> String {
    format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Keeps the longest ascending subsequence of the origins, by [patience sorting]; the other items have moved.
///
/// [patience sorting]: https://en.wikipedia.org/wiki/Longest_increasing_subsequence
fn in_order(mut origins: Vec<Option<usize>>) -> Vec<Option<usize>> {
    // For each length, the position of the lowest origin in which a subsequence of this length ends; for each position, the one before it.
    let mut ends: Vec<usize> = vec![];
    let mut previous = vec![None; origins.len()];
    for (position, origin) in origins.iter().enumerate() {
        if origin.is_some() {
            let length = ends.partition_point(|end| origins[*end] < *origin);
            previous[position] = length.checked_sub(1).map(|shorter| ends[shorter]);
            match ends.get_mut(length) {
                Some(end) => *end = position,
                None => ends.push(position),
            }
        }
    }
    let mut stays = vec![false; origins.len()];
    let mut last = ends.last().copied();
    while let Some(position) = last {
        stays[position] = true;
        last = previous[position];
    }
    for (origin, stays) in origins.iter_mut().zip(stays) {
        *origin = origin.filter(|_| stays);
    }
    origins
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(old: Value, new: Value, expected: Value) {
        let patch = serde_json::to_value(diff(&old, &new)).unwrap();
        assert_eq!(patch, expected);
        let mut patched = old;
        let patch: json_patch::Patch = serde_json::from_value(patch).unwrap();
        json_patch::patch(&mut patched, &patch).unwrap();
        assert_eq!(patched, new);
    }

    #[test]
    fn a_patch_touches_only_what_changed() {
        check(json!({"a": 1}), json!({"a": 1}), json!([]));
        check(
            json!({"a": 1, "b": null, "c/d~e": {"x": 1}}),
            json!({"a": null, "c/d~e": {"x": 2}, "f": []}),
            json!([
                {"op": "remove", "path": "/b"},
                {"op": "replace", "path": "/a", "value": null},
                {"op": "replace", "path": "/c~1d~0e/x", "value": 2},
                {"op": "add", "path": "/f", "value": []},
            ]),
        );
    }

    #[test]
    fn an_item_is_removed_inserted_or_moved_alone() {
        let list = || json!([{"name": "a", "v": 1}, {"name": "b"}, {"name": "c"}]);
        check(
            list(),
            json!([{"name": "b"}, {"name": "c"}]),
            json!([{"op": "remove", "path": "/0"}]),
        );
        check(
            list(),
            json!([{"name": "c"}, {"name": "a", "v": 2}, {"name": "b"}]),
            json!([
                {"op": "remove", "path": "/2"},
                {"op": "add", "path": "/0", "value": {"name": "c"}},
                {"op": "replace", "path": "/1/v", "value": 2},
            ]),
        );
        check(
            list(),
            json!([]),
            json!([{"op": "replace", "path": "", "value": []}]),
        );
    }

    #[test]
    fn the_longest_ascending_part_stays() {
        let origins =
            |list: &[i32]| -> Vec<_> { list.iter().map(|it| usize::try_from(*it).ok()).collect() };
        assert_eq!(in_order(origins(&[2, 0, -1, 1])), origins(&[-1, 0, -1, 1]));
        assert_eq!(
            in_order(origins(&[3, 4, 0, 1, 2, 5])),
            origins(&[-1, -1, 0, 1, 2, 5])
        );
        assert_eq!(in_order(origins(&[])), origins(&[]));
    }
}
