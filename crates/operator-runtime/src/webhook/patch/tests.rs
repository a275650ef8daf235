//! Laws of patches, for arbitrary documents with parts that their type does not carry, and arbitrary changes.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Container, Pod};
use proptest::{collection::vec, option, prelude::*};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{diff::Operation, *};

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
struct Document {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default)]
    number: i64,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    items: Vec<Item>,
    #[serde(default)]
    sorted: BTreeSet<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nested: Option<Box<Document>>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
struct Item {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default)]
    values: Vec<i64>,
    #[serde(default)]
    parts: Vec<Part>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
struct Part {
    #[serde(default)]
    size: u8,
}

fn item() -> impl Strategy<Value = Item> {
    let parts = vec((0u8..3).prop_map(|size| Part { size }), 0..3);
    (option::of("[abc]"), vec(0i64..3, 0..3), parts).prop_map(|(name, values, parts)| Item {
        name,
        values,
        parts,
    })
}

fn document() -> impl Strategy<Value = Document> {
    let flat = || {
        let labels = prop::collection::btree_map("[ab/~]", "[xy]", 0..3);
        let sorted = prop::collection::btree_set("[a-d]", 0..4);
        let fields = (
            option::of("[ab]"),
            0i64..3,
            labels,
            vec(item(), 0..5),
            sorted,
        );
        fields.prop_map(|(text, number, labels, items, sorted)| Document {
            text,
            number,
            labels,
            items,
            sorted,
            nested: None,
        })
    };
    (flat(), option::of(flat())).prop_map(|(document, nested)| Document {
        nested: nested.map(Box::new),
        ..document
    })
}

/// The JSON of a document with parts that its type does not carry.
fn raw(document: &Document, odd: &mut impl Iterator<Item = bool>) -> Value {
    let mut json = serde_json::to_value(document).unwrap();
    let mut mark = |object: &mut Value, unset: &str| {
        if odd.next() == Some(true) {
            object["unknown"] = json!({"of": object.clone(), "null": null});
        }
        if odd.next() == Some(true) && object.get(unset).is_none() {
            object[unset] = Value::Null;
        }
    };
    mark(&mut json, "text");
    for item in json["items"].as_array_mut().unwrap() {
        mark(item, "name");
        for part in item["parts"].as_array_mut().unwrap() {
            mark(part, "other");
        }
    }
    if let Some(sorted) = json["sorted"].as_array_mut() {
        sorted.reverse();
    }
    if odd.next() == Some(true) && document.number == 0 {
        json.as_object_mut().unwrap().remove("number");
    }
    if let Some(nested) = &document.nested {
        json["nested"] = raw(nested, odd);
    }
    json
}

/// Arbitrary edits of the items of a document, as a webhook makes them.
fn edit(document: &mut Document, edits: &[(u8, usize, Item)]) {
    for (edit, at, item) in edits {
        let items = &mut document.items;
        let place = at % items.len().max(1);
        match edit {
            _ if items.is_empty() => items.push(item.clone()),
            0 => items.insert(place, item.clone()),
            1 => drop(items.remove(place)),
            2 => items.rotate_left(place),
            3 => items[place].name.clone_from(&item.name),
            _ => items[place].parts.clone_from(&item.parts),
        }
    }
}

fn check(raw: &Value, before: &Document, after: &Document) {
    let written = |it| serde_json::to_value(it).unwrap();
    let (before, after) = (written(before), written(after));
    let changed = changed::<Document>(raw, &before, &after).unwrap();
    assert_eq!(changed.is_none(), before == after);
    let changed = changed.unwrap_or_else(|| raw.clone());
    let mut patched = raw.clone();
    apply(&mut patched, &diff(raw, &changed));
    assert_eq!(patched, changed);
    assert_eq!(read::<Document>(&patched).unwrap(), after);
    if before["nested"] == after["nested"] {
        assert_eq!(patched["nested"], raw["nested"]);
    }
    assert_eq!(patched.get("unknown"), raw.get("unknown"));
}

fn apply(object: &mut Value, operations: &[Operation]) {
    let patch: json_patch::Patch = serde_json::from_value(written_operations(operations)).unwrap();
    json_patch::patch(object, &patch).unwrap();
}

