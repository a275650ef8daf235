//! What the API server adds to an object and what it drops.

use operator_schema::{Schema, apply_defaults, prune};
use serde_json::{Value, json};

fn schema(schema: Value) -> Schema {
    serde_json::from_value(schema).unwrap()
}

/// A schema for an object with these properties.
fn object(properties: Value) -> Schema {
    schema(json!({"type": "object", "properties": properties}))
}

fn defaulted(schema: &Schema, mut value: Value) -> Value {
    apply_defaults(schema, &mut value);
    value
}

fn pruned(schema: &Schema, mut value: Value) -> (Value, Vec<String>) {
    let dropped = prune(schema, &mut value);
    (value, dropped)
}

#[test]
fn absent_fields_get_their_default() {
    let schema = object(json!({"a": {"type": "integer", "default": 1}, "b": {"type": "string"}}));
    assert_eq!(defaulted(&schema, json!({})), json!({"a": 1}));
    assert_eq!(defaulted(&schema, json!({"a": 2})), json!({"a": 2}));
}

#[test]
fn absent_objects_stay_absent_unless_they_have_a_default() {
    let inner = json!({"x": {"type": "integer", "default": 1}});
    let schema = object(json!({
        "a": {"type": "object", "properties": inner},
        "b": {"type": "object", "properties": inner, "default": {}},
    }));
    assert_eq!(defaulted(&schema, json!({})), json!({"b": {"x": 1}}));
}

#[test]
fn a_null_that_is_not_allowed_is_replaced_or_dropped() {
    let schema = object(json!({
        "default": {"type": "string", "default": "x"},
        "nullable": {"type": "string", "nullable": true, "default": "x"},
        "plain": {"type": "string"},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "list": {"type": "array", "items": {"type": "string", "default": "x"}},
    }));
    let value = json!({
        "default": null, "nullable": null, "plain": null, "map": {"a": null, "b": "c"}, "list": [null], "unknown": null,
    });
    assert_eq!(
        defaulted(&schema, value),
        json!({"default": "x", "nullable": null, "map": {"b": "c"}, "list": ["x"], "unknown": null})
    );
}

#[test]
fn defaults_reach_into_maps_and_lists() {
    let item = json!({"type": "object", "properties": {"x": {"type": "integer", "default": 1}}});
    let schema = object(json!({
        "map": {"type": "object", "additionalProperties": item},
        "list": {"type": "array", "items": item},
    }));
    assert_eq!(
        defaulted(&schema, json!({"map": {"k": {}}, "list": [{}]})),
        json!({"map": {"k": {"x": 1}}, "list": [{"x": 1}]})
    );
}

#[test]
fn unknown_fields_are_dropped_and_returned() {
    let schema = object(json!({"spec": {"type": "object", "properties": {
        "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
    }}}));
    let value = json!({
        "apiVersion": "v1", "kind": "K", "metadata": {"anything": {"goes": 1}}, "other": 1,
        "spec": {"list": [{"a": "", "b": ""}], "c": 1},
    });
    let (value, dropped) = pruned(&schema, value);
    assert_eq!(
        value,
        json!({
            "apiVersion": "v1", "kind": "K", "metadata": {"anything": {"goes": 1}}, "spec": {"list": [{"a": ""}]},
        })
    );
    assert_eq!(dropped, ["other", "spec.c", "spec.list[0].b"]);
}

#[test]
fn preserved_fields_are_kept_and_specified_ones_are_pruned_within() {
    let schema = object(json!({"a": {
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": {"known": {"type": "object", "properties": {"x": {"type": "string"}}}},
    }}));
    let (value, dropped) = pruned(
        &schema,
        json!({"a": {"b": {"c": 1}, "known": {"x": "", "y": 1}}}),
    );
    assert_eq!(value, json!({"a": {"b": {"c": 1}, "known": {"x": ""}}}));
    assert_eq!(dropped, ["a.known.y"]);
}

#[test]
fn additional_properties_without_schema_keep_scalars_only() {
    let schema = object(json!({"a": {"type": "object", "additionalProperties": true}}));
    let (value, dropped) = pruned(
        &schema,
        json!({"a": {"b": 1, "c": {"d": 1}, "e": [[{"f": 1}]]}}),
    );
    assert_eq!(value, json!({"a": {"b": 1, "c": {}, "e": [[{}]]}}));
    assert_eq!(dropped, ["a.c.d", "a.e[0][0].f"]);
}

#[test]
fn embedded_resources_keep_what_every_resource_has() {
    let schema = object(json!({"a": {
        "type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}},
    }}));
    let resource = json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "x"}, "spec": {}});
    let mut more = resource.clone();
    more["status"] = json!({});
    assert_eq!(
        pruned(&schema, json!({"a": more})).0,
        json!({"a": resource})
    );
}
