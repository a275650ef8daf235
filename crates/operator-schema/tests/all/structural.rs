//! What the API server requires of a schema, and which contradictory schemas it accepts.

use operator_schema::{Effect, Schema, structural, unchecked_rules};
use serde_json::{Value, json};

fn schema(schema: Value) -> Schema {
    serde_json::from_value(schema).unwrap()
}

/// The pointers of the problems within field `a`: those that are refused, and the others.
fn problems(field: Value) -> (Vec<String>, Vec<String>) {
    let schema = schema(json!({"type": "object", "properties": {"a": field}}));
    let (refused, doubted): (Vec<_>, Vec<_>) = structural(&schema)
        .into_iter()
        .partition(|problem| problem.effect == Effect::Refused);
    let pointer = |problem: operator_schema::Problem| {
        problem
            .pointer
            .strip_prefix("/properties/a/")
            .unwrap_or(&problem.pointer)
            .to_owned()
    };
    (
        refused.into_iter().map(pointer).collect(),
        doubted.into_iter().map(pointer).collect(),
    )
}

fn refuses(field: Value, pointers: &[&str]) {
    assert_eq!(problems(field.clone()).0, pointers, "{field}");
}

fn doubts(field: Value, pointers: &[&str]) {
    let (refused, doubted) = problems(field.clone());
    assert_eq!(doubted, pointers, "{field}");
    assert!(refused.is_empty(), "{field} {refused:?}");
}