fn written_operations(operations: &[Operation]) -> Value {
    serde_json::to_value(operations).unwrap()
}

proptest! {
    #[test]
    fn a_patch_makes_the_changed_object(before in document(), after in document(), odd in vec(any::<bool>(), 40)) {
        let raw = raw(&before, &mut odd.into_iter());
        check(&raw, &before, &after);
        check(&raw, &before, &before);
    }

    #[test]
    fn edits_of_a_list_make_the_changed_object(
        before in document(),
        edits in vec((0u8..5, 0usize..5, item()), 1..4),
        odd in vec(any::<bool>(), 40),
    ) {
        let mut after = before.clone();
        edit(&mut after, &edits);
        check(&raw(&before, &mut odd.into_iter()), &before, &after);
    }
}

fn container(name: &str) -> Value {
    json!({
        "name": name, "image": "a", "unknown": {"of": name, "null": null},
        "ports": [{"containerPort": 80, "future": true}], "imagePullPolicy": "Sometimes",
    })
}

/// The containers of a pod with three of them, after a change of the typed list.
fn containers(change: impl FnOnce(&mut Vec<Container>)) -> Vec<Value> {
    let raw = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "creationTimestamp": null},
        "spec": {"containers": [container("a"), container("b"), container("c")], "unknown": 1},
    });
    let mut pod: Pod = serde_json::from_value(raw.clone()).unwrap();
    let before = serde_json::to_value(&pod).unwrap();
    change(&mut pod.spec.as_mut().unwrap().containers);
    let after = serde_json::to_value(&pod).unwrap();
    let mut patched = changed::<Pod>(&raw, &before, &after).unwrap().unwrap();
    let Value::Array(containers) = patched["spec"]["containers"].take() else {
        panic!("no containers");
    };
    patched["spec"]["containers"] = raw["spec"]["containers"].clone();
    assert_eq!(patched, raw, "nothing else changed");
    containers
}

#[test]
fn containers_keep_their_unknown_fields_when_the_first_is_removed() {
    let remaining = containers(|it| drop(it.remove(0)));
    assert_eq!(remaining, [container("b"), container("c")]);
}

#[test]
fn moved_containers_take_their_unknown_fields_along() {
    let moved = containers(|it| it.rotate_right(1));
    assert_eq!(moved, [container("c"), container("a"), container("b")]);
}

#[test]
fn an_inserted_container_has_no_unknown_fields_and_takes_none_away() {
    let sidecar = Container {
        name: "sidecar".into(),
        ..Container::default()
    };
    let inserted = containers(|it| it.insert(0, sidecar));
    assert_eq!(
        inserted,
        [
            json!({"name": "sidecar"}),
            container("a"),
            container("b"),
            container("c")
        ]
    );
}

#[test]
fn a_renamed_or_changed_container_keeps_its_unknown_fields() {
    let renamed = containers(|it| {
        it[1].name = "x".into();
        it[2].image = Some("b".into());
    });
    let (mut second, mut third) = (container("b"), container("c"));
    second["name"] = "x".into();
    third["image"] = "b".into();
    assert_eq!(renamed, [container("a"), second, third]);
}

#[test]
fn a_container_that_is_moved_and_changed_keeps_its_unknown_fields() {
    let changed = containers(|it| {
        it.remove(1);
        it.swap(0, 1);
        it[0].ports.as_mut().unwrap()[0].name = Some("web".into());
    });
    let mut first = container("c");
    first["ports"][0]["name"] = "web".into();
    assert_eq!(changed, [first, container("a")]);
}

#[test]
fn a_list_that_the_type_sorts_changes_as_the_type_reads_it() {
    let raw = json!({"sorted": ["b", "a"], "unknown": 1});
    let before = json!({"number": 0, "labels": {}, "items": [], "sorted": ["a", "b"]});
    let after = json!({"number": 0, "labels": {}, "items": [], "sorted": ["a"]});
    let changed = changed::<Document>(&raw, &before, &after).unwrap().unwrap();
    assert_eq!(
        written_operations(&diff(&raw, &changed)),
        json!([{"op": "remove", "path": "/sorted/0"}])
    );
}
