//! Arbitrary objects are valid, and together they cover all that a schema allows.

use operator_schema::{Edge, Objects, Schema, apply_defaults, prune, violations};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn schema(schema: Value) -> Schema {
    serde_json::from_value(schema).unwrap()
}

/// The values of field `a` in a series that covers the whole schema.
fn values(field: Value) -> Vec<Value> {
    let schema = schema(json!({"type": "object", "properties": {"a": field}}));
    let mut objects = Objects::new(&schema, 7);
    let all = objects.cover(1000);
    assert_eq!(objects.coverage().unreached, [], "{field}");
    all.iter().filter_map(|it| it.get("a").cloned()).collect()
}

#[test]
fn all_enum_values_booleans_and_branches_occur() {
    let modes = values(json!({"type": "string", "enum": ["A", "B", "C"], "nullable": true}));
    for mode in ["A", "B", "C"] {
        assert!(modes.contains(&json!(mode)), "{mode} in {modes:?}");
    }
    let either = values(json!({
        "type": "object", "properties": {"x": {"type": "boolean"}, "y": {"type": "string"}},
        "oneOf": [{"required": ["x"]}, {"required": ["y"]}],
    }));
    for shown in [json!({"x": true}), json!({"x": false})] {
        assert!(either.contains(&shown), "{shown} in {either:?}");
    }
    assert!(either.iter().any(|it| it["y"].is_string()));
}

#[test]
fn numbers_occur_at_their_bounds() {
    let limits = |field: Value, least: Value, most: Value| {
        let values = values(field);
        for limit in [least, most] {
            assert!(values.contains(&limit), "{limit} in {values:?}");
        }
    };
    limits(json!({"type": "integer"}), json!(i64::MIN), json!(i64::MAX));
    limits(
        json!({"type": "integer", "format": "int32"}),
        json!(i32::MIN),
        json!(i32::MAX),
    );
    limits(
        json!({"type": "integer", "minimum": 0, "exclusiveMinimum": true, "maximum": 10, "multipleOf": 3}),
        json!(3),
        json!(9),
    );
    limits(
        json!({"type": "number", "minimum": 0.5, "maximum": 2}),
        json!(0.5),
        json!(2.0),
    );
    assert!(
        values(json!({"type": "number"}))
            .iter()
            .any(|it| it.as_f64().is_some_and(|it| it.fract() != 0.0))
    );
}

#[test]
fn integers_and_strings_occur_for_an_int_or_string() {
    let ports = values(
        json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
    );
    assert!(ports.iter().any(Value::is_number) && ports.iter().any(Value::is_string));
}

#[test]
fn empty_null_and_unknown_values_occur() {
    let lists = values(json!({"type": "array", "nullable": true, "items": {"type": "string"}}));
    assert!(lists.contains(&json!([])) && lists.contains(&Value::Null));
    assert!(
        lists
            .iter()
            .any(|it| it.as_array().is_some_and(|it| !it.is_empty()))
    );
    let maps = values(json!({"type": "object", "additionalProperties": {"type": "integer"}}));
    assert!(maps.contains(&json!({})));
    assert!(
        maps.iter()
            .any(|it| it.as_object().unwrap().keys().any(|key| key.contains('/')))
    );
    let open = values(
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"x": {"type": "string"}}}),
    );
    assert!(open.iter().any(|it| it.get("unknownField").is_some()));
}

#[test]
fn embedded_resources_are_resources() {
    for resource in values(
        json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}),
    ) {
        assert!(resource["apiVersion"].is_string() && resource["kind"].is_string());
    }
}

#[test]
fn unreachable_parts_are_reported() {
    let schema = schema(json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "mode": {"type": "string", "enum": ["Good", "Bad"], "pattern": "^G"},
            "count": {"type": "integer", "minimum": 2, "maximum": 1},
        }},
    }}));
    let mut objects = Objects::new(&schema, 0);
    objects.cover(1000);
    let coverage = objects.coverage();
    let names: Vec<_> = coverage
        .unreached
        .iter()
        .map(|it| it.pointer.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "/properties/spec/properties/mode/enum/1",
            "/properties/spec/properties/count",
        ]
    );
    assert!(
        coverage
            .unreached
            .iter()
            .all(|it| !it.violations.is_empty()),
        "{coverage:#?}"
    );
    assert_eq!(coverage.total - coverage.reached, 2);
}

