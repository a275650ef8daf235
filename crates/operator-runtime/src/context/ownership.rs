//! Whether an apply would change anything, from the live object's
//! [managed fields](https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management).
//!
//! Our entry there lists the fields of our last apply, except for those that others have changed since. If these are exactly the desired
//! fields, with the same values, no apply is needed. No I/O.

use serde_json::{Map, Value};

use crate::engine::related::{is_applied_by, is_written_by};

/// The fields that `manager` owns because it applied the object itself, not a subresource; `None` if there are none.
pub(super) fn owned<'a>(live: &'a Value, manager: &str) -> Option<&'a Value> {
    let entries = live["metadata"]["managedFields"].as_array()?;
    let entry = entries.iter().find(|entry| is_applied_by(entry, manager))?;
    entry.get("fieldsV1")
}

/// The fields that `manager` owns by any writes of the object itself, not of a subresource; `None` if there are none. A create or replace
/// also owns the defaults that the API server added then.
pub(super) fn owned_by_any_write(live: &Value, manager: &str) -> Option<Value> {
    owned_in(live, |entry| is_written_by(entry, manager))
}

/// The fields that any manager owns; `None` if there are none.
pub(super) fn owned_by_any_manager(live: &Value) -> Option<Value> {
    owned_in(live, |_| true)
}

fn owned_in(live: &Value, is_wanted: impl Fn(&Value) -> bool) -> Option<Value> {
    let entries = live["metadata"]["managedFields"].as_array()?;
    entries
        .iter()
        .filter(|entry| is_wanted(entry))
        .filter_map(|entry| entry.get("fieldsV1"))
        .cloned()
        .reduce(union)
}

/// The fields that are in either set.
pub(super) fn union(mut fields: Value, others: Value) -> Value {
    if let (Some(fields), Value::Object(others)) = (fields.as_object_mut(), others) {
        for (path, parts) in others {
            let before = fields.remove(&path);
            let parts = match before {
                Some(before) => union(before, parts),
                None => parts,
            };
            fields.insert(path, parts);
        }
    }
    fields
}

/// Whether we own exactly the fields of `desired`, and `live` has their values.
pub(super) fn is_same(desired: &Value, owned: &Value, live: &Value) -> bool {
    // The kind, the name and the namespace identify the object; nobody owns them.
    let metadata = fields(&desired["metadata"], &["name", "namespace"]);
    let others = fields(desired, &["apiVersion", "kind", "metadata"]);
    let owned_metadata = &owned["f:metadata"];
    parts(owned).count() == others.len() + usize::from(!metadata.is_empty())
        && are_same(&others, owned, live)
        && (metadata.is_empty()
            || parts(owned_metadata).count() == metadata.len()
                && are_same(&metadata, owned_metadata, &live["metadata"]))
}

/// The fields of an object, except for some.
fn fields<'a>(object: &'a Value, except: &[&str]) -> Vec<(&'a String, &'a Value)> {
    object
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, _)| !except.contains(&name.as_str()))
        .collect()
}

/// The owned parts of a field, by their paths; not `.`, which stands for the field itself.
fn parts(owned: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let parts = owned.as_object().into_iter().flatten();
    parts.filter(|(path, _)| *path != ".")
}

fn are_same(fields: &[(&String, &Value)], owned: &Value, live: &Value) -> bool {
    fields.iter().all(|(name, value)| {
        let owned = owned.get(format!("f:{name}"));
        owned.is_some_and(|owned| is_same_field(value, owned, &live[name.as_str()]))
    })
}

fn is_same_field(desired: &Value, owned: &Value, live: &Value) -> bool {
    if !owned.is_object() {
        return false;
    }
    match (desired, parts(owned).count()) {
        // A field without parts is owned as a whole: a scalar, an atomic list or map, or an empty one.
        (_, 0) => is_equal(desired, live),
        (Value::Object(_), count) => {
            let fields = fields(desired, &[]);
            fields.len() == count && are_same(&fields, owned, live)
        }
        (Value::Array(items), count) => {
            items.len() == count
                && parts(owned).all(|(path, owned)| has_item(items, path, owned, live))
        }
        _ => false,
    }
}

/// Whether the item that `path` names is in `items`, and has the same value in the live list.
fn has_item(items: &[Value], path: &str, owned: &Value, live: &Value) -> bool {
    let live = live.as_array().map_or(&[][..], Vec::as_slice);
    if let Some(value) = path.strip_prefix("v:") {
        let Ok(value) = serde_json::from_str::<Value>(value) else {
            return false;
        };
        return items.contains(&value) && live.contains(&value);
    }
    let Some(Ok(key)) = path
        .strip_prefix("k:")
        .map(serde_json::from_str::<Map<String, Value>>)
    else {
        return false;
    };
    // A key that has a default, such as the protocol of a port, may be absent from what was sent.
    let wanted = items.iter().find(|item| {
        key.iter()
            .all(|(name, value)| item.get(name).is_none_or(|sent| sent == value))
    });
    let current = live
        .iter()
        .find(|item| key.iter().all(|(name, value)| item[name] == *value));
    match (wanted, current) {
        (Some(wanted), Some(current)) => is_same_field(wanted, owned, current),
        _ => false,
    }
}

