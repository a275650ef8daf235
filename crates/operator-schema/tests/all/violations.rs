//! Which values the API server rejects, and its exact messages.

use operator_schema::{Schema, violations};
use serde_json::{Value, json};

/// The violations as the server prints them.
fn refused(schema: Value, value: Value) -> Vec<String> {
    let schema: Schema = serde_json::from_value(schema).unwrap();
    violations(&schema, &value)
        .iter()
        .map(ToString::to_string)
        .collect()
}

/// A schema for the one field `a`.
fn field(schema: Value) -> Value {
    json!({"type": "object", "properties": {"a": schema}})
}

/// The violations of field `a`; `good` values have none.
fn check(schema: Value, good: &[Value], bad: &[(Value, &str)]) {
    for value in good {
        let none: [&str; 0] = [];
        assert_eq!(
            refused(field(schema.clone()), json!({"a": value})),
            none,
            "{schema} {value}"
        );
    }
    for (value, text) in bad {
        let found = refused(field(schema.clone()), json!({"a": value})).join("; ");
        assert_eq!(found, *text, "{schema} {value}");
    }
}

#[test]
fn types_are_checked() {
    check(
        json!({"type": "string"}),
        &[json!("x")],
        &[
            (
                json!(1),
                r#"a: Invalid value: "integer": a in body must be of type string: "integer""#,
            ),
            (
                json!(1.5),
                r#"a: Invalid value: "number": a in body must be of type string: "number""#,
            ),
            (
                json!(null),
                r#"a: Invalid value: "null": a in body must be of type string: "null""#,
            ),
        ],
    );
    check(
        json!({"type": "integer"}),
        &[json!(1), json!(1.0)],
        &[(
            json!(true),
            r#"a: Invalid value: "boolean": a in body must be of type integer: "boolean""#,
        )],
    );
    check(json!({"type": "number"}), &[json!(1), json!(1.5)], &[]);
    check(
        json!({"type": "boolean", "nullable": true}),
        &[json!(null), json!(false)],
        &[],
    );
    check(
        json!({"x-kubernetes-int-or-string": true}),
        &[json!(1), json!("1")],
        &[(
            json!([]),
            r#"a: Invalid value: "array": a in body must be of type integer,string: "array""#,
        )],
    );
}

#[test]
fn enum_violations_list_the_supported_values() {
    check(
        json!({"type": "string", "enum": ["x", "y"]}),
        &[json!("x")],
        &[(
            json!("z"),
            r#"a: Unsupported value: "z": supported values: "x", "y""#,
        )],
    );
    check(
        json!({"type": "string", "nullable": true, "enum": ["x", null]}),
        &[],
        &[(
            json!(null),
            r#"a: Unsupported value: null: supported values: "x", "null""#,
        )],
    );
}

#[test]
fn bounds_are_inclusive_by_default() {
    let least = "a: Invalid value: 0: a in body should be greater than or equal to 1";
    check(
        json!({"type": "integer", "minimum": 1}),
        &[json!(1)],
        &[(json!(0), least)],
    );
    check(
        json!({"type": "integer", "minimum": 1.0, "exclusiveMinimum": true}),
        &[json!(2)],
        &[(
            json!(1),
            "a: Invalid value: 1: a in body should be greater than 1",
        )],
    );
    check(
        json!({"type": "number", "maximum": 1.5, "exclusiveMaximum": true}),
        &[json!(1.4)],
        &[(
            json!(1.5),
            "a: Invalid value: 1.5: a in body should be less than 1.5",
        )],
    );
    check(
        json!({"type": "integer", "multipleOf": 3}),
        &[json!(6), json!(0)],
        &[(
            json!(7),
            "a: Invalid value: 7: a in body should be a multiple of 3",
        )],
    );
    let text =
        r#"<nil>: Invalid value: "": Checked value must be of type integer with format int32 in a"#;
    check(
        json!({"type": "integer", "format": "int32"}),
        &[json!(2147483647)],
        &[(json!(2147483648_i64), text)],
    );
}

#[test]
fn lengths_count_code_points() {
    check(
        json!({"type": "string", "minLength": 2, "maxLength": 3}),
        &[json!("\u{1F600}\u{e9}"), json!("abc")],
        &[
            (
                json!("a"),
                r#"a: Invalid value: "a": a in body should be at least 2 chars long"#,
            ),
            (json!("abcd"), "a: Too long: may not be more than 3 bytes"),
        ],
    );
}

#[test]
fn patterns_match_anywhere_unless_anchored() {
    check(
        json!({"type": "string", "pattern": "[0-9]$"}),
        &[json!("a1")],
        &[(
            json!("1a"),
            r#"a: Invalid value: "1a": a in body should match '[0-9]$'"#,
        )],
    );
}

#[test]
fn an_invalid_pattern_rejects_all_values() {
    let found = refused(
        field(json!({"type": "string", "pattern": "(?=x)"})),
        json!({"a": "x"}),
    );
    assert!(found[0].starts_with(
        r#"a: Invalid value: "x": a in body should match '(?=x), but pattern is invalid: error parsing regexp:"#
    ));
}