#[test]
fn a_schema_without_valid_objects_gives_an_empty_series() {
    let schema = schema(
        json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "enum": []}}, "not": {}}),
    );
    assert_eq!(Objects::new(&schema, 0).next(), None);
}

#[test]
fn a_hostile_schema_costs_little() {
    let mut many = json!({"type": "string", "maxLength": 1});
    for _ in 0..20 {
        many = json!({"type": "array", "minItems": 1_000_000, "items": many, "anyOf": [{"maxItems": 9}, {"minItems": 9}]});
    }
    let many = schema(json!({"type": "object", "properties": {"a": many}}));
    assert_eq!(Objects::new(&many, 0).take(3).count(), 3);
}

#[test]
fn the_objects_depend_only_on_the_seed() {
    let schema = schema(
        json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}, "b": {"type": "integer"}}}),
    );
    let series = |seed| Objects::new(&schema, seed).take(30).collect::<Vec<_>>();
    assert_eq!(series(1), series(1));
    assert_ne!(series(1), series(2));
}

#[test]
fn an_optional_field_is_omitted_at_every_level() {
    let schema = schema(
        json!({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "object", "properties": {"c": {"type": "string"}}}}}}}),
    );
    let mut objects = Objects::new(&schema, 0);
    let all = objects.cover(1000);
    for shown in [json!({}), json!({"a": {}}), json!({"a": {"b": {}}})] {
        assert!(all.contains(&shown), "{shown} in {all:?}");
    }
    let absent = objects
        .coverage()
        .unreached
        .into_iter()
        .find(|it| it.edge == Some(Edge::Absent));
    assert_eq!(absent, None);
}

fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let (mut open, mut files) = (vec![folder.to_owned()], Vec::new());
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(path.read_dir().unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|it| it == "yaml") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Reads the CRDs of this repository, or those below the folder that the environment variable `CORPUS` names.
#[test]
fn real_schemas_are_covered_by_valid_objects() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/crds");
    let folder = std::env::var_os("CORPUS").map_or(own, PathBuf::from);
    let (mut versions, mut none, mut count) = (0, Vec::new(), 0);
    let (mut reached, mut total, mut complete) = (0, 0, 0);
    for path in yaml_files(&folder) {
        let text = std::fs::read_to_string(&path).unwrap();
        let documents = serde_yaml::Deserializer::from_str(&text);
        let documents = documents.map(|document| Value::deserialize(document).unwrap());
        let versions_of = |crd: Value| {
            let name = crd["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            crd["spec"]["versions"]
                .as_array()
                .cloned()
                .unwrap_or_default()
                .into_iter()
                .map(move |version| (name.clone(), version))
        };
        for (name, version) in documents.flat_map(versions_of) {
            let name = format!("{name} {}", version["name"]);
            let schema = schema(version["schema"]["openAPIV3Schema"].clone());
            versions += 1;
            let began = std::time::Instant::now();
            let mut objects = Objects::new(&schema, 1);
            let mut all = objects.cover(10_000);
            all.extend(objects.by_ref().take(2));
            for object in &all {
                let mut object = object.clone();
                assert_eq!(prune(&schema, &mut object), [""; 0], "{name}");
                apply_defaults(&schema, &mut object);
                assert_eq!(violations(&schema, &object), [], "{name}: {object:#}");
            }
            let coverage = objects.coverage();
            if all.is_empty() {
                none.push(name);
                continue;
            }
            count += all.len();
            reached += coverage.reached;
            total += coverage.total;
            complete += usize::from(coverage.unreached.is_empty());
            let took = began.elapsed();
            if took.as_millis() > 2000 || !coverage.unreached.is_empty() {
                println!(
                    "{name}: {}/{} with {} objects in {took:?}",
                    coverage.reached,
                    coverage.total,
                    all.len()
                );
            }
            for part in coverage.unreached.iter().take(3) {
                let why = part.violations.first().map(ToString::to_string);
                println!(
                    "    {} {:?}: {}",
                    part.pointer,
                    part.edge,
                    why.unwrap_or_default()
                );
            }
        }
    }
    println!(
        "{count} objects of {versions} versions reach {reached} of {total}; {complete} versions are reached as a whole, {none:?} have no object"
    );
    assert!(none.len() * 100 <= versions, "{none:?}");
    assert!(reached * 100 >= total * 98, "{reached} of {total}");
}
