//! Samples are valid, small and readable.

use operator_schema::{Schema, apply_defaults, sample, violations};
use serde_json::{Value, json};

fn schema(schema: Value) -> Schema {
    serde_json::from_value(schema).unwrap()
}

/// The sample of field `a`.
fn sampled(field: Value) -> Value {
    let schema = schema(json!({"type": "object", "required": ["a"], "properties": {"a": field}}));
    sample(&schema).unwrap_or_else(|error| panic!("{field}: {:#?}", error.violations))["a"].clone()
}

#[test]
fn required_fields_are_set_and_optional_ones_omitted() {
    let memcached = schema(json!({"type": "object", "properties": {
        "spec": {"type": "object", "required": ["size"], "properties": {
            "size": {"type": "integer", "minimum": 3}, "image": {"type": "string"},
        }},
        "status": {"type": "object"},
    }}));
    assert_eq!(sample(&memcached), Ok(json!({"spec": {"size": 3}})));
}

#[test]
fn values_in_the_schema_are_preferred() {
    assert_eq!(sampled(json!({"type": "string", "default": "x"})), "x");
    assert_eq!(sampled(json!({"type": "string", "example": "x"})), "x");
    assert_eq!(sampled(json!({"type": "string", "enum": ["x", "y"]})), "x");
    assert_eq!(sampled(json!({"type": "string", "example": 1})), "example");
}

#[test]
fn a_sampled_schedule_is_valid_for_a_cron_job() {
    for (name, expected) in [
        ("schedule", "0 0 * * *"),
        ("backupSchedule", "0 0 * * *"),
        ("cronExpression", "0 0 * * *"),
        ("scheduler", "example"),
        ("cronJobName", "example"),
    ] {
        let field =
            json!({"type": "object", "required": [name], "properties": {name: {"type": "string"}}});
        assert_eq!(sample(&schema(field)).unwrap()[name], expected);
    }
    let field = json!({"type": "object", "required": ["schedule"], "properties": {"schedule": {"type": "string", "pattern": "^@"}}});
    assert_eq!(sample(&schema(field)).unwrap()["schedule"], "@");
}

#[test]
fn numbers_respect_bounds_and_steps() {
    for (field, expected) in [
        (json!({"type": "integer"}), json!(1)),
        (
            json!({"type": "integer", "maximum": 0, "exclusiveMaximum": true}),
            json!(-1),
        ),
        (
            json!({"type": "integer", "minimum": 5, "multipleOf": 4}),
            json!(8),
        ),
        (
            json!({"type": "number", "minimum": 0.25, "maximum": 0.5}),
            json!(0.25),
        ),
        (json!({"x-kubernetes-int-or-string": true}), json!(1)),
    ] {
        assert_eq!(sampled(field.clone()), expected, "{field}");
    }
}

#[test]
fn strings_match_patterns_formats_and_lengths() {
    for (field, expected) in [
        (json!({"type": "string"}), "example"),
        (
            json!({"type": "string", "format": "date-time"}),
            "2024-01-01T00:00:00Z",
        ),
        (
            json!({"type": "string", "pattern": "^[a-z]{2}-[A-Z]+(x|y)$"}),
            "aa-Ax",
        ),
        (
            json!({"type": "string", "pattern": "^(a|b)*$", "minLength": 3}),
            "aaaa",
        ),
        (json!({"type": "string", "maxLength": 1}), "a"),
        (json!({"type": "string", "minLength": 10}), "example.com"),
    ] {
        assert_eq!(sampled(field.clone()), expected, "{field}");
    }
}

/// The time of a match grows with the product of both lengths, so a text that was generated from the pattern is not matched again.
#[test]
fn a_long_pattern_has_a_sample() {
    for part in [r"\\d{1,3}x", r"\\w+", "[^a]", "(a|b)"] {
        let pattern = format!("^{}$", part.repeat(20_000 / part.len()));
        let text = sampled(json!({"type": "string", "pattern": pattern}));
        assert!(text.as_str().unwrap().len() > 2_500, "{part}");
    }
}

#[test]
fn lists_and_maps_have_their_minimum_size() {
    assert_eq!(
        sampled(json!({"type": "array", "items": {"type": "string"}})),
        json!([])
    );
    let set = json!({"type": "array", "minItems": 2, "x-kubernetes-list-type": "set", "items": {"type": "string"}});
    assert_eq!(sampled(set), json!(["example", "Example"]));
    let map = json!({
        "type": "array", "minItems": 2, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
        "items": {"type": "object", "required": ["k", "v"], "properties": {
            "k": {"type": "integer"}, "v": {"type": "string", "enum": ["x"]},
        }},
    });
    assert_eq!(
        sampled(map),
        json!([{"k": 1, "v": "x"}, {"k": 0, "v": "x"}])
    );
    let labels =
        json!({"type": "object", "minProperties": 1, "additionalProperties": {"type": "string"}});
    assert_eq!(sampled(labels), json!({"example": "example"}));
    let some =
        json!({"type": "object", "minProperties": 1, "properties": {"x": {"type": "string"}}});
    assert_eq!(sampled(some), json!({"x": "example"}));
}

