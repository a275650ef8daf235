//! For children that are written without server-side apply: the hash of the sent content, which is kept in an annotation, and the
//! comparison of a live child with the desired one. No I/O.
//!
//! The API server adds defaults to a child and stores values in another form (`1000m` as `1`), and admission adds containers and volumes. A
//! comparison of the child with the sent content would find all these differences. So the child has an annotation with a hash of the sent
//! content, and [managed fields](https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management) show which fields are
//! ours: those that we sent and their defaults, except for those that another has changed since. Fields that the API server allocates, and
//! those that admission adds, are not in them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::stable_hash::stable_hash;

/// The annotation of a child with the hash of the content that was sent.
pub(super) fn annotation(operator: &str) -> String {
    format!("{operator}/desired-hash")
}

/// A hash of the content of a child, the same in every process and for every version of its kind.
pub(super) fn hash(desired: &Value) -> String {
    let mut content = desired.clone();
    if let Some(object) = content.as_object_mut() {
        object.retain(|name, _| !["apiVersion", "kind"].contains(&name.as_str()));
    }
    if let Some(metadata) = content.get_mut("metadata").and_then(Value::as_object_mut) {
        // the version of the owner's kind may change
        metadata.remove("ownerReferences");
    }
    stable_hash(&text(&content))
}

/// The value as text with sorted keys, because the order of a map depends on a feature of serde_json. Each part ends with a NUL.
fn text(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<_, _> = fields.iter().collect();
            let fields = fields
                .into_iter()
                .map(|(name, value)| format!("{name}\0{}", text(value)));
            format!("{{\0{}}}\0", fields.collect::<String>())
        }
        Value::Array(items) => {
            format!("[\0{}]\0", items.iter().map(text).collect::<String>())
        }
        // a string is in quotes, and so differs from a number
        scalar => format!("{scalar}\0"),
    }
}

/// The managed fields of a value: those of this controller, and those of all managers.
#[derive(Clone, Copy)]
pub(super) struct Managed<'a> {
    pub ours: Option<&'a Value>,
    pub all: Option<&'a Value>,
}

impl Managed<'_> {
    fn part(self, path: &str) -> Self {
        Self {
            ours: part(self.ours, path),
            all: part(self.all, path),
        }
    }

    /// Whether the value has one owner: a scalar, or an atomic list or map. A map of which others own all entries looks so in our fields.
    fn is_atomic(self) -> bool {
        self.all
            .and_then(Value::as_object)
            .is_some_and(Map::is_empty)
    }
}

/// The object with which to replace `live`: the `desired` fields, and the fields that are not ours.
pub(super) fn replacement(live: &Value, desired: &Value, managed: Managed<'_>) -> Value {
    if managed.is_atomic() {
        return desired.clone();
    }
    match (live, desired) {
        (Value::Object(live), Value::Object(desired)) => {
            let mut merged = desired.clone();
            for (name, value) in live {
                let managed = managed.part(&format!("f:{name}"));
                let kept = match merged.get(name) {
                    Some(Value::Array(desired)) if name == "finalizers" => {
                        with_other_finalizers(desired, value)
                    }
                    Some(desired) => replacement(value, desired, managed),
                    None => match without_ours(value, managed) {
                        Some(rest) => rest,
                        None => continue,
                    },
                };
                merged.insert(name.clone(), kept);
            }
            Value::Object(merged)
        }
        (Value::Array(live), Value::Array(desired)) if is_associative(managed.all) => {
            let mut items: Vec<Value> = desired.clone();
            for item in live {
                let path = item_path(managed.all, item);
                let is_same = |desired: &Value| match path.and_then(key) {
                    Some(key) => key.iter().all(|(name, value)| {
                        desired.get(name).is_none_or(|desired| desired == value)
                    }),
                    None => desired == item,
                };
                let managed = managed.part(path.unwrap_or_default());
                match items.iter_mut().find(|desired| is_same(desired)) {
                    Some(desired) => *desired = replacement(item, desired, managed),
                    // others own this item, for example a container that admission has added
                    None if managed.ours.is_none() => items.push(item.clone()),
                    // ours, and no longer desired
                    None => {}
                }
            }
            Value::Array(items)
        }
        _ => desired.clone(),
    }
}

/// Keeps the finalizers of others, so that a replacement does not remove them.
fn with_other_finalizers(desired: &[Value], live: &Value) -> Value {
    let live = live.as_array().into_iter().flatten();
    let others = live.filter(|name| !desired.contains(name));
    Value::Array(desired.iter().chain(others).cloned().collect())
}

