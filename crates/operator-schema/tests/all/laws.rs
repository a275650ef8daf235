//! Properties of all schemas and values.

use operator_schema::{Objects, Schema, apply_defaults, prune, sample, structural, violations};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::collections::HashSet;

fn key() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "d"]).prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..100_i64).prop_map(Value::from),
        "[a-c]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..4)
                .prop_map(|it| Value::Object(it.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    prop::collection::vec((key(), value()), 0..4)
        .prop_map(|it| Value::Object(it.into_iter().collect()))
}

/// Schemas that some value satisfies, with valid defaults.
fn field() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"type": "string", "default": "a", "minLength": 1})),
        Just(json!({"type": "string", "enum": ["b", "c"], "nullable": true})),
        Just(json!({"type": "string", "pattern": "^[b-c]+[0-9]{2,}$"})),
        Just(json!({"type": "integer", "minimum": 7, "multipleOf": 5})),
        Just(json!({"x-kubernetes-int-or-string": true, "default": 1})),
        Just(json!({"x-kubernetes-preserve-unknown-fields": true})),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let list = (inner.clone(), 0..3)
            .prop_map(|(items, least)| json!({"type": "array", "items": items, "minItems": least}));
        let map = inner
            .clone()
            .prop_map(|it| json!({"type": "object", "additionalProperties": it}));
        prop_oneof![list, map, fields(inner)]
    })
}

fn fields(field: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let fields = prop::collection::vec((key(), field, any::<bool>()), 0..4);
    (fields, any::<bool>()).prop_map(|(fields, preserve)| {
        let required: Vec<String> = fields
            .iter()
            .filter(|(_, _, required)| *required)
            .map(|(key, ..)| key.clone())
            .collect();
        let fields: Map<_, _> = fields
            .into_iter()
            .map(|(key, field, _)| (key, field))
            .collect();
        let mut schema = json!({"type": "object", "properties": fields, "required": required});
        if preserve {
            schema["x-kubernetes-preserve-unknown-fields"] = json!(true);
        }
        schema
    })
}

pub(crate) fn schema() -> impl Strategy<Value = Schema> {
    fields(field()).prop_map(|schema| serde_json::from_value(schema).unwrap())
}

proptest! {
    // An integration test has no source folder beside which to keep failures.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn defaulting_twice_is_defaulting_once(schema in schema(), mut value in object()) {
        apply_defaults(&schema, &mut value);
        let once = value.clone();
        apply_defaults(&schema, &mut value);
        prop_assert_eq!(value, once);
    }

    #[test]
    fn pruning_twice_is_pruning_once(schema in schema(), mut value in object()) {
        prune(&schema, &mut value);
        let once = value.clone();
        prop_assert_eq!(prune(&schema, &mut value), Vec::<String>::new());
        prop_assert_eq!(value, once);
    }

    #[test]
    fn pruning_keeps_objects_valid(schema in schema(), mut value in object()) {
        let places = |value: &Value| -> HashSet<_> {
            violations(&schema, value).into_iter().map(|it| (it.path, it.reason)).collect()
        };
        let before = places(&value);
        prune(&schema, &mut value);
        prop_assert!(places(&value).is_subset(&before));
    }

    #[test]
    fn defaults_are_never_pruned(schema in schema(), mut value in object()) {
        prune(&schema, &mut value);
        apply_defaults(&schema, &mut value);
        prop_assert_eq!(prune(&schema, &mut value), Vec::<String>::new());
    }

    #[test]
    fn a_satisfiable_schema_has_a_sample(schema in schema()) {
        let mut value = sample(&schema).map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
        apply_defaults(&schema, &mut value);
        prop_assert_eq!(violations(&schema, &value), vec![]);
        prop_assert_eq!(prune(&schema, &mut value), Vec::<String>::new());
    }

    #[test]
    fn arbitrary_objects_are_valid(schema in schema(), seed in any::<u64>()) {
        for mut value in Objects::new(&schema, seed).take(20) {
            prop_assert_eq!(prune(&schema, &mut value), Vec::<String>::new());
            apply_defaults(&schema, &mut value);
            prop_assert_eq!(violations(&schema, &value), vec![]);
        }
    }

    #[test]
    fn a_schema_survives_a_round_trip(schema in schema()) {
        let text = serde_json::to_string(&schema).unwrap();
        prop_assert_eq!(serde_json::from_str::<Schema>(&text).unwrap(), schema);
    }

    #[test]
    fn any_json_is_not_a_schema_or_is_checked_without_panic(schema in value(), mut value in value()) {
        if let Ok(schema) = serde_json::from_value::<Schema>(schema) {
            structural(&schema);
            violations(&schema, &value);
            prune(&schema, &mut value);
            apply_defaults(&schema, &mut value);
        }
    }
}

/// The deepest schema that the parsers of JSON and YAML accept, in a thread with the usual stack.
#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    let mut text = r#"{"type":"string","minLength":1}"#.to_owned();
    for _ in 0..61 {
        text = format!(
            r#"{{"type":"object","required":["a"],"properties":{{"a":{text}}},"anyOf":[{{"required":["a"]}}]}}"#
        );
    }
    let schema: Schema = serde_json::from_str(&text).unwrap();
    let mut value = sample(&schema).unwrap();
    apply_defaults(&schema, &mut value);
    assert_eq!(prune(&schema, &mut value), Vec::<String>::new());
    assert_eq!(
        (violations(&schema, &value), structural(&schema)),
        (vec![], vec![])
    );
}
