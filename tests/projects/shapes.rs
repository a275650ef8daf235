//! Kinds whose spec, status and conditions are optional, required, nullable, defaulted, open and empty in every combination of two: their
//! projects compile without a warning and pass their own tests.

use std::{path::Path, time::Instant};

use operator_schema::{Schema, sample};
use serde_json::{Map, Value, json};

use crate::{
    pairwise::pairwise,
    project::{Chosen, apis, rust, scaffolds, test, tree, write},
};

/// The factors of a kind, with the values of each.
const FACTORS: [(&str, &str); 14] = [
    (
        "spec",
        "optional, required, nullable, null, default, absent",
    ),
    (
        "spec shape",
        "struct, open, embedded, no properties, any, empty properties",
    ),
    (
        "replicas",
        "optional, required, default, null, nested, string",
    ),
    ("image", "optional, default, nullable, null, enum"),
    (
        "status",
        "optional, required, nullable, null, default, absent",
    ),
    (
        "status shape",
        "struct, open, embedded, no properties, required null, minimum",
    ),
    (
        "conditions",
        "exact, nullable, null, required, default, none fit",
    ),
    (
        "observedGeneration",
        "optional, required, nullable, null, int32",
    ),
    (
        "status replicas",
        "optional, required, nullable, null, default, zero",
    ),
    ("selector", "optional, required, nullable, null, short"),
    (
        "subresources",
        "status and scale, status, scale without selector, none",
    ),
    ("scope", "Namespaced, Cluster"),
    ("cleanup", "no, yes"),
    ("scaffold", "reconciler, declarative, external, handlers"),
];

/// How many values each factor has.
fn sizes() -> Vec<usize> {
    FACTORS
        .iter()
        .map(|(_, values)| values.split(", ").count())
        .collect()
}

/// One value of each factor, by its index. The factors are in their order.
struct Choice<'a>(&'a [usize]);

impl Choice<'_> {
    fn of(&self, factor: &str) -> &'static str {
        let at = FACTORS
            .iter()
            .position(|(name, _)| *name == factor)
            .expect("the factor is in the list");
        let mut values = FACTORS[at].1.split(", ");
        values.nth(self.0[at]).expect("the factor has the value")
    }
}

impl Choice<'_> {
    fn options(&self) -> Chosen {
        (self.of("scaffold"), self.of("cleanup") == "yes")
    }
}

/// Adds a field with this presence: absent, required, nullable, both (`null`), with a default, or else optional.
fn field(
    fields: &mut Map<String, Value>,
    required: &mut Vec<String>,
    name: &str,
    presence: &str,
    mut schema: Value,
) {
    match presence {
        "absent" => return,
        "required" => required.push(name.to_owned()),
        "nullable" => schema["nullable"] = true.into(),
        "null" => {
            schema["nullable"] = true.into();
            required.push(name.to_owned());
        }
        "default" => {
            let read: Schema = serde_json::from_value(schema.clone()).unwrap();
            if let Ok(default) = sample(&read) {
                schema["default"] = default;
            }
        }
        _ => {}
    }
    fields.insert(name.to_owned(), schema);
}

fn object(fields: Map<String, Value>, required: Vec<String>) -> Value {
    json!({"type": "object", "properties": fields, "required": required})
}

/// The schema of an object in this shape.
fn shaped(schema: Value, shape: &str) -> Value {
    let mut schema = schema;
    match shape {
        "open" => schema["x-kubernetes-preserve-unknown-fields"] = true.into(),
        "embedded" => {
            schema["x-kubernetes-embedded-resource"] = true.into();
            schema["properties"]["metadata"] = json!({"type": "object"});
        }
        "no properties" => schema = json!({"type": "object"}),
        "empty properties" => schema = json!({"type": "object", "properties": {}, "required": []}),
        "any" => schema = json!({"x-kubernetes-preserve-unknown-fields": true}),
        "minimum" => schema["minProperties"] = 1.into(),
        _ => {}
    }
    schema
}

fn spec(choice: &Choice<'_>) -> Value {
    let (mut fields, mut required) = (Map::new(), vec![]);
    let replicas = match choice.of("replicas") {
        "string" => json!({"type": "string"}),
        "default" => json!({"type": "integer"}),
        _ => json!({"type": "integer", "format": "int32", "minimum": 0}),
    };
    match choice.of("replicas") {
        "nested" => {
            let size = json!({"type": "integer", "nullable": true, "minimum": 0});
            let pool = json!({"type": "object", "nullable": true, "properties": {"size": size}});
            fields.insert("pool".into(), pool);
        }
        presence => field(&mut fields, &mut required, "replicas", presence, replicas),
    }
    let image = match choice.of("image") {
        "enum" => json!({"type": "string", "enum": ["a", "b"]}),
        _ => json!({"type": "string", "minLength": 1}),
    };
    field(
        &mut fields,
        &mut required,
        "image",
        choice.of("image"),
        image,
    );
    shaped(object(fields, required), choice.of("spec shape"))
}

fn conditions(choice: &Choice<'_>) -> Value {
    let mut item = json!({
        "type": "object",
        "required": ["lastTransitionTime", "message", "reason", "status", "type"],
        "properties": {
            "lastTransitionTime": {"type": "string", "format": "date-time"},
            "message": {"type": "string", "maxLength": 32768},
            "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
            "reason": {"type": "string", "minLength": 1},
            "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
            "type": {"type": "string"},
        },
    });
    let mut list = json!({"type": "array"});
    match choice.of("conditions") {
        "required" => {
            item["properties"]["type"]["enum"] = json!(["Ready", "Other"]);
            item["properties"]["lastUpdateTime"] = json!({"type": "string", "nullable": true});
            item["properties"]["severity"] = json!({"type": "string"});
            item["required"] = json!(["type", "status", "lastUpdateTime"]);
        }
        "default" => item["x-kubernetes-preserve-unknown-fields"] = true.into(),
        "none fit" => list["maxItems"] = 0.into(),
        _ => {}
    }
    list["items"] = item;
    list
}

