//! Laws of all conversions, for random schemas with random rules, for edits of a client, and for values that no schema allows.

use std::collections::BTreeMap;

use operator_runtime::conversion::Conversion;
use operator_testing::ConversionProof;
use operator_testing::operator_schema::{Objects, Schema, apply_defaults, violations};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use crate::cache;
use crate::leaf::{Leaf, differences, leaves};
use crate::shape::{Pair, shapes};

fn convert(conversion: &Conversion) -> impl Fn(&Value, &str) -> Result<Value, String> {
    |object, to| {
        conversion
            .convert(object, to)
            .map_err(|error| error.to_string())
    }
}

/// One direction of a pair.
struct Direction {
    /// The schema of the version that a client edits.
    schema: Schema,
    /// The schema of the version where the object comes from.
    origin: Schema,
    from: &'static str,
    to: &'static str,
    /// Where the values of the edited version are in the other one.
    places: BTreeMap<String, Vec<String>>,
}

fn directions(pair: &Pair) -> [Direction; 2] {
    let schema = |schema: &Value| serde_json::from_value::<Schema>(schema.clone()).unwrap();
    let (v1, v2) = ("b.c/v1", "b.c/v2");
    let (spoke, hub) = (&pair.spoke, &pair.hub);
    [
        Direction {
            schema: schema(spoke),
            origin: schema(hub),
            from: v2,
            to: v1,
            places: pair.to_hub.clone(),
        },
        Direction {
            schema: schema(hub),
            origin: schema(spoke),
            from: v1,
            to: v2,
            places: pair.to_spoke.clone(),
        },
    ]
}

fn objects(schema: &Schema, api_version: &str, seed: u64) -> Vec<Value> {
    let mut objects = Objects::new(schema, seed);
    let mut all = objects.cover(20);
    all.extend(objects.take(10));
    for object in &mut all {
        apply_defaults(schema, object);
        object["apiVersion"] = api_version.into();
        object["metadata"] = json!({"name": "a"});
    }
    all
}

fn without_annotation(mut object: Value) -> Value {
    object["metadata"] = json!({"name": "a"});
    object
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rules_that_cover_a_difference_lose_nothing(shapes in shapes()) {
        let mut pair = Pair::of(&shapes);
        let conversion = pair.conversion();
        let failures = ConversionProof::of(&pair.crd(), convert(&conversion)).failures();
        prop_assert!(failures.is_empty(), "{}\n{}", failures.join("\n"), pair.crd());
    }

    #[test]
    fn an_edit_wins_and_changes_nothing_else(shapes in shapes(), seed in any::<u64>(), choices in prop::collection::vec(any::<(Index, Index, bool)>(), 30)) {
        let mut pair = Pair::of(&shapes);
        let conversion = pair.conversion();
        for direction in directions(&pair) {
            let donors = objects(&direction.schema, direction.to, seed ^ 1);
            for (before, (leaf, donor, is_removed)) in objects(&direction.origin, direction.from, seed).iter().zip(&choices) {
                let converted = conversion.convert(before, direction.to).unwrap();
                let all = leaves(&direction.schema, &converted);
                let Some(leaf) = (!all.is_empty()).then(|| leaf.get(&all)) else { continue };
                let mut edited = converted.clone();
                let value = leaf.value(donor.get(&donors)).filter(|_| !is_removed);
                leaf.set(&mut edited, value.cloned());
                if !violations(&direction.schema, &edited).is_empty() {
                    continue;
                }
                check_edit(&conversion, &direction, before, &edited, leaf)?;
            }
        }
    }

    #[test]
    fn items_that_a_client_moves_keep_what_the_other_version_has(shapes in shapes(), seed in any::<u64>(), order in prop::collection::vec(any::<Index>(), 6)) {
        let mut pair = Pair::of(&shapes);
        let conversion = pair.conversion();
        for direction in directions(&pair) {
            for before in objects(&direction.origin, direction.from, seed) {
                let mut edited = conversion.convert(&before, direction.to).unwrap();
                let Some(spec) = edited["spec"].as_object_mut() else { continue };
                let is_list_of_objects = |it: &&mut Value| it.as_array().is_some_and(|it| it.iter().any(Value::is_object));
                for list in spec.values_mut().filter(is_list_of_objects) {
                    let items = list.as_array_mut().unwrap();
                    for index in &order {
                        if items.len() > 1 {
                            let last = items.len() - 1;
                            items.swap(index.index(last + 1), last);
                        }
                    }
                    items.pop();
                }
                let after = conversion.convert(&edited, direction.from).unwrap();
                let lists = |object: &Value| {
                    let fields = object["spec"].as_object().into_iter().flatten();
                    fields.filter_map(|(name, it)| Some((name.clone(), it.as_array()?.clone()))).collect::<BTreeMap<_, _>>()
                };
                let originals = lists(&before);
                for (name, items) in lists(&after) {
                    let is_known = |item: &Value| !item.is_object() || originals.get(&name).is_some_and(|it| it.contains(item));
                    prop_assert!(items.iter().all(is_known), "{name}: {items:?} of {originals:?}\nby {edited}");
                }
            }
        }
    }

    #[test]
    fn whatever_can_be_converted_comes_back(spec in json_value(), status in json_value()) {
        let conversion = cache::conversion();
        for from in ["v1", "v2", "v3"] {
            let before = json!({"apiVersion": format!("cache.example.com/{from}"), "metadata": {"name": "a"}, "spec": spec, "status": status});
            for to in ["v1", "v2", "v3"] {
                match conversion.convert(&before, &format!("cache.example.com/{to}")) {
                    Ok(converted) => {
                        let back = conversion.convert(&converted, &format!("cache.example.com/{from}"));
                        prop_assert_eq!(without_annotation(back.unwrap()), before.clone(), "by {}", converted);
                    }
                    Err(error) => prop_assert!(error.version().is_some() && error.field().is_some(), "{}", error),
                }
            }
        }
    }
}