/// The parts of a value that are not ours; `None` if there are none.
fn without_ours(live: &Value, managed: Managed<'_>) -> Option<Value> {
    if managed.ours.is_none() {
        return Some(live.clone());
    }
    match live {
        Value::Object(fields) if !managed.is_atomic() => {
            let rest: Map<_, _> = fields
                .iter()
                .filter_map(|(name, value)| {
                    let rest = without_ours(value, managed.part(&format!("f:{name}")))?;
                    Some((name.clone(), rest))
                })
                .collect();
            (!rest.is_empty()).then_some(Value::Object(rest))
        }
        Value::Array(items) if is_associative(managed.all) => {
            let rest = items
                .iter()
                .filter(|item| item_path(managed.ours, item).is_none());
            let rest: Vec<_> = rest.cloned().collect();
            (!rest.is_empty()).then_some(Value::Array(rest))
        }
        _ => None,
    }
}

pub(super) fn part<'a>(owned: Option<&'a Value>, path: &str) -> Option<&'a Value> {
    owned?.as_object()?.get(path)
}

/// Whether the items of a list have managers of their own.
pub(super) fn is_associative(owned: Option<&Value>) -> bool {
    owned
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::keys)
        .any(|path| path.starts_with("k:") || path.starts_with("v:"))
}

/// The path among our managed fields that names the item of a list in the cluster.
pub(super) fn item_path<'a>(owned: Option<&'a Value>, item: &Value) -> Option<&'a str> {
    owned?
        .as_object()?
        .keys()
        .find(|path| match key(path) {
            Some(key) => key.iter().all(|(name, value)| item[name] == *value),
            None => {
                let value = path.strip_prefix("v:").map(serde_json::from_str);
                matches!(value, Some(Ok::<Value, _>(value)) if value == *item)
            }
        })
        .map(String::as_str)
}

/// The key of a path `k:{"name":"main"}`.
pub(super) fn key(path: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(path.strip_prefix("k:")?).ok()
}

/// Whether nobody has changed a field of `desired` in `live` since it was sent. `owned` are our managed fields.
pub(super) fn is_untouched(desired: &Value, owned: Option<&Value>, live: &Value) -> bool {
    let Some(Value::Object(parts)) = owned else {
        return is_contained(desired, live);
    };
    if desired == live {
        return true;
    }
    if parts.is_empty() {
        return has_entries(desired, live);
    }
    match desired {
        Value::Object(fields) => fields.iter().all(|(name, value)| {
            let owned = part(owned, &format!("f:{name}"));
            is_untouched(value, owned, live.get(name).unwrap_or(&Value::Null))
        }),
        Value::Array(items) => items.iter().all(|item| {
            let live = live.as_array().map_or(&[][..], Vec::as_slice);
            live.contains(item)
                || parts
                    .iter()
                    .any(|(path, owned)| is_item_untouched(item, path, owned, live))
        }),
        _ => true,
    }
}

/// Whether a value is untouched, if our managed fields list no part of it. Either we own it as a whole, so nobody else has changed it. Or
/// it is a map, such as the data of a ConfigMap, and others now own all its entries: then an entry is missing or different.
fn has_entries(desired: &Value, live: &Value) -> bool {
    let Value::Object(entries) = desired else {
        return true;
    };
    entries.iter().all(|(name, value)| match live.get(name) {
        _ if value.is_object() || value.is_array() => true,
        Some(live) => value == live || is_same_quantity(value, live),
        None => is_empty(value),
    })
}

/// Whether two values are the same [quantity], which the API server stores in its shortest form.
///
/// [quantity]: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
fn is_same_quantity(one: &Value, other: &Value) -> bool {
    let number = |value: &Value| match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => quantity(text),
        _ => None,
    };
    match (number(one), number(other)) {
        (Some(one), Some(other)) => (one - other).abs() <= 1e-9 * one.abs().max(other.abs()),
        _ => false,
    }
}

fn quantity(text: &str) -> Option<f64> {
    const SUFFIXES: [(&str, f64); 15] = [
        ("Ki", 1024.0),
        ("Mi", 1_048_576.0),
        ("Gi", 1_073_741_824.0),
        ("Ti", 1_099_511_627_776.0),
        ("Pi", 1_125_899_906_842_624.0),
        ("Ei", 1_152_921_504_606_846_976.0),
        ("n", 1e-9),
        ("u", 1e-6),
        ("m", 1e-3),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
        ("P", 1e15),
        ("E", 1e18),
    ];
    let is_digit = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-');
    let (digits, factor) = SUFFIXES
        .iter()
        .find_map(|(suffix, factor)| {
            let digits = text.strip_suffix(suffix)?;
            digits.chars().all(is_digit).then_some((digits, *factor))
        })
        .unwrap_or((text, 1.0));
    let number: f64 = digits.parse().ok()?;
    number.is_finite().then_some(number * factor)
}

