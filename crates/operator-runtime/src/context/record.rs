//! What is recorded on a child that is not written by server-side apply, and what follows from it. No io.
//!
//! The API server adds defaults to a child, writes values in another form (`1000m` as `1`), and admission adds containers and volumes; a
//! comparison of a child with what was sent would find all of that. So the child carries a hash of what was sent, and
//! [managed fields](https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management) show which of the sent fields
//! another has changed since: whoever changes a field takes it from us.

use serde_json::{Map, Value, json};

/// The annotations of a child that hold the record.
pub(super) struct Annotations {
    /// A hash of what was sent.
    pub hash: String,
    /// The fields that were sent, without their values; for children that are replaced.
    pub fields: String,
}

impl Annotations {
    pub fn of(operator: &str) -> Self {
        Self {
            hash: format!("{operator}/desired-hash"),
            fields: format!("{operator}/desired-fields"),
        }
    }
}

/// The keys by which the items of a list are told apart, the first one that all of them have.
const KEYS: [&str; 9] = [
    "uid",
    "name",
    "key",
    "mountPath",
    "devicePath",
    "containerPort",
    "port",
    "ip",
    "type",
];

/// A hash of the content of a child, the same in every process and for every version of its kind.
pub(super) fn hash(desired: &Value) -> String {
    let mut content = desired.clone();
    if let Some(object) = content.as_object_mut() {
        object.retain(|name, _| !["apiVersion", "kind"].contains(&name.as_str()));
    }
    if let Some(metadata) = content["metadata"].as_object_mut() {
        // whose child it is stands in the reference, whose version may change
        metadata.remove("ownerReferences");
    }
    let mut state = 0xcbf2_9ce4_8422_2325;
    fold(&content, &mut state);
    format!("{state:016x}")
}

/// [FNV-1a](http://www.isthe.com/chongo/tech/comp/fnv/) over the value with its keys in order, whatever order the map keeps.
fn fold(value: &Value, state: &mut u64) {
    match value {
        Value::Object(fields) => {
            feed("{", state);
            let mut names: Vec<_> = fields.keys().collect();
            names.sort();
            for name in names {
                feed(name, state);
                fold(&fields[name], state);
            }
            feed("}", state);
        }
        Value::Array(items) => {
            feed("[", state);
            items.iter().for_each(|item| fold(item, state));
            feed("]", state);
        }
        // a string is in quotes, and so differs from a number
        scalar => feed(&scalar.to_string(), state),
    }
}

