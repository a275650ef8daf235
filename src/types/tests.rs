use crate::{crd, project::SchemaMode};

use super::module;

/// The module of a definition `Widget` whose root has these properties, in YAML at ten columns.
fn widget(properties: &str) -> String {
    let text = format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
spec:
  group: example.com
  names: {{kind: Widget, plural: widgets}}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
{properties}"
    );
    let api = crd::read("widget.yaml", &text).unwrap().remove(0);
    module(&api, &api.versions[0], SchemaMode::Derive).text
}

/// The text from the first definition on.
fn types(properties: &str) -> String {
    let text = widget(properties);
    text.split_once("\n\n")
        .map(|(_, types)| types.to_owned())
        .unwrap()
}

/// Compares with `tests/snapshots/types/<name>.snap`.
fn snapshot(name: &str, text: &str) {
    insta::with_settings!({
        snapshot_path => concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots/types"),
        prepend_module_to_snapshot => false,
    }, { insta::assert_snapshot!(name, text) });
}

#[test]
fn fields_of_every_sort() {
    snapshot(
        "fields_of_every_sort",
        &types(
            "
          spec:
            type: object
            required: [name, ports, mode]
            properties:
              name: {type: string, description: What it is called.}
              count: {type: integer, format: int32}
              bytes: {type: integer}
              ratio: {type: number}
              clusterIP: {type: string}
              type: {type: string, nullable: true}
              mode: {type: string, enum: ['On', 'off', '']}
              target: {x-kubernetes-int-or-string: true}
              labels: {type: object, additionalProperties: {type: string}}
              any: {x-kubernetes-preserve-unknown-fields: true}
              ports:
                type: array
                items:
                  type: object
                  properties: {port: {type: integer}}
",
        ),
    );
}

#[test]
fn equal_shapes_are_one_type_and_every_path_keeps_its_name() {
    snapshot(
        "equal_shapes_are_one_type_and_every_path_keeps_its_name",
        &types(
            "
          spec:
            type: object
            properties:
              first: {type: object, description: One., properties: {a: {type: string}}}
              second: {type: object, description: Two., properties: {a: {type: string}}}
              third: {type: object, properties: {a: {type: integer}}}
",
        ),
    );
}

#[test]
fn unknown_fields_are_kept_beside_known_ones() {
    snapshot(
        "unknown_fields_are_kept_beside_known_ones",
        &types(
            "
          spec:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            properties: {other: {type: string}}
",
        ),
    );
}

#[test]
fn a_root_that_kube_derive_cannot_express_is_a_plain_struct() {
    snapshot(
        "a_root_that_kube_derive_cannot_express_is_a_plain_struct",
        &widget(
            "
          spec: {type: object, properties: {a: {type: string}}}
          data: {type: object, additionalProperties: {type: string}}
",
        ),
    );
}

#[test]
fn a_new_optional_field_renames_nothing() {
    let before = types(
        "\n          spec: {type: object, properties: {b: {type: object, properties: {c: {type: string, enum: [x]}}}}}\n",
    );
    let after = types(
        "\n          spec: {type: object, properties: {a: {type: object, properties: {c: {type: string}}}, b: {type: object, properties: {c: {type: string, enum: [x]}}}}}\n",
    );
    for line in before.lines().filter(|line| line.starts_with("pub ")) {
        assert!(after.contains(line), "{line}\n{after}");
    }
}