/// Whether `path` identifies this list item, and nobody else has changed it.
fn is_item_untouched(item: &Value, path: &str, owned: &Value, live: &[Value]) -> bool {
    let Some(key) = key(path) else {
        return path.strip_prefix("v:") == Some(&item.to_string());
    };
    // a key that has a default, such as the protocol of a port, may be absent from what was sent
    let is_named = |(name, value): (&String, &Value)| item.get(name).is_none_or(|it| it == value);
    let live = live
        .iter()
        .find(|live| key.iter().all(|(name, value)| live[name] == *value));
    key.iter().all(is_named) && live.is_some_and(|live| is_untouched(item, Some(owned), live))
}

/// Whether `live` contains all desired fields. An empty value may be missing, because the API server drops it, as Go's `omitempty` does.
pub(super) fn is_contained(desired: &Value, live: &Value) -> bool {
    match (desired, live) {
        (Value::Object(desired), Value::Object(live)) => desired
            .iter()
            .all(|(name, value)| is_contained(value, live.get(name).unwrap_or(&Value::Null))),
        (Value::Array(desired), Value::Array(live)) => {
            desired.len() == live.len()
                && desired
                    .iter()
                    .zip(live)
                    .all(|(desired, live)| is_contained(desired, live))
        }
        (desired, Value::Null) => is_empty(desired),
        (desired, live) => desired == live,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.iter().all(is_empty),
        Value::Object(fields) => fields.values().all(is_empty),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn only_ours(owned: &Value) -> Managed<'_> {
        Managed {
            ours: Some(owned),
            all: Some(owned),
        }
    }

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
        assert_eq!(
            same, "061e334a2191927f",
            "children in clusters have this hash"
        );
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
    fn a_replacement_keeps_what_is_not_ours() {
        let live = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {
                "name": "a", "uid": "1", "resourceVersion": "7", "labels": { "app": "a", "was": "ours", "team": "x" },
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
        let owned = json!({
            "f:metadata": { "f:labels": { ".": {}, "f:app": {}, "f:was": {} } },
            "f:spec": { "f:selector": {}, "f:type": {}, "f:ports": {
                ".": {},
                "k:{\"port\":80,\"protocol\":\"TCP\"}": { ".": {}, "f:name": {}, "f:port": {}, "f:protocol": {} },
                "k:{\"port\":81,\"protocol\":\"TCP\"}": { ".": {}, "f:name": {}, "f:port": {}, "f:protocol": {} },
            } },
        });
        let mut desired = service();
        desired["spec"]["ports"][0]["name"] = json!("web");
        desired["metadata"]["finalizers"] = json!(["example.com/ours"]);
        let replaced = replacement(&live, &desired, only_ours(&owned));
        assert_eq!(replaced["spec"]["clusterIP"], "10.0.0.1");
        assert_eq!(replaced["spec"]["selector"], json!({ "app": "a" }));
        assert_eq!(replaced["spec"].get("type"), None, "a default is set again");
        assert_eq!(
            replaced["spec"]["ports"],
            json!([
                { "name": "web", "port": 80, "nodePort": 30001 },
                { "name": "added", "port": 82, "protocol": "TCP" },
            ])
        );
        assert_eq!(
            replaced["metadata"]["labels"],
            json!({ "app": "a", "team": "x" })
        );
        let finalizers = json!(["example.com/ours", "example.com/other"]);
        assert_eq!(replaced["metadata"]["finalizers"], finalizers);
        assert_eq!(replaced["metadata"]["resourceVersion"], "7");
    }

    #[test]
    fn the_default_of_another_branch_of_a_union_is_dropped() {
        let live = json!({ "volumes": [{ "name": "data", "configMap": { "name": "a", "defaultMode": 420 } }] });
        let owned = json!({ "f:volumes": { ".": {}, "k:{\"name\":\"data\"}": {
            ".": {}, "f:name": {}, "f:configMap": { ".": {}, "f:name": {}, "f:defaultMode": {} },
        } } });
        let desired = json!({ "volumes": [{ "name": "data", "secret": { "secretName": "b" } }] });
        assert_eq!(replacement(&live, &desired, only_ours(&owned)), desired);
    }

    #[test]
    fn what_others_add_to_a_map_stays_unless_the_map_is_atomic() {
        let desired = json!({ "data": { "a": "1" } });
        let live = json!({ "data": { "a": "changed", "b": "theirs" } });
        let parts = json!({ "f:data": { ".": {}, "f:a": {}, "f:b": {} } });
        let [nothing, map] = [json!({}), json!({ "f:data": {} })];
        let replaced = |ours, all, desired| {
            let managed = Managed {
                ours: Some(ours),
                all: Some(all),
            };
            replacement(&live, desired, managed)
        };
        let both = json!({ "data": { "a": "1", "b": "theirs" } });
        assert_eq!(replaced(&map, &parts, &desired), both);
        assert_eq!(replaced(&map, &parts, &nothing), live);
        for ours in [&nothing, &map] {
            assert_eq!(replaced(ours, &map, &desired), desired);
        }
        assert_eq!(replaced(&map, &map, &nothing), nothing);
    }

    #[test]
    fn an_item_of_another_stays_if_no_item_is_ours() {
        let ports = |names: &[&str]| {
            let ports = names.iter().map(|name| json!({ "name": name }));
            json!({ "ports": ports.collect::<Vec<_>>() })
        };
        let all =
            json!({ "f:ports": { ".": {}, "k:{\"name\":\"theirs\"}": { ".": {}, "f:name": {} } } });
        let ours = json!({ "f:ports": {} });
        let managed = Managed {
            ours: Some(&ours),
            all: Some(&all),
        };
        let replaced = replacement(&ports(&["theirs"]), &ports(&["ours"]), managed);
        assert_eq!(replaced, ports(&["ours", "theirs"]));
    }

    #[test]
    fn a_list_without_keys_is_replaced_as_a_whole() {
        let subjects = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|name| json!({ "name": name })).collect();
            json!({ "subjects": names })
        };
        let owned = json!({ "f:subjects": {} });
        let desired = subjects(&["a"]);
        let live = subjects(&["a", "foreign"]);
        let unknown = Managed {
            ours: None,
            all: None,
        };
        for managed in [only_ours(&owned), unknown] {
            assert_eq!(replacement(&live, &desired, managed), desired);
        }
    }

    #[test]
    fn an_empty_value_that_the_server_drops_is_no_change() {
        let desired = json!({ "env": [{ "name": "X", "value": "" }], "hostNetwork": false, "volumes": [], "data": {} });
        let live = json!({ "env": [{ "name": "X" }] });
        let owned =
            json!({ "f:env": { ".": {}, "k:{\"name\":\"X\"}": { ".": {}, "f:name": {} } } });
        assert!(is_untouched(&desired, Some(&owned), &live));
        assert!(!is_untouched(
            &json!({ "hostNetwork": true }),
            Some(&owned),
            &live
        ));
        assert!(is_contained(&desired, &live));
    }

    /// The desired pod, our managed fields, and the live pod: with defaults, a value in another form, and a sidecar that admission has
    /// added.
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
    fn a_map_of_which_others_have_taken_all_entries_is_touched() {
        let owned = json!({ "f:data": {}, "f:limits": {}, "f:selector": {} });
        let desired = json!({ "data": { "a": "1" }, "limits": { "cpu": "1000m", "memory": "1024Mi" }, "selector": { "app": "x" } });
        let live = json!({ "data": { "a": "1", "b": "2" }, "limits": { "cpu": "1", "memory": "1Gi" }, "selector": { "app": "x" } });
        assert!(is_untouched(&desired, Some(&owned), &live));
        for (pointer, value) in [
            ("/data/a", json!("changed")),
            ("/data", json!({ "b": "2" })),
            ("/data", Value::Null),
            ("/limits/cpu", json!("2")),
            ("/selector/app", json!("y")),
        ] {
            let mut live = live.clone();
            *live.pointer_mut(pointer).unwrap() = value;
            assert!(!is_untouched(&desired, Some(&owned), &live), "{pointer}");
        }
        for (one, other, is_same) in [
            ("1e3", "1k", true),
            ("0.5", "500m", true),
            ("12E", "12e18", true),
            ("1", "1m", false),
            ("a", "a1", false),
            ("nan", "NaN", false),
        ] {
            assert_eq!(
                is_same_quantity(&json!(one), &json!(other)),
                is_same,
                "{one} {other}"
            );
        }
    }

    #[test]
    fn an_item_that_another_has_removed_is_touched() {
        let (desired, mut owned, mut live) = pod();
        live["spec"]["containers"].as_array_mut().unwrap().pop();
        let owned_spec = owned["f:spec"].as_object_mut().unwrap();
        owned_spec.remove("f:containers");
        assert!(!is_untouched(&desired, Some(&owned), &live));
    }
}
