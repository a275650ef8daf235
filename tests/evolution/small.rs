//! Small schemas that the API server accepts, and small edits of them.

use cargo_operator::crd::{self, Api};
use operator_schema::{Effect, Schema, structural};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn key() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c"]).prop_map(str::to_owned)
}

fn field() -> impl Strategy<Value = Value> {
    let leaf = prop::sample::select(vec![
        json!({"type": "string"}),
        json!({"type": "string", "default": "a", "minLength": 1}),
        json!({"type": "string", "enum": ["a", "b"]}),
        json!({"type": "integer", "minimum": 3}),
        json!({"type": "number", "maximum": 9.5}),
        json!({"type": "boolean"}),
        json!({"type": "object"}),
        json!({"x-kubernetes-int-or-string": true}),
        json!({"x-kubernetes-preserve-unknown-fields": true}),
    ]);
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner
                .clone()
                .prop_map(|it| json!({"type": "array", "items": it})),
            inner
                .clone()
                .prop_map(|it| json!({"type": "object", "additionalProperties": it})),
            object(inner),
        ]
    })
}

fn object(field: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::vec((key(), field), 0..4).prop_map(|fields| {
        let fields: Map<String, Value> = fields.into_iter().collect();
        json!({"type": "object", "properties": fields})
    })
}

/// A keyword of a node that is set, or removed without a `value`.
#[derive(Clone, Debug)]
struct Edit {
    node: prop::sample::Index,
    keyword: &'static str,
    value: Option<Value>,
}

fn edit() -> impl Strategy<Value = Edit> {
    let values = vec![
        ("type", json!("string")),
        ("type", json!("integer")),
        ("type", json!("number")),
        ("type", json!("object")),
        ("format", json!("date")),
        ("format", json!("int32")),
        ("nullable", json!(true)),
        ("default", json!("a")),
        ("default", json!(4)),
        ("default", json!({})),
        ("enum", json!(["a"])),
        ("enum", json!(["b", "a", "c"])),
        (
            "properties",
            json!({"a": {"type": "string", "default": "b"}}),
        ),
        (
            "properties",
            json!({"a": {"type": "integer"}, "b": {"type": "string"}}),
        ),
        ("required", json!(["a"])),
        ("required", json!(["b", "c"])),
        ("additionalProperties", json!({"type": "string"})),
        ("additionalProperties", json!({"type": "object"})),
        ("additionalProperties", json!(true)),
        ("minProperties", json!(1)),
        ("maxProperties", json!(1)),
        ("minItems", json!(1)),
        ("maxItems", json!(1)),
        ("minimum", json!(5)),
        ("exclusiveMinimum", json!(true)),
        ("maximum", json!(4)),
        ("exclusiveMaximum", json!(true)),
        ("multipleOf", json!(2)),
        ("pattern", json!("^a")),
        ("minLength", json!(2)),
        ("maxLength", json!(3)),
        ("allOf", json!([{"minLength": 2}, {"minProperties": 1}])),
        ("anyOf", json!([{"required": ["a"]}, {"maxItems": 1}])),
        ("oneOf", json!([{"required": ["a"]}, {"required": ["b"]}])),
        ("oneOf", json!([{"required": ["a"]}, {"maxProperties": 1}])),
        ("not", json!({"required": ["a"]})),
        ("x-kubernetes-preserve-unknown-fields", json!(true)),
        ("x-kubernetes-embedded-resource", json!(true)),
        ("x-kubernetes-int-or-string", json!(true)),
        ("x-kubernetes-list-type", json!("set")),
        ("x-kubernetes-map-type", json!("atomic")),
        (
            "x-kubernetes-validations",
            json!([{"rule": "self == self"}]),
        ),
        (
            "x-kubernetes-validations",
            json!([{"rule": "self != self"}]),
        ),
    ];
    let value = prop::sample::select(values);
    let is_set = prop::bool::weighted(0.7);
    (any::<prop::sample::Index>(), value, is_set).prop_map(|(node, (keyword, value), is_set)| {
        Edit {
            node,
            keyword,
            value: is_set.then_some(value),
        }
    })
}

/// A schema of a root.
pub fn schema() -> impl Strategy<Value = Value> {
    let edits = prop::collection::vec(edit(), 0..6);
    (object(field()), edits).prop_map(|(spec, edits)| {
        let root = json!({"type": "object", "properties": {"spec": spec}});
        edits.into_iter().fold(root, edited)
    })
}

/// A schema, and the same schema after one to three edits.
pub fn evolution() -> impl Strategy<Value = [Value; 2]> {
    let edits = prop::collection::vec(edit(), 1..4);
    (schema(), edits).prop_map(|(before, edits)| {
        let after = edits.into_iter().fold(before.clone(), edited);
        [before, after]
    })
}

/// The schema after the edit, or before it, if the API server would reject the result or it would contradict itself.
fn edited(schema: Value, edit: Edit) -> Value {
    let mut edited = schema.clone();
    let pointers = nodes(&schema);
    let pointer = &pointers[edit.node.index(pointers.len())];
    let node = edited.pointer_mut(pointer).and_then(Value::as_object_mut);
    if let Some(node) = node {
        match edit.value {
            Some(value) => drop(node.insert(edit.keyword.to_owned(), value)),
            None => drop(node.remove(edit.keyword)),
        }
    }
    let read = serde_json::from_value::<Schema>(edited.clone());
    let is_sound = |schema: Schema| {
        let problems = structural(&schema);
        problems.iter().all(|it| it.effect == Effect::Dropped)
    };
    if read.is_ok_and(is_sound) {
        edited
    } else {
        schema
    }
}

/// The pointers of all nodes that are not in unions.
fn nodes(schema: &Value) -> Vec<String> {
    let (mut found, mut open) = (vec![], vec![(String::new(), schema)]);
    while let Some((pointer, node)) = open.pop() {
        for (name, field) in node["properties"].as_object().into_iter().flatten() {
            open.push((format!("{pointer}/properties/{name}"), field));
        }
        for step in ["items", "additionalProperties"] {
            if node[step].is_object() {
                open.push((format!("{pointer}/{step}"), &node[step]));
            }
        }
        found.push(pointer);
    }
    found
}

/// A CRD with one version that has this schema.
pub fn api(schema: &Value) -> Api {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Widget", "plural": "widgets"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    });
    crd::read("widget.json", &definition.to_string())
        .unwrap()
        .remove(0)
}