#[test]
fn one_branch_of_each_union_is_chosen() {
    let text = json!({"type": "string"});
    let either = json!({
        "type": "object", "properties": {"x": text, "y": text},
        "oneOf": [{"required": ["x"]}, {"required": ["y"]}],
    });
    assert_eq!(sampled(either), json!({"x": "example"}));
    let by_type = json!({
        "type": "object", "properties": {"type": text, "x": text},
        "oneOf": [
            {"properties": {"type": {"enum": ["A"]}}},
            {"properties": {"type": {"enum": ["B"]}}, "required": ["x"]},
        ],
    });
    assert_eq!(sampled(by_type), json!({}));
    let exclusive = json!({
        "type": "object", "properties": {"type": text},
        "oneOf": [{"properties": {"type": {"enum": ["A"]}}}, {"properties": {"type": {"enum": ["B"]}}}],
    });
    assert_eq!(sampled(exclusive), json!({"type": "A"}));
    let two = json!({
        "type": "object", "properties": {"x": text, "y": text},
        "oneOf": [
            {"properties": {"x": {"enum": ["A"]}, "y": {"enum": ["A"]}}},
            {"properties": {"x": {"enum": ["B"]}}},
            {"properties": {"y": {"enum": ["B"]}}},
        ],
    });
    assert_eq!(sampled(two), json!({"x": "A", "y": "A"}));
    let inner = json!({"type": "string", "allOf": [{"anyOf": [{"maxLength": 0, "minLength": 1}, {"pattern": "^z+$"}]}]});
    assert_eq!(sampled(inner), "z");
}

#[test]
fn embedded_resources_have_a_type() {
    let resource = json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true});
    assert_eq!(
        sampled(resource),
        json!({"apiVersion": "example", "kind": "example"})
    );
}

#[test]
fn a_sample_has_no_fields_that_the_server_drops() {
    let either = |object| {
        schema(
            json!({"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": object}),
        )
    };
    assert_eq!(
        sample(&either(json!({"b": {"type": "integer"}}))),
        Ok(json!({"b": 1}))
    );
    assert!(sample(&either(json!({}))).is_err());
}

#[test]
fn an_unsatisfiable_schema_gives_the_violations() {
    let impossible = schema(json!({"type": "object", "required": ["a"], "properties": {
        "a": {"type": "string", "minLength": 2, "maxLength": 1},
    }}));
    let error = sample(&impossible).unwrap_err();
    assert_eq!(error.violations[0].path, "a");
    assert!(error.closest["a"].is_string());
}

#[test]
fn a_hostile_schema_costs_little() {
    let mut many = json!({"type": "string", "enum": ["never"], "maxLength": 1});
    for _ in 0..20 {
        many = json!({"type": "array", "minItems": 1_000_000, "items": many, "anyOf": [{"maxItems": 9}, {"minItems": 9}]});
    }
    let many = schema(json!({"type": "object", "required": ["a"], "properties": {"a": many}}));
    assert!(sample(&many).is_err());
}

/// Reads every CRD below the folder that the environment variable `CORPUS` names. Without it, the test does nothing.
#[test]
fn nearly_every_real_schema_has_a_valid_sample() {
    let Some(corpus) = std::env::var_os("CORPUS") else {
        return;
    };
    let (mut open, mut good, mut bad) = (vec![std::path::PathBuf::from(corpus)], 0, Vec::new());
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(path.read_dir().unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|it| it == "yaml") {
            let crd: Value =
                serde_yaml::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            for version in crd["spec"]["versions"].as_array().unwrap() {
                let schema = schema(version["schema"]["openAPIV3Schema"].clone());
                match sample(&schema) {
                    Ok(mut value) => {
                        apply_defaults(&schema, &mut value);
                        assert_eq!(violations(&schema, &value), [], "{}", path.display());
                        good += 1;
                    }
                    Err(error) => bad.push((path.clone(), error.violations)),
                }
            }
        }
    }
    println!("{good} good, {} bad", bad.len());
    assert!(bad.len() * 100 < good, "{bad:#?}");
}