#[test]
fn known_formats_are_checked() {
    check(
        json!({"type": "string", "format": "date-time"}),
        &[json!("2024-01-01T00:00:00Z")],
        &[(
            json!("now"),
            r#"a: Invalid value: "now": a in body must be of type date-time: "now""#,
        )],
    );
    check(
        json!({"type": "string", "format": "quantity"}),
        &[json!("anything")],
        &[],
    );
}

#[test]
fn lists_have_bounds_items_and_duplicates() {
    check(
        json!({"type": "array", "minItems": 1, "maxItems": 2, "uniqueItems": true, "items": {"type": "integer"}}),
        &[json!([1, 2])],
        &[
            (
                json!([]),
                "a: Invalid value: 0: a in body should have at least 1 items",
            ),
            (
                json!([1, 2, 3]),
                "a: Too many: 3: must have at most 2 items",
            ),
            (
                json!([1, 1]),
                r#"a: Invalid value: "": a in body shouldn't contain duplicates"#,
            ),
            (
                json!(["x"]),
                r#"a[0]: Invalid value: "string": a[0] in body must be of type integer: "string""#,
            ),
        ],
    );
}

#[test]
fn sets_and_maps_have_no_duplicates() {
    check(
        json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}),
        &[json!(["x", "y"])],
        &[(json!(["x", "y", "x", "x"]), r#"a[2]: Duplicate value: "x""#)],
    );
    check(
        json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "n"],
               "items": {"type": "object", "properties": {"k": {"type": "integer"}, "n": {"type": "string"}, "v": {"type": "string"}}}}),
        &[json!([{"k": 1, "n": "x"}, {"k": 1, "n": "y"}, {"k": 1}])],
        &[(
            json!([{"n": "x", "k": 1}, {"k": 1, "n": "x", "v": "z"}]),
            r#"a[1]: Duplicate value: {"k":1,"n":"x"}"#,
        )],
    );
}

#[test]
fn objects_have_size_bounds_known_members_and_required_fields() {
    check(
        json!({"type": "object", "minProperties": 1, "maxProperties": 2, "additionalProperties": {"type": "string"}}),
        &[json!({"x": "y"})],
        &[
            (
                json!({}),
                "a: Invalid value: 0: a in body should have at least 1 properties",
            ),
            (
                json!({"x": "1", "y": "2", "z": "3"}),
                "a: Too many: 3: must have at most 2 items",
            ),
            (
                json!({"x": 1}),
                r#"a.x: Invalid value: "integer": a.x in body must be of type string: "integer""#,
            ),
        ],
    );
    check(
        json!({"type": "object", "required": ["x"], "properties": {"x": {"type": "string"}}}),
        &[json!({"x": ""})],
        &[(json!({}), "a.x: Required value")],
    );
    assert_eq!(
        refused(json!({"type": "object", "required": ["spec"]}), json!({})),
        ["spec: Required value"]
    );
}

#[test]
fn union_violations_have_no_field_and_report_the_best_branch() {
    let branches = json!([{"required": ["x"]}, {"required": ["y"]}]);
    let properties = json!({"x": {"type": "string"}, "y": {"type": "string"}});
    check(
        json!({"type": "object", "properties": properties, "oneOf": branches}),
        &[json!({"x": ""})],
        &[
            (
                json!({}),
                r#"<nil>: Invalid value: "": "a" must validate one and only one schema (oneOf). Found none valid; a.x: Required value"#,
            ),
            (
                json!({"x": "", "y": ""}),
                r#"<nil>: Invalid value: "": "a" must validate one and only one schema (oneOf). Found 2 valid alternatives"#,
            ),
        ],
    );
    check(
        json!({"type": "object", "properties": properties, "anyOf": branches}),
        &[json!({"x": "", "y": ""})],
        &[(
            json!({}),
            r#"<nil>: Invalid value: "": "a" must validate at least one schema (anyOf); a.x: Required value"#,
        )],
    );
    check(
        json!({"type": "object", "properties": properties, "allOf": branches}),
        &[json!({"x": "", "y": ""})],
        &[(
            json!({"x": ""}),
            r#"a.y: Required value; <nil>: Invalid value: "": "a" must validate all the schemas (allOf)"#,
        )],
    );
    check(
        json!({"type": "object", "properties": properties, "not": {"required": ["x"]}}),
        &[json!({"y": ""})],
        &[(
            json!({"x": ""}),
            r#"<nil>: Invalid value: "": "a" must not validate the schema (not)"#,
        )],
    );
}

#[test]
fn embedded_resources_have_a_type_and_a_usable_name() {
    check(
        json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}),
        &[
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"labels": {"x": "y"}}}),
        ],
        &[
            (
                json!({}),
                "a.apiVersion: Required value; a.kind: Required value",
            ),
            (
                json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a/b"}}),
                r#"a.metadata.name: Invalid value: "a/b": may not contain '/'"#,
            ),
        ],
    );
}