#[test]
fn a_structural_schema_has_no_problems() {
    refuses(
        json!({"type": "array", "items": {"type": "object", "additionalProperties": {"type": "string"}}}),
        &[],
    );
    refuses(
        json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
        &[],
    );
    refuses(
        json!({"x-kubernetes-int-or-string": true, "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"pattern": "x"}]}),
        &[],
    );
    refuses(json!({"x-kubernetes-preserve-unknown-fields": true}), &[]);
}

#[test]
fn every_field_and_item_has_a_type() {
    refuses(json!({}), &["type"]);
    refuses(json!({"type": "null"}), &["type"]);
    refuses(json!({"type": "text"}), &["type"]);
    refuses(json!({"type": "array"}), &["items"]);
    refuses(json!({"type": "array", "items": {}}), &["items/type"]);
}

#[test]
fn junctors_restrict_values_only() {
    refuses(
        json!({"type": "object", "properties": {"x": {"type": "string"}}, "anyOf": [
            {"type": "object", "description": "d", "properties": {"x": {"default": 1, "nullable": true}}},
        ]}),
        &[
            "anyOf/0/type",
            "anyOf/0/description",
            "anyOf/0/properties/x/default",
            "anyOf/0/properties/x/nullable",
        ],
    );
    refuses(
        json!({"type": "string", "allOf": [{"pattern": "x"}, {"anyOf": [{"type": "integer"}, {"type": "string"}]}]}),
        &["allOf/1/anyOf/0/type", "allOf/1/anyOf/1/type"],
    );
}

#[test]
fn fields_in_junctors_are_specified_outside() {
    let root = schema(json!({"type": "object", "not": {"properties": {"x": {"pattern": "y"}}}}));
    let problems = structural(&root);
    assert_eq!(problems[0].pointer, "/not/properties/x");
    assert_eq!(problems[0].effect, Effect::Refused);
    doubts(
        json!({"type": "object", "not": {"properties": {"x": {"pattern": "y"}}}}),
        &["not/properties/x"],
    );
}

#[test]
fn the_root_is_an_object_with_free_metadata() {
    let root = |root: Value| {
        structural(&schema(root))
            .into_iter()
            .map(|it| it.pointer)
            .collect::<Vec<_>>()
    };
    assert_eq!(root(json!({"type": "string"})), ["/type"]);
    assert_eq!(
        root(json!({"type": "object", "nullable": true})),
        ["/nullable"]
    );
    assert_eq!(
        root(json!({"type": "object", "additionalProperties": true})),
        ["/additionalProperties"]
    );
    let metadata =
        |metadata: Value| root(json!({"type": "object", "properties": {"metadata": metadata}}));
    let name =
        json!({"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}});
    assert!(metadata(name).is_empty());
    let labels = json!({"type": "object", "properties": {"labels": {"type": "object"}}});
    assert_eq!(metadata(labels), ["/properties/metadata"]);
}

#[test]
fn forbidden_keywords_are_refused_and_unknown_ones_reported() {
    refuses(
        json!({"type": "object", "$ref": "#/x", "definitions": {"x": {"type": "string"}}}),
        &["$ref", "definitions"],
    );
    refuses(
        json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}),
        &["uniqueItems"],
    );
    refuses(
        json!({"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": {"type": "string"}}),
        &["additionalProperties"],
    );
    refuses(json!({"type": "string", "pattern": "(?=x)"}), &["pattern"]);
    doubts(json!({"type": "string", "const": "x"}), &["const"]);
}

#[test]
fn lists_of_type_map_have_existing_keys() {
    let list = |keys: Value, items: Value| json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys, "items": items});
    let item = json!({"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "o": {"type": "string"}}});
    refuses(list(json!(["k"]), item.clone()), &[]);
    refuses(
        list(json!([]), item.clone()),
        &["x-kubernetes-list-map-keys"],
    );
    refuses(
        list(json!(["z"]), item.clone()),
        &["x-kubernetes-list-map-keys"],
    );
    refuses(list(json!(["o"]), item), &["items/properties/o/default"]);
    refuses(
        list(json!(["k"]), json!({"type": "string"})),
        &["items/type"],
    );
}

#[test]
fn defaults_satisfy_their_own_schema() {
    refuses(
        json!({"type": "integer", "minimum": 1, "default": 0}),
        &["default"],
    );
    refuses(
        json!({"type": "object", "properties": {"x": {"type": "string"}}, "default": {"y": 1}}),
        &["default"],
    );
    refuses(json!({"type": "integer", "default": 1}), &[]);
}

#[test]
fn defaults_below_additional_properties_are_not_checked() {
    let map = json!({"type": "object", "additionalProperties": {"type": "string", "default": 1}});
    doubts(map, &["additionalProperties/default"]);
}

#[test]
fn contradictions_are_reported() {
    doubts(
        json!({"type": "integer", "minimum": 2, "maximum": 1}),
        &["minimum"],
    );
    doubts(
        json!({"type": "number", "minimum": 1, "maximum": 1, "exclusiveMinimum": true}),
        &["minimum"],
    );
    doubts(
        json!({"type": "string", "minLength": 2, "maxLength": 1}),
        &["minLength"],
    );
    doubts(
        json!({"type": "integer", "format": "int32", "maximum": 4294967295_i64}),
        &["maximum"],
    );
    doubts(
        json!({"type": "string", "nullable": true, "enum": ["x", null]}),
        &["enum"],
    );
    doubts(
        json!({"type": "object", "required": ["y"], "properties": {"x": {"type": "string"}}}),
        &["required"],
    );
}

#[test]
fn rules_are_listed_with_their_pointers() {
    let rule = |rule: &str| json!([{"rule": rule}]);
    let schema = schema(json!({
        "type": "object", "x-kubernetes-validations": rule("1"),
        "properties": {"a/b": {"type": "array", "items": {"type": "string", "x-kubernetes-validations": rule("2")}}},
    }));
    let rules: Vec<_> = unchecked_rules(&schema)
        .into_iter()
        .map(|it| (it.pointer, it.rule.rule.as_str()))
        .collect();
    assert_eq!(
        rules,
        [
            ("/x-kubernetes-validations/0".to_owned(), "1"),
            (
                "/properties/a~1b/items/x-kubernetes-validations/0".to_owned(),
                "2"
            ),
        ]
    );
}

#[test]
fn rules_are_not_empty() {
    refuses(
        json!({"type": "string", "x-kubernetes-validations": [{"rule": " "}]}),
        &["x-kubernetes-validations/0/rule"],
    );
    refuses(
        json!({"type": "string", "x-kubernetes-validations": [{"rule": "a\nb"}, {"rule": "a", "message": "b\nc"}]}),
        &[
            "x-kubernetes-validations/0/message",
            "x-kubernetes-validations/1/message",
        ],
    );
}
