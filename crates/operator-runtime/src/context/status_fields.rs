//! What of a status a controller sends: not the fields that others own and that it did not change.
//!
//! In: the wanted status, the one that was read and the newest one, and who owns which fields. Out: the fields to apply. A field of a
//! [map] or an item of a list with keys has an owner of its own; an atomic list has one owner as a whole. No I/O.
//!
//! [map]: https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde_json::{Map, Value};

use super::{
    ownership::union,
    record::{is_associative, item_path, key, part},
};

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

/// Three states of a status. The last two are the same unless a write was refused.
#[derive(Clone, Copy)]
pub(super) struct Versions<'a> {
    /// The one that the caller was given, which may be older than what its last write returned.
    pub given: &'a Value,
    pub read: &'a Value,
    pub newest: &'a Value,
}

impl<'a> Versions<'a> {
    fn map(self, find: impl Fn(&'a Value) -> Option<&'a Value>) -> Self {
        let find = |value| find(value).unwrap_or(&Value::Null);
        Self {
            given: find(self.given),
            read: find(self.read),
            newest: find(self.newest),
        }
    }
}

/// The fields of a status, as in `fieldsV1`, that a controller owns, and those that others own, by any operation.
#[derive(Clone, Debug, Default)]
pub(super) struct Owners {
    own: Value,
    others: Value,
}

impl Owners {
    pub fn of(entries: &[ManagedFieldsEntry], manager: &str) -> Self {
        let (own, others): (Vec<_>, Vec<_>) = entries
            .iter()
            .partition(|entry| entry.manager.as_deref() == Some(manager));
        let merge = |entries: Vec<&ManagedFieldsEntry>| {
            let fields = |entry: &ManagedFieldsEntry| {
                let fields = &entry.fields_v1.as_ref()?.0;
                fields.get("f:status").cloned()
            };
            let none = Value::Object(Map::new());
            entries
                .into_iter()
                .filter_map(fields)
                .reduce(union)
                .unwrap_or(none)
        };
        Self {
            own: merge(own),
            others: merge(others),
        }
    }

    /// Whether no other manager owns a field.
    pub fn is_ours_alone(&self) -> bool {
        self.others.as_object().is_none_or(Map::is_empty)
    }