fn feed(text: &str, state: &mut u64) {
    for byte in text.bytes().chain([0]) {
        *state = (*state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
}

/// The fields of `desired`, as objects whose values are objects.
pub(super) fn fields(desired: &Value) -> Value {
    match desired {
        Value::Object(object) => {
            let fields = object
                .iter()
                .map(|(name, value)| (name.clone(), fields(value)));
            Value::Object(fields.collect())
        }
        Value::Array(items) => {
            let key = KEYS.iter().find(|key| are_distinct(items, key));
            let named = key.map(|key| {
                let named = items
                    .iter()
                    .map(|item| (item_name(item, key), fields(item)));
                named.collect::<Map<_, _>>()
            });
            Value::Object(named.unwrap_or_default())
        }
        _ => json!({}),
    }
}

/// Whether all items are objects with this key, and no two have the same value.
fn are_distinct(items: &[Value], key: &str) -> bool {
    let values: Vec<_> = items.iter().map(|item| item.get(key)).collect();
    let is_first = |index: usize| !values[..index].contains(&values[index]);
    values.iter().all(Option::is_some) && (0..values.len()).all(is_first)
}

/// `name="main"`
fn item_name(item: &Value, key: &str) -> String {
    format!("{key}={}", item[key])
}

/// The object to replace `live` with: what is `desired`, and what others have set. A field or an item of `sent`, the [`fields`] that were
/// sent before, is left out if it is not desired any more.
pub(super) fn replacement(live: &Value, desired: &Value, sent: &Value) -> Value {
    match (live, desired) {
        (Value::Object(live), Value::Object(desired)) => {
            let mut merged = desired.clone();
            for (name, value) in live {
                let sent = sent.get(name);
                let kept = match (merged.get(name), sent) {
                    (Some(desired), _) => replacement(value, desired, sent.unwrap_or(&Value::Null)),
                    (None, None) => value.clone(),
                    (None, Some(sent)) => match (value, without(value, sent)) {
                        (Value::Object(_), Some(rest)) => rest,
                        _ => continue,
                    },
                };
                merged.insert(name.clone(), kept);
            }
            Value::Object(merged)
        }
        (Value::Array(live), Value::Array(desired)) => {
            let is_key = |key: &&&str| are_distinct(live, key) && are_distinct(desired, key);
            let Some(key) = KEYS.iter().find(is_key) else {
                return Value::Array(desired.clone());
            };
            let merge = |item: &Value| {
                let before = live.iter().find(|live| live[key] == item[key]);
                let sent = sent.get(item_name(item, key)).unwrap_or(&Value::Null);
                before.map_or_else(|| item.clone(), |live| replacement(live, item, sent))
            };
            let of_others = live.iter().filter(|item| {
                let is_desired = desired.iter().any(|desired| desired[key] == item[key]);
                !is_desired && !was_sent(item, sent)
            });
            let items = desired.iter().map(merge).chain(of_others.cloned());
            Value::Array(items.collect())
        }
        _ => desired.clone(),
    }
}

/// What remains of an object without the fields that were sent; `None` if nothing does.
fn without(live: &Value, sent: &Value) -> Option<Value> {
    let rest = replacement(live, &json!({}), sent);
    let is_empty = rest.as_object().is_none_or(Map::is_empty);
    (!is_empty).then_some(rest)
}

/// Whether the item of a list was among those that were sent.
fn was_sent(item: &Value, sent: &Value) -> bool {
    let mut keys = KEYS.iter().filter(|key| item.get(**key).is_some());
    keys.any(|key| sent.get(item_name(item, key)).is_some())
}

/// Whether nobody has changed a field of `desired` in `live` since it was sent. `owned` is the entry of the managed fields that our
/// creates and replacements have.
pub(super) fn is_untouched(desired: &Value, owned: Option<&Value>, live: &Value) -> bool {
    if desired == live {
        return true;
    }
    let Some(owned) = owned.and_then(Value::as_object) else {
        return false;
    };
    if owned.is_empty() {
        // owned as a whole: nobody else has written any of it
        return true;
    }
    match desired {
        Value::Object(fields) => fields.iter().all(|(name, value)| {
            is_untouched(value, owned.get(&format!("f:{name}")), &live[name.as_str()])
        }),
        Value::Array(items) => items.iter().all(|item| {
            let live = live.as_array().map_or(&[][..], Vec::as_slice);
            live.contains(item)
                || owned
                    .iter()
                    .any(|(path, owned)| is_item_untouched(item, path, owned, live))
        }),
        _ => true,
    }
}

/// Whether `path` names the item of a list, and that is untouched.
fn is_item_untouched(item: &Value, path: &str, owned: &Value, live: &[Value]) -> bool {
    let Some(key) = path.strip_prefix("k:") else {
        return path.strip_prefix("v:") == Some(&item.to_string());
    };
    let Ok(key) = serde_json::from_str::<Map<String, Value>>(key) else {
        return false;
    };
    // a key that has a default, as a port's protocol, may be absent from what was sent
    let is_named = |(name, value): (&String, &Value)| item.get(name).is_none_or(|it| it == value);
    let live = live
        .iter()
        .find(|live| key.iter().all(|(name, value)| live[name] == *value));
    key.iter().all(is_named) && live.is_some_and(|live| is_untouched(item, Some(owned), live))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service() -> Value {
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": { "name": "a", "labels": { "app": "a" } },
            "spec": { "selector": { "app": "a" }, "ports": [{ "name": "http", "port": 80 }] },
        })
    }

    #[test]
    fn the_hash_is_that_of_the_content() {
        let with = |change: fn(&mut Value)| {
            let mut service = service();
            change(&mut service);
            hash(&service)
        };
        let same = with(|_| ());
        assert_eq!(same, "061e334a2191927f", "it must be the same for ever");
        assert_eq!(same, with(|it| it["apiVersion"] = json!("v2")));
        let owned = |it: &mut Value| it["metadata"]["ownerReferences"] = json!([{ "uid": "1" }]);
        assert_eq!(same, with(owned));
        assert_ne!(
            same,
            with(|it| it["metadata"]["labels"]["app"] = json!("b"))
        );
        assert_ne!(
            same,
            with(|it| it["spec"]["ports"][0]["port"] = json!("80"))
        );
        assert_ne!(same, with(|it| it["spec"]["ports"] = json!([])));
    }

    #[test]
    fn the_order_of_keys_does_not_change_the_hash() {
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let hashes = [
            r#"{"a":1,"b":{"c":[],"d":"x"}}"#,
            r#"{"b":{"d":"x","c":[]},"a":1}"#,
        ];
        let [one, other] = hashes.map(|text| hash(&read(text)));
        assert_eq!(one, other);
        assert_ne!(
            hash(&read(r#"{"a":{"b":1}}"#)),
            hash(&read(r#"{"a":{},"b":1}"#))
        );
    }

    #[test]
    fn a_replacement_keeps_what_the_server_has_allocated() {
        let live = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {
                "name": "a", "uid": "1", "resourceVersion": "7", "labels": { "app": "a", "team": "x" },
                "finalizers": ["example.com/other"],
            },
            "spec": {
                "clusterIP": "10.0.0.1", "selector": { "app": "a", "old": "sent before" }, "type": "ClusterIP",
                "ports": [
                    { "name": "http", "port": 80, "nodePort": 30001, "protocol": "TCP" },
                    { "name": "gone", "port": 81, "protocol": "TCP" },
                    { "name": "added", "port": 82, "protocol": "TCP" },
                ],
            },
        });
        let mut before = service();
        before["spec"]["selector"]["old"] = json!("sent before");
        before["spec"]["ports"] =
            json!([{ "name": "http", "port": 80 }, { "name": "gone", "port": 81 }]);
        before["metadata"]["labels"]["was"] = json!("ours");
        let mut desired = service();
        desired["spec"]["ports"][0]["port"] = json!(8080);
        let replaced = replacement(&live, &desired, &fields(&before));
        assert_eq!(replaced["spec"]["clusterIP"], "10.0.0.1");
        assert_eq!(replaced["spec"]["selector"], json!({ "app": "a" }));
        assert_eq!(
            replaced["spec"]["ports"],
            json!([
                { "name": "http", "port": 8080, "nodePort": 30001, "protocol": "TCP" },
                { "name": "added", "port": 82, "protocol": "TCP" },
            ])
        );
        assert_eq!(
            replaced["metadata"]["labels"],
            json!({ "app": "a", "team": "x" })
        );
        assert_eq!(
            replaced["metadata"]["finalizers"],
            json!(["example.com/other"])
        );
        assert_eq!(replaced["metadata"]["resourceVersion"], "7");
    }

    #[test]
    fn a_field_that_is_no_longer_desired_goes_with_its_last_part() {
        let live = json!({ "spec": { "limits": { "cpu": "1", "added": "2" }, "affinity": { "a": { "b": 1 } } } });
        let sent = fields(
            &json!({ "spec": { "limits": { "cpu": "1" }, "affinity": { "a": { "b": 1 } } } }),
        );
        let replaced = replacement(&live, &json!({ "spec": {} }), &sent);
        assert_eq!(replaced, json!({ "spec": { "limits": { "added": "2" } } }));
    }

    #[test]
    fn a_list_without_keys_is_replaced_as_a_whole() {
        let (live, desired) = (json!({ "args": ["-a", "-b"] }), json!({ "args": ["-c"] }));
        assert_eq!(replacement(&live, &desired, &json!({})), desired);
    }

    /// As the API server has a pod after its creation: with defaults, another form of a value, and a sidecar.
    fn pod() -> (Value, Value, Value) {
        let desired = json!({
            "metadata": { "labels": { "app": "a" } },
            "spec": { "containers": [{ "name": "main", "args": ["-v"], "resources": { "limits": { "cpu": "1000m" } } }] },
        });
        let live = json!({
            "metadata": { "labels": { "app": "a" } },
            "spec": { "restartPolicy": "Always", "containers": [
                { "name": "sidecar", "image": "x" },
                { "name": "main", "args": ["-v"], "imagePullPolicy": "Always", "resources": { "limits": { "cpu": "1" } } },
            ] },
        });
        let owned = json!({
            "f:metadata": { "f:labels": { ".": {}, "f:app": {} } },
            "f:spec": { "f:restartPolicy": {}, "f:containers": {
                "k:{\"name\":\"sidecar\"}": { ".": {}, "f:name": {}, "f:image": {} },
                "k:{\"name\":\"main\"}": {
                    ".": {}, "f:name": {}, "f:args": {}, "f:imagePullPolicy": {},
                    "f:resources": { "f:limits": { ".": {}, "f:cpu": {} } },
                },
            } },
        });
        (desired, owned, live)
    }

    #[test]
    fn what_the_server_and_admission_add_touches_nothing() {
        let (desired, owned, live) = pod();
        assert!(is_untouched(&desired, Some(&owned), &live));
    }

    #[test]
    fn a_field_that_another_has_changed_is_touched() {
        let (desired, owned, live) = pod();
        let pointers = [
            ("/metadata/labels/app", "/f:metadata/f:labels", "f:app"),
            (
                "/spec/containers/1/resources/limits/cpu",
                "/f:spec/f:containers/k:{\"name\":\"main\"}/f:resources/f:limits",
                "f:cpu",
            ),
            (
                "/spec/containers/1/args",
                "/f:spec/f:containers/k:{\"name\":\"main\"}",
                "f:args",
            ),
        ];
        for (value, owner, field) in pointers {
            let (mut owned, mut live) = (owned.clone(), live.clone());
            *live.pointer_mut(value).unwrap() = json!("changed");
            let owner = owned.pointer_mut(owner).unwrap();
            owner.as_object_mut().unwrap().remove(field);
            assert!(!is_untouched(&desired, Some(&owned), &live), "{value}");
        }
        assert!(
            !is_untouched(&desired, None, &live),
            "the entry was removed"
        );
    }

    #[test]
    fn an_item_that_another_has_removed_is_touched() {
        let (desired, mut owned, mut live) = pod();
        live["spec"]["containers"].as_array_mut().unwrap().pop();
        let containers = owned["f:spec"]["f:containers"].as_object_mut().unwrap();
        containers.remove("k:{\"name\":\"main\"}");
        assert!(!is_untouched(&desired, Some(&owned), &live));
    }
}