/// Whether `live` equals `desired`. What the API server added within an atomic field cannot be distinguished from what we no longer send,
/// so it is a difference; the caller compares the hashes of its last apply then.
fn is_equal(desired: &Value, live: &Value) -> bool {
    match (desired, live) {
        // with an empty object, we own none of the entries that others add to it
        (Value::Object(desired), Value::Object(_)) if desired.is_empty() => true,
        (Value::Object(desired), Value::Object(live)) => {
            desired.len() == live.len()
                && desired
                    .iter()
                    .all(|(name, value)| live.get(name).is_some_and(|live| is_equal(value, live)))
        }
        (Value::Array(desired), Value::Array(live)) => {
            desired.len() == live.len()
                && desired
                    .iter()
                    .zip(live)
                    .all(|(desired, live)| is_equal(desired, live))
        }
        (Value::Number(desired), Value::Number(live)) => desired.as_f64() == live.as_f64(),
        _ => desired == live,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The live object after an apply of [`desired`]: with defaults, a sidecar and a status.
    fn live() -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "name": "a", "namespace": "b", "resourceVersion": "7",
                "labels": { "app": "a", "added": "by another" },
                "annotations": { "deployment.kubernetes.io/revision": "1" },
                "managedFields": [
                    { "manager": "operator", "operation": "Apply", "subresource": "status", "fieldsV1": {} },
                    { "manager": "operator", "operation": "Apply", "fieldsV1": {
                        "f:metadata": { "f:labels": { "f:app": {} }, "f:ownerReferences": { "k:{\"uid\":\"1\"}": {} } },
                        "f:spec": {
                            "f:replicas": {},
                            "f:selector": {},
                            "f:template": { "f:spec": { "f:containers": { "k:{\"name\":\"main\"}": {
                                ".": {}, "f:name": {}, "f:args": {},
                                "f:ports": { "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": { ".": {}, "f:containerPort": {} } },
                            } } } },
                        },
                    } },
                ],
            },
            "spec": {
                "replicas": 2, "strategy": { "type": "RollingUpdate" },
                "selector": { "matchLabels": { "app": "a" } },
                "template": { "spec": { "restartPolicy": "Always", "containers": [
                    { "name": "sidecar", "image": "x" },
                    { "name": "main", "args": ["-v"], "imagePullPolicy": "Always",
                      "ports": [{ "containerPort": 80, "protocol": "TCP" }] },
                ] } },
            },
            "status": { "replicas": 2 },
        })
        .pipe(|mut live: Value| {
            live["metadata"]["ownerReferences"] = json!([{ "uid": "1", "name": "o" }]);
            live
        })
    }

    trait Pipe: Sized {
        fn pipe(self, change: impl FnOnce(Self) -> Self) -> Self {
            change(self)
        }
    }
    impl Pipe for Value {}

    fn desired() -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "name": "a", "namespace": "b", "labels": { "app": "a" },
                "ownerReferences": [{ "uid": "1", "name": "o" }],
            },
            "spec": {
                "replicas": 2,
                "selector": { "matchLabels": { "app": "a" } },
                "template": { "spec": { "containers": [
                    { "name": "main", "args": ["-v"], "ports": [{ "containerPort": 80 }] },
                ] } },
            },
        })
    }

    fn unchanged(desired: &Value, live: &Value) -> bool {
        is_same(desired, owned(live, "operator").unwrap(), live)
    }

    #[test]
    fn an_unchanged_object_needs_no_apply() {
        assert!(unchanged(&desired(), &live()));
        assert_eq!(owned(&live(), "another"), None);
    }

    #[test]
    fn a_removed_key_of_an_atomic_map_needs_an_apply() {
        let mut live = live();
        live["spec"]["selector"]["matchLabels"]["old"] = json!("sent before");
        assert!(!unchanged(&desired(), &live));
    }

    #[test]
    fn changed_added_and_removed_fields_need_an_apply() {
        type Edit = fn(&mut Value);
        let edits: [(&str, Edit); 7] = [
            ("new value", |d| d["spec"]["replicas"] = json!(3)),
            ("new field", |d| d["spec"]["paused"] = json!(true)),
            ("new label", |d| {
                d["metadata"]["labels"]["tier"] = json!("x");
            }),
            ("dropped field", |d| {
                d["spec"].as_object_mut().unwrap().remove("replicas");
            }),
            ("another item", |d| {
                d["spec"]["template"]["spec"]["containers"]
                    .as_array_mut()
                    .unwrap()
                    .push(json!({ "name": "b" }));
            }),
            ("a longer atomic list", |d| {
                d["spec"]["template"]["spec"]["containers"][0]["args"] = json!(["-v", "-x"]);
            }),
            ("a value deep in an atomic map", |d| {
                d["spec"]["selector"]["matchLabels"]["app"] = json!("b");
            }),
        ];
        for (edit, change) in edits {
            let mut desired = desired();
            change(&mut desired);
            assert!(!unchanged(&desired, &live()), "{edit}");
        }
    }

    #[test]
    fn a_field_taken_by_another_manager_needs_an_apply() {
        let mut live = live();
        live["spec"]["replicas"] = json!(5);
        assert!(!unchanged(&desired(), &live), "the value differs");
        let owned = &mut live["metadata"]["managedFields"][1]["fieldsV1"]["f:spec"];
        owned.as_object_mut().unwrap().remove("f:replicas");
        live["spec"]["replicas"] = json!(2);
        assert!(!unchanged(&desired(), &live), "it is no longer ours");
    }
}
