//! What of a status a controller sends: not the fields that others own and that it did not change.
//!
//! In: the wanted status, the one that was read and the newest one, and the fields of others, as in `fieldsV1`. Out: the fields to apply. A
//! field of a [map] or an item of a list with keys has an owner of its own; an atomic list has one owner as a whole. No I/O.
//!
//! [map]: https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy

use serde_json::{Map, Value};

use super::record::{is_associative, item_path, key, part};

/// How much of an item of a list with keys is sent of which another owns a part.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Items {
    /// All of it: a part would stay behind as an invalid item when the other removes its own.
    Whole,
    /// What the other does not own, for a comparison.
    Parts,
}

/// A field that is to be written was changed since it was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Changed;

/// A status that was read, and the newest one, which are the same unless a write has failed.
#[derive(Clone, Copy)]
pub(super) struct Versions<'a> {
    pub read: &'a Value,
    pub newest: &'a Value,
}

impl<'a> Versions<'a> {
    pub fn same(status: &'a Value) -> Self {
        Self {
            read: status,
            newest: status,
        }
    }

    fn map(self, find: impl Fn(&'a Value) -> Option<&'a Value>) -> Self {
        let find = |value| find(value).unwrap_or(&Value::Null);
        Self {
            read: find(self.read),
            newest: find(self.newest),
        }
    }
}

/// The part of `wanted` to send: without what is as it was read and what others own. `None` if that is nothing.
///
/// # Errors
/// If another has changed since the read what is to be sent.
pub(super) fn to_send(
    wanted: &Value,
    versions: Versions<'_>,
    others: Option<&Value>,
    items: Items,
) -> Result<Option<Value>, Changed> {
    let owned = others.and_then(Value::as_object);
    let is_unchanged = wanted == versions.read;
    match (owned, wanted) {
        (Some(parts), _) if is_unchanged && (parts.is_empty() || is_empty(wanted)) => Ok(None),
        (Some(parts), Value::Object(fields)) if !parts.is_empty() && !fields.is_empty() => {
            let mut sent = Map::new();
            for (name, value) in fields {
                let versions = versions.map(|status| status.get(name));
                let others = part(others, &format!("f:{name}"));
                if let Some(value) = to_send(value, versions, others, items)? {
                    sent.insert(name.clone(), value);
                }
            }
            Ok((!sent.is_empty()).then_some(Value::Object(sent)))
        }
        (Some(_), Value::Array(list)) if is_associative(others) => {
            let mut sent = vec![];
            for item in list {
                let versions = versions.map(|status| same_item(status, item, others));
                let others = item_path(others, item).and_then(|path| part(others, path));
                match (to_send(item, versions, others, items)?, items) {
                    (None, _) => {}
                    (Some(part), Items::Parts) => sent.push(part),
                    (Some(_), Items::Whole) if versions.read == versions.newest => {
                        sent.push(item.clone());
                    }
                    (Some(_), Items::Whole) => return Err(Changed),
                }
            }
            Ok((!sent.is_empty()).then_some(Value::Array(sent)))
        }
        _ if versions.read == versions.newest => Ok(Some(wanted.clone())),
        _ => Err(Changed),
    }
}

/// The item of a list in the status that has the key of `item`, or is equal if the items are their own keys.
fn same_item<'a>(list: &'a Value, item: &Value, others: Option<&Value>) -> Option<&'a Value> {
    let mut paths = others.and_then(Value::as_object)?.keys();
    let names = paths.find_map(|path| key(path));
    list.as_array()?.iter().find(|it| match &names {
        Some(names) => names.keys().all(|name| it[name] == item[name]),
        None => *it == item,
    })
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn condition(name: &str, status: &str) -> Value {
        json!({ "type": name, "status": status })
    }

    /// The status of an object in which another owns the condition `Backup` and the field `host`.
    fn read() -> Value {
        json!({
            "host": "a", "replicas": 1,
            "conditions": [condition("Backup", "True"), condition("Ready", "False")],
        })
    }

    fn others() -> Value {
        json!({
            "f:host": {},
            "f:conditions": {
                ".": {},
                "k:{\"type\":\"Backup\"}": { ".": {}, "f:type": {}, "f:status": {} },
            },
        })
    }

    fn sent(wanted: &Value, newest: &Value) -> Result<Option<Value>, Changed> {
        let read = read();
        let versions = Versions {
            read: &read,
            newest,
        };
        to_send(wanted, versions, Some(&others()), Items::Whole)
    }

    #[test]
    fn fields_of_others_are_sent_only_if_they_are_changed() {
        let ours = json!({ "replicas": 1, "conditions": [condition("Ready", "False")] });
        assert_eq!(sent(&read(), &read()), Ok(Some(ours)));
        let mut wanted = read();
        wanted["host"] = json!("b");
        wanted["conditions"][0]["status"] = json!("False");
        assert_eq!(sent(&wanted, &read()), Ok(Some(wanted)));
    }

    #[test]
    fn without_managed_fields_all_is_sent() {
        let read = read();
        let all = to_send(&read, Versions::same(&read), None, Items::Whole);
        assert_eq!(all, Ok(Some(read)));
    }

    #[test]
    fn an_item_of_which_another_owns_a_part_is_sent_whole() {
        let read = read();
        let others = json!({ "f:conditions": { "k:{\"type\":\"Ready\"}": { "f:status": {} } } });
        let sent = to_send(&read, Versions::same(&read), Some(&others), Items::Whole);
        assert_eq!(sent, Ok(Some(read.clone())));
        let compared = to_send(&read, Versions::same(&read), Some(&others), Items::Parts);
        let compared = compared.unwrap().unwrap();
        assert_eq!(compared["conditions"][1], json!({ "type": "Ready" }));
    }

    #[test]
    fn an_atomic_list_is_sent_whole_if_it_is_changed() {
        let others = json!({ "f:conditions": {} });
        let read = json!({ "conditions": [condition("Backup", "True")] });
        let send = |wanted: &Value| {
            to_send(wanted, Versions::same(&read), Some(&others), Items::Whole).unwrap()
        };
        assert_eq!(send(&read), None);
        let both =
            json!({ "conditions": [condition("Backup", "True"), condition("Ready", "True")] });
        assert_eq!(send(&both), Some(both));
    }

    #[test]
    fn values_that_are_their_own_keys_are_sent_without_those_of_others() {
        let others = json!({ "f:zones": { ".": {}, "v:\"a\"": {} } });
        let (read, wanted) = (json!({ "zones": ["a"] }), json!({ "zones": ["a", "b"] }));
        let sent = to_send(&wanted, Versions::same(&read), Some(&others), Items::Whole);
        assert_eq!(sent, Ok(Some(json!({ "zones": ["b"] }))));
    }

    #[test]
    fn a_change_of_another_since_the_read_matters_only_for_what_is_sent() {
        let mut wanted = read();
        wanted["conditions"][1] = condition("Ready", "True");
        let mut newest = read();
        newest["host"] = json!("b");
        newest["conditions"][0] = condition("Backup", "False");
        let ours = json!({ "replicas": 1, "conditions": [condition("Ready", "True")] });
        assert_eq!(sent(&wanted, &newest), Ok(Some(ours)));

        let mut changed = newest.clone();
        changed["conditions"][1] = condition("Ready", "Unknown");
        assert_eq!(sent(&wanted, &changed), Err(Changed));
        wanted["host"] = json!("c");
        assert_eq!(sent(&wanted, &newest), Err(Changed));
    }
}