fn status(choice: &Choice<'_>) -> Value {
    let (mut fields, mut required) = (Map::new(), vec![]);
    let observed = match choice.of("observedGeneration") {
        "int32" => json!({"type": "integer", "format": "int32"}),
        _ => json!({"type": "integer", "format": "int64"}),
    };
    let replicas = match choice.of("status replicas") {
        "required" | "nullable" => json!({"type": "integer", "format": "int32"}),
        "zero" => json!({"type": "integer", "maximum": 0}),
        _ => json!({"type": "integer"}),
    };
    let selector = match choice.of("selector") {
        "short" => json!({"type": "string", "maxLength": 3}),
        _ => json!({"type": "string"}),
    };
    for (name, factor, schema) in [
        ("observedGeneration", "observedGeneration", observed),
        ("replicas", "status replicas", replicas),
        ("selector", "selector", selector),
        ("conditions", "conditions", conditions(choice)),
    ] {
        field(&mut fields, &mut required, name, choice.of(factor), schema);
    }
    let shape = choice.of("status shape");
    if shape == "required null" {
        field(
            &mut fields,
            &mut required,
            "phase",
            "null",
            json!({"type": "string"}),
        );
    }
    shaped(object(fields, required), shape)
}

/// The CRD of a kind, which the API server would accept.
fn definition(number: usize, choice: &Choice<'_>) -> Value {
    let (mut fields, mut required) = (Map::new(), vec![]);
    let spec = spec(choice);
    field(&mut fields, &mut required, "spec", choice.of("spec"), spec);
    field(
        &mut fields,
        &mut required,
        "status",
        choice.of("status"),
        status(choice),
    );
    let path = match choice.of("replicas") {
        "nested" => ".spec.pool.size",
        _ => ".spec.replicas",
    };
    let scale = json!({"specReplicasPath": path, "statusReplicasPath": ".status.replicas"});
    let mut with_selector = scale.clone();
    with_selector["labelSelectorPath"] = ".status.selector".into();
    let subresources = match choice.of("subresources") {
        "status and scale" => json!({"status": {}, "scale": with_selector}),
        "status" => json!({"status": {}}),
        "scale without selector" => json!({"status": {}, "scale": scale}),
        _ => json!({}),
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("shape{number:02}s.example.com")},
        "spec": {
            "group": "example.com",
            "names": {"kind": format!("Shape{number:02}"), "plural": format!("shape{number:02}s")},
            "scope": choice.of("scope"),
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": subresources,
                "schema": {"openAPIV3Schema": object(fields, required)},
            }],
        },
    })
}

/// Compiles and tests `$SHAPES` kinds; `all` of them take some minutes.
#[test]
fn kinds_of_every_shape_compile_and_pass_their_tests() {
    let rows = pairwise(&sizes());
    let wanted = std::env::var("SHAPES").ok();
    let wanted: usize = match wanted.as_deref() {
        None => return,
        Some("all") => rows.len(),
        Some(count) => count.parse().unwrap(),
    };
    // spread over the rows, as the first meet most pairs of the same factors
    let step = rows.len() / wanted.clamp(1, rows.len());
    let chosen: Vec<&Vec<usize>> = rows.iter().step_by(step).take(wanted).collect();
    let definitions: Vec<Value> = chosen
        .iter()
        .enumerate()
        .map(|(number, row)| definition(number, &Choice(row)))
        .collect();
    let apis = apis(&definitions);
    let tree = tree("shapes", &apis, "embed", |at| Choice(chosen[at]).options());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shapes");
    write(&folder, &tree, &apis);
    let start = Instant::now();
    test(&folder);
    eprintln!(
        "{} kinds compiled and tested in {:?}",
        apis.len(),
        start.elapsed()
    );
}

#[test]
fn every_scaffold_is_a_value() {
    let (_, values) = FACTORS.last().expect("there are factors");
    assert_eq!(values.split(", ").collect::<Vec<_>>(), scaffolds());
}

#[test]
fn at_most_sixty_kinds_cover_every_pair_of_values() {
    let rows = pairwise(&sizes());
    assert!(rows.len() <= 60, "{}", rows.len());
}

/// All combinations of the values of the factors of the spec, and of those of the status; without `$SHAPES`, only some of them.
#[test]
fn kinds_of_all_shapes_are_valid_rust() {
    let mut count = 0;
    let sizes = sizes();
    for factors in [&[0, 1, 2, 3][..], &[4, 5, 6, 7], &[4, 5, 8, 9]] {
        let mut row = vec![0; sizes.len()];
        let product: usize = factors.iter().map(|&at| sizes[at]).product();
        let step = match std::env::var_os("SHAPES") {
            Some(_) => 1,
            None => 23,
        };
        for mut rest in (0..product).step_by(step) {
            // the other factors change as well
            for (at, value) in row.iter_mut().enumerate() {
                *value = (count + at) % sizes[at];
            }
            for &at in factors {
                row[at] = rest % sizes[at];
                rest /= sizes[at];
            }
            count += 1;
            let choice = Choice(&row);
            let apis = apis(&[definition(0, &choice)]);
            let mode = ["derive", "embed"][count % 2];
            let tree = tree("shapes", &apis, mode, |_| choice.options());
            for (path, text) in rust(&tree).filter(|(path, _)| path.contains("shape00")) {
                syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}: {row:?}"));
            }
        }
    }
    eprintln!("{count} kinds");
}
