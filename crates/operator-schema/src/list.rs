//! Checks lists that are sets or maps for duplicate elements and keys.

use crate::default::field;
use crate::go::{json, shown};
use crate::path::enter;
use crate::{Reason, Schema, Violation};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Adds the duplicates in all lists with `x-kubernetes-list-type` `set` or `map` to `violations`.
pub(crate) fn check(
    schema: &Schema,
    value: &Value,
    path: &mut String,
    violations: &mut Vec<Violation>,
) {
    let length = path.len();
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let Some(field) = field(schema, key) else {
                    continue;
                };
                enter(path, schema, key);
                check(field, value, path, violations);
                path.truncate(length);
            }
        }
        Value::Array(items) => {
            match schema.list_type.as_deref() {
                Some("set") => duplicates(items, path, violations, |item| {
                    (identity(item), shown(item))
                }),
                Some("map") => check_keys(schema, items, path, violations),
                _ => {}
            }
            let Some(schema) = &schema.items else { return };
            for (index, item) in items.iter().enumerate() {
                path.push_str(&format!("[{index}]"));
                check(schema, item, path, violations);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

/// Whether `uniqueItems` is violated. Quadratic; therefore the API server rejects the keyword in new schemas.
pub(crate) fn has_equal_items(items: &[Value]) -> bool {
    items
        .iter()
        .enumerate()
        .any(|(index, item)| items[..index].contains(item))
}

fn check_keys(schema: &Schema, items: &[Value], path: &str, violations: &mut Vec<Violation>) {
    if let Some((index, item)) = items
        .iter()
        .enumerate()
        .find(|(_, item)| !item.is_object() && !item.is_null())
    {
        let text = "must be an object for an array of list-type map";
        let path = format!("{path}[{index}]");
        violations.push(Violation::new(Reason::Invalid, &path, shown(item), text));
        return;
    }
    let keys = |item: &Value| {
        schema
            .list_map_keys
            .iter()
            .filter_map(|key| Some((key.clone(), item.get(key)?.clone())))
            .collect::<Map<_, _>>()
    };
    duplicates(items, path, violations, |item| {
        let keys = keys(item);
        // A single key is compared by itself, so 1 and 1.0 differ. Several keys are compared as an object, in which they do not differ.
        let identity = match keys.values().next() {
            Some(key) if schema.list_map_keys.len() == 1 => identity(key),
            _ => String::new(),
        };
        let text = json(&Value::Object(keys));
        (format!("{identity} {text}"), text)
    });
}

/// Reports the second of the items with the same identity. `identified` returns the identity of an item, and its text in the message.
fn duplicates(
    items: &[Value],
    path: &str,
    violations: &mut Vec<Violation>,
    identified: impl Fn(&Value) -> (String, String),
) {
    let mut times = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        let (identity, text) = identified(item);
        let times = times.entry(identity).or_insert(0);
        *times += 1;
        if *times == 2 {
            violations.push(Violation::one(
                Reason::Duplicate,
                &format!("{path}[{index}]"),
                text,
            ));
        }
    }
}

/// The identity of an item, as the API server compares items. A number that is written with a fraction differs from one without.
fn identity(item: &Value) -> String {
    match item {
        Value::Number(number) if number.is_f64() => format!("float {}", json(item)),
        _ => json(item),
    }
}