    /// The part of `wanted` to send: without what is as the caller was given it or as it was read, and not ours alone. `None` if that is
    /// nothing.
    ///
    /// # Errors
    /// If another has changed since the read what is to be sent.
    pub fn to_send(
        &self,
        wanted: &Value,
        versions: Versions<'_>,
        items: Items,
    ) -> Result<Option<Value>, Changed> {
        if self.is_ours_alone() {
            return send_whole(wanted, versions);
        }
        let (own, others) = (Some(&self.own), Some(&self.others));
        to_send(wanted, versions, (own, others), items)
    }
}

fn send_whole(wanted: &Value, versions: Versions<'_>) -> Result<Option<Value>, Changed> {
    if versions.read == versions.newest {
        Ok(Some(wanted.clone()))
    } else {
        Err(Changed)
    }
}

/// The same for a part of the status; `owners` are ours and those of others in it.
fn to_send(
    wanted: &Value,
    versions: Versions<'_>,
    owners: (Option<&Value>, Option<&Value>),
    items: Items,
) -> Result<Option<Value>, Changed> {
    let (own, others) = owners;
    let is_unchanged = wanted == versions.given || wanted == versions.read;
    // what nobody owns is a default, also of an item of another
    if is_unchanged && own.is_none() {
        return Ok(None);
    }
    if others.is_none() {
        return send_whole(wanted, versions);
    }
    let of = |path: &str| (part(own, path), part(others, path));
    // a list or map that was empty when it was set has no parts, even if it has some now
    let has_any = |test: fn(&Value) -> bool| [own, others].into_iter().flatten().any(test);
    let has_parts = |owned: &Value| {
        owned
            .as_object()
            .is_some_and(|it| it.keys().any(|it| it != "."))
    };
    let is_granular = has_any(has_parts);
    let is_keyed = has_any(|owned| is_associative(Some(owned)));
    match wanted {
        Value::Object(fields) if is_granular => {
            let mut sent = Map::new();
            for (name, value) in fields {
                let versions = versions.map(|status| status.get(name));
                let owners = of(&format!("f:{name}"));
                if let Some(value) = to_send(value, versions, owners, items)? {
                    sent.insert(name.clone(), value);
                }
            }
            Ok((!sent.is_empty()).then_some(Value::Object(sent)))
        }
        Value::Array(list) if is_keyed => {
            let mut sent = vec![];
            for item in list {
                let versions = versions.map(|status| same_item(status, item, owners));
                let part_of = |owned| item_path(owned, item).and_then(|path| part(owned, path));
                let owners = (part_of(own), part_of(others));
                match (to_send(item, versions, owners, items)?, items) {
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
        _ if is_unchanged => Ok(None),
        _ => send_whole(wanted, versions),
    }
}

/// The item of a list in the status that has the key of `item`, or is equal if the items are their own keys.
fn same_item<'a>(
    list: &'a Value,
    item: &Value,
    (own, others): (Option<&Value>, Option<&Value>),
) -> Option<&'a Value> {
    let mut paths = [own, others]
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
        .flat_map(Map::keys);
    let names = paths.find_map(|path| key(path));
    list.as_array()?.iter().find(|it| match &names {
        Some(names) => names.keys().all(|name| it[name] == item[name]),
        None => *it == item,
    })
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

    fn owners(own: Value, others: Value) -> Owners {
        Owners { own, others }
    }

    fn of_backup() -> Owners {
        let own = json!({
            "f:replicas": {},
            "f:conditions": { "k:{\"type\":\"Ready\"}": { ".": {}, "f:type": {}, "f:status": {} } },
        });
        let others = json!({
            "f:host": {},
            "f:conditions": {
                ".": {},
                "k:{\"type\":\"Backup\"}": { ".": {}, "f:type": {}, "f:status": {} },
            },
        });
        owners(own, others)
    }

    fn same(status: &Value) -> Versions<'_> {
        Versions {
            given: status,
            read: status,
            newest: status,
        }
    }

    fn sent(wanted: &Value, newest: &Value) -> Result<Option<Value>, Changed> {
        let read = read();
        let versions = Versions {
            given: &read,
            read: &read,
            newest,
        };
        of_backup().to_send(wanted, versions, Items::Whole)
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
        let none = owners(json!({}), json!({}));
        assert_eq!(
            none.to_send(&read, same(&read), Items::Whole),
            Ok(Some(read.clone()))
        );
    }

    #[test]
    fn what_the_caller_was_given_is_not_its_change_although_it_is_older() {
        let given = read();
        let mut newest = read();
        newest["conditions"][0] = condition("Backup", "False");
        let versions = Versions {
            given: &given,
            ..same(&newest)
        };
        let sent = of_backup().to_send(&given, versions, Items::Whole);
        let ours = json!({ "replicas": 1, "conditions": [condition("Ready", "False")] });
        assert_eq!(sent, Ok(Some(ours)));
    }

    #[test]
    fn an_item_of_which_another_owns_a_part_is_sent_whole() {
        let read = json!({ "conditions": [condition("Ready", "True")] });
        let own =
            json!({ "f:conditions": { "k:{\"type\":\"Ready\"}": { ".": {}, "f:type": {} } } });
        let others = json!({ "f:conditions": { "k:{\"type\":\"Ready\"}": { "f:status": {} } } });
        let shared = owners(own, others);
        let sent = |items| shared.to_send(&read, same(&read), items).unwrap();
        assert_eq!(sent(Items::Whole), Some(read.clone()));
        let part = json!({ "conditions": [{ "type": "Ready" }] });
        assert_eq!(sent(Items::Parts), Some(part));
    }

    #[test]
    fn an_item_of_another_is_left_to_it_with_the_defaults_that_nobody_owns() {
        let read = json!({ "ports": [{ "port": 80, "protocol": "TCP" }], "size": 1 });
        let path = r#"k:{"port":80,"protocol":"TCP"}"#;
        let others = json!({ "f:ports": { path: { ".": {}, "f:port": {} } } });
        let sent =
            owners(json!({ "f:size": {} }), others).to_send(&read, same(&read), Items::Whole);
        assert_eq!(sent, Ok(Some(json!({ "size": 1 }))));
    }

    #[test]
    fn a_list_that_another_set_when_it_was_empty_keeps_our_items() {
        let read = json!({ "conditions": [condition("Ready", "True")] });
        let path = r#"k:{"type":"Ready"}"#;
        let own = json!({ "f:conditions": { path: { ".": {}, "f:type": {}, "f:status": {} } } });
        let shared = owners(own, json!({ "f:conditions": {} }));
        let sent = shared.to_send(&read, same(&read), Items::Whole);
        assert_eq!(sent, Ok(Some(read.clone())));
    }

    #[test]
    fn an_atomic_list_is_sent_whole_if_it_is_changed() {
        let of_list = owners(json!({}), json!({ "f:conditions": {} }));
        let read = json!({ "conditions": [condition("Backup", "True")] });
        let send = |wanted: &Value| of_list.to_send(wanted, same(&read), Items::Whole).unwrap();
        assert_eq!(send(&read), None);
        let both =
            json!({ "conditions": [condition("Backup", "True"), condition("Ready", "True")] });
        assert_eq!(send(&both), Some(both));
    }

    #[test]
    fn values_that_are_their_own_keys_are_sent_without_those_of_others() {
        let others = json!({ "f:zones": { ".": {}, r#"v:"a\u0026b""#: {} } });
        let (read, wanted) = (
            json!({ "zones": ["a&b"] }),
            json!({ "zones": ["a&b", "c"] }),
        );
        let sent = owners(json!({}), others).to_send(&wanted, same(&read), Items::Whole);
        assert_eq!(sent, Ok(Some(json!({ "zones": ["c"] }))));
    }

    #[test]
    fn an_empty_status_sends_nothing() {
        let read = json!({ "host": "a" });
        let sent = of_backup().to_send(&json!({}), same(&read), Items::Parts);
        assert_eq!(sent, Ok(None));
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
