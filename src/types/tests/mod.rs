mod foreign;
mod growth;

use super::{module, name};
use crate::{
    crd::{self, Api},
    types::SchemaMode,
};

/// The CRD of `Widget`, whose root has these properties: YAML that is indented by ten columns.
pub(super) fn definition(properties: &str) -> Api {
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
    crd::read("widget.yaml", &text).unwrap().remove(0)
}

/// The module of this CRD.
fn widget(properties: &str) -> String {
    let api = definition(properties);
    module(&api, &api.versions[0], SchemaMode::Derive).text
}

/// The text of this module from the first type on.
fn types(properties: &str) -> String {
    let text = widget(properties);
    text.split_once("\n\n")
        .map(|(_, types)| types.to_owned())
        .unwrap()
}

#[test]
fn any_text_of_a_keyword_stays_in_its_literal() {
    let text =
        widget("          spec: {type: object, properties: {a: {type: string, 'od\"d': 1}}}");
    assert!(text.contains(r##"r#"od"d"# = 1"##), "{text}");
    // rustc rejects what changes the writing direction, in comments too
    let text = widget(
        r#"          spec: {type: object, properties: {a: {type: string, default: "\u202e'\\'\n"}}}"#,
    );
    assert!(text.contains(r#""default" = "\u{202e}'\\'\n""#), "{text}");
    assert!(!text.contains('\u{202e}'), "{text}");
}

/// Compares with `tests/snapshots/types/<name>.snap`.
fn snapshot(name: &str, text: &str) {
    insta::with_settings!({
        snapshot_path => concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots/types"),
        prepend_module_to_snapshot => false,
    }, { insta::assert_snapshot!(name, text) });
}

#[test]
fn fields_of_every_type() {
    snapshot(
        "fields_of_every_type",
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
fn an_object_is_a_struct_without_fields_only_where_the_server_drops_them() {
    let text = types(
        "
          spec:
            type: object
            properties:
              marker: {type: object}
              any: {type: object, x-kubernetes-preserve-unknown-fields: true}
              all: {type: object, additionalProperties: true}
              part:
                type: object
                x-kubernetes-embedded-resource: true
                properties:
                  metadata: {type: object}
                  spec: {type: object}
",
    );
    for expected in [
        "pub struct WidgetSpecMarker {}",
        "pub any: Option<BTreeMap<String, serde_json::Value>>",
        "pub all: Option<BTreeMap<String, serde_json::Value>>",
        "pub metadata: Option<BTreeMap<String, serde_json::Value>>",
        "pub struct WidgetSpecPartSpec {}",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert_eq!(text.matches(" {}\n").count(), 2, "{text}");
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
fn keywords_become_attributes() {
    snapshot(
        "keywords_become_attributes",
        &types(
            "
          spec:
            type: object
            required: [size, hosts, note]
            x-kubernetes-validations: [{rule: self.size > 0, message: must not be empty}]
            properties:
              size: {type: integer, format: int32, minimum: 1, maximum: 9, multipleOf: 2}
              big: {type: integer, maximum: 9999999999}
              mode: {type: string, enum: [a, b, null], nullable: true, default: a}
              hosts: {type: array, minItems: 1, x-kubernetes-list-type: set, items: {type: string, maxLength: 63, pattern: '^[a-z]+$'}}
              note: {type: string, nullable: true, minLength: 1}
              at: {type: string, format: date-time}
              quota: {anyOf: [{type: integer}, {type: string}], x-kubernetes-int-or-string: true, description: How much.}
              ports: {type: object, additionalProperties: {x-kubernetes-int-or-string: true}}
              source:
                type: object
                properties: {a: {type: string}, b: {type: string}}
                oneOf: [{required: [a]}, {required: [b]}]
          status:
            type: object
            nullable: true
            properties:
              conditions:
                type: array
                items:
                  type: object
                  required: [lastTransitionTime, message, reason, status, type]
                  properties:
                    lastTransitionTime: {type: string, format: date-time}
                    message: {type: string}
                    observedGeneration: {type: integer, format: int64}
                    reason: {type: string}
                    status: {type: string}
                    type: {type: string}
",
        ),
    );
}

#[test]
fn a_default_that_a_literal_can_express_gives_an_accessor() {
    let text = types(
        "
          spec:
            type: object
            properties:
              replicas: {type: integer, format: int32, default: 1}
              mode: {type: string, enum: [fast, safe], default: safe}
              clone: {type: string, default: a}
              port: {x-kubernetes-int-or-string: true, default: 25%}
              args: {type: array, items: {type: string}, default: []}
              maybe: {type: boolean, nullable: true, default: true}
              ratio: {type: number, default: 0.5}
",
    );
    let (_, text) = text.split_once("\nimpl WidgetSpec {").unwrap();
    let (text, _) = text.split_once("\n}\n").unwrap();
    snapshot(
        "a_default_that_a_literal_can_express_gives_an_accessor",
        text,
    );
}

#[test]
fn an_accessor_hides_no_method_of_a_trait() {
    for wire in ["clone", "cloneFrom", "ne", "toOwned", "tryFrom", "typeId"] {
        let text = types(&format!(
            "\n          spec: {{type: object, properties: {{{wire}: {{type: string, default: a}}}}}}\n"
        ));
        let method = format!("    pub fn {}_(&self) -> &str {{\n", name::field(wire));
        assert!(text.contains(&method), "{method}{text}");
    }
}

#[test]
fn a_shared_type_has_one_default_for_a_field() {
    let api = definition(
        "
          spec:
            type: object
            properties:
              first: {type: object, properties: {a: {type: integer, default: 1}}}
              second: {type: object, default: {}, properties: {a: {type: integer, default: 1}}}
              third: {type: object, properties: {a: {type: integer, default: 3}}}
",
    );
    for mode in [SchemaMode::Derive, SchemaMode::Embed] {
        let text = module(&api, &api.versions[0], mode).text;
        assert!(
            text.contains("pub type WidgetSpecSecond = WidgetSpecFirst;"),
            "{text}"
        );
        assert!(text.contains("impl WidgetSpecThird {"), "{text}");
    }
}

#[test]
fn keywords_without_an_attribute_become_parts() {
    let api = definition(
        "
          spec:
            type: object
            properties:
              list: {type: string, description: \"One of\\n- <a>\\n- <b>\"}
              map:
                type: object
                additionalProperties: {type: array, maxItems: 2, items: {type: object, properties: {a: {type: string}}}}
          metadata: {type: object, properties: {name: {type: string, maxLength: 8}}}
",
    );
    let module = module(&api, &api.versions[0], SchemaMode::Derive);
    let parts = [
        "/properties/metadata",
        "/properties/spec/properties/list/description",
        "/properties/spec/properties/map/additionalProperties/maxItems",
    ];
    assert_eq!(module.parts, parts);
    let (_, text) = module.text.split_once("const PARTS").unwrap();
    snapshot("keywords_without_an_attribute_become_parts", text);
}

#[test]
fn schemas_with_different_bounds_are_two_types_in_both_modes() {
    let api = definition(
        "
          spec:
            type: object
            properties:
              first: {type: object, properties: {a: {type: string, maxLength: 1}}}
              second: {type: object, nullable: true, properties: {a: {type: string, maxLength: 1}}}
              third: {type: object, properties: {a: {type: string, maxLength: 3}}}
",
    );
    for mode in [SchemaMode::Derive, SchemaMode::Embed] {
        let text = module(&api, &api.versions[0], mode).text;
        let alias = "pub type WidgetSpecSecond = WidgetSpecFirst;";
        assert!(text.contains(alias), "{text}");
        assert!(text.contains("pub struct WidgetSpecThird {"), "{text}");
    }
}

#[test]
fn a_module_with_an_embedded_schema_does_not_use_schemars() {
    let api = definition("          spec: {type: object, properties: {a: {type: string}}}\n");
    let text = module(&api, &api.versions[0], SchemaMode::Embed).text;
    assert!(!text.contains("schemars"), "{text}");
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

#[test]
fn wire_names_with_the_same_rust_name_are_spelled_out() {
    snapshot(
        "wire_names_with_the_same_rust_name_are_spelled_out",
        &types(
            "
          spec:
            type: object
            properties:
              hostAliases: {type: object, properties: {a: {type: string}}}
              host_aliases: {type: object, properties: {b: {type: string}}}
              protocol: {type: string, enum: [http, HTTP, Http]}
              self: {type: string}
              unknownFields: {type: boolean}
            x-kubernetes-preserve-unknown-fields: true
",
        ),
    );
}

#[test]
fn values_of_any_type_derive_structural_schemas() {
    snapshot(
        "values_of_any_type_derive_structural_schemas",
        &types(
            "
          spec:
            type: object
            required: [one]
            properties:
              one: {x-kubernetes-preserve-unknown-fields: true}
              object: {type: object, x-kubernetes-preserve-unknown-fields: true}
              list: {type: array, items: {x-kubernetes-preserve-unknown-fields: true}}
              lists: {type: object, additionalProperties: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
",
        ),
    );
}

#[test]
fn the_unknown_fields_of_a_root_are_kept() {
    let text = widget(
        "          spec: {type: object}\n        x-kubernetes-preserve-unknown-fields: true\n",
    );
    for part in [
        "#[serde(flatten, deserialize_with = \"unknown_fields\")]",
        "for (name, value) in &self.unknown_fields {",
        "fields.retain(|name: &String, _| name != \"apiVersion\" && name != \"kind\");",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}