/// Checks that the edit is still there after a round trip, that the other version has it too, and that nothing else has changed in it.
fn check_edit(
    conversion: &Conversion,
    direction: &Direction,
    before: &Value,
    edited: &Value,
    leaf: &Leaf,
) -> Result<(), TestCaseError> {
    let after = conversion.convert(edited, direction.from).unwrap();
    let back = conversion.convert(&after, direction.to).unwrap();
    let context = || format!("{leaf:?}\nbefore {before}\nedited {edited}\nafter {after}");
    prop_assert_eq!(
        without_annotation(back),
        without_annotation(edited.clone()),
        "{}",
        context()
    );
    let fresh = conversion
        .convert(&without_annotation(edited.clone()), direction.from)
        .unwrap();
    let places = leaf.counterparts(&direction.places);
    let previous = conversion.convert(before, direction.to).unwrap();
    let is_changed = leaf.value(&previous) != leaf.value(edited);
    // items that are still in a list are not edited
    let is_list = |object| leaf.value(object).is_some_and(Value::is_array);
    if is_changed && !leaf.is_in_items() && !is_list(edited) {
        for place in &places {
            prop_assert_eq!(place.value(&after), place.value(&fresh), "{}", context());
        }
    }
    for difference in differences(before, &after) {
        let is_allowed = places.iter().any(|place| place.is_about(&difference));
        prop_assert!(is_allowed, "{}\n{:?} changed", context(), difference);
    }
    Ok(())
}

/// Values with the names that the rules of the hand-written kind use.
fn json_value() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec![
        "size", "replicas", "tier", "host", "hosts", "address", "endpoint", "port", "mode",
        "comment", "password", "auth", "eviction", "debug", "label", "labels", "pools", "name",
        "id", "count", "weight", "zone", "steps", "note", "timeout", "limits", "cpu", "cores",
        "burst", "scale", "state", "phase", "a.b", "",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec!["a", "lru", "Legacy", "Fast", "ok", ""]).prop_map(Value::from),
        Just(json!(30)),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name.clone(), inner, 0..6).prop_map(|fields| fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect::<Value>()),
        ]
    })
}
