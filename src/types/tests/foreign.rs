//! Types of k8s-openapi in a module, and what becomes of names that two types or two functions would have.

use super::{definition, snapshot, widget};
use crate::{
    crd,
    types::SchemaMode,
    types::{module, retyped},
};

const TOLERATIONS: &str = "
          spec:
            type: object
            description: Where a <Pod> may be.
            properties:
              tolerations:
                type: array
                items:
                  type: object
                  example: {description: a <b>}
                  description: \"Of a <key>\\n with a value\"
                  properties:
                    effect: {type: string}
                    key: {type: string, description: \"The <key>\\n  it has\"}
                    operator: {type: string}
                    tolerationSeconds: {type: integer, format: int64}
                    value: {type: string}
";

#[test]
fn a_type_of_k8s_openapi_has_its_schema_from_a_function() {
    snapshot(
        "a_type_of_k8s_openapi_has_its_schema_from_a_function",
        &widget(TOLERATIONS),
    );
}

#[test]
fn a_type_of_k8s_openapi_yields_its_name_to_one_of_the_kind() {
    let text = definition(TOLERATIONS)
        .text
        .replace("kind: Widget", "kind: Toleration");
    let api = crd::read("toleration.yaml", &text).unwrap().remove(0);
    let text = module(&api, &api.versions[0], SchemaMode::Embed).text;
    assert!(text.contains("pub struct Toleration {"), "{text}");
    assert!(
        text.contains("Option<Vec<k8s_openapi::api::core::v1::Toleration>>"),
        "{text}"
    );
    assert!(!text.contains("use k8s_openapi::api::core"), "{text}");
}

#[test]
fn a_name_taken_by_a_shorter_path_is_reported() {
    let record = |properties| {
        let api = definition(properties);
        module(&api, &api.versions[0], SchemaMode::Derive)
            .facts
            .record()
    };
    let before = record(
        "\n          spec: {type: object, properties: {foo: {type: object, properties: {bar: {type: object, properties: {a: {type: string}}}}}}}\n",
    );
    let after = record(
        "\n          spec: {type: object, properties: {foo: {type: object, properties: {bar: {type: object, properties: {a: {type: string}}}}}, fooBar: {type: object, properties: {b: {type: string}}}}}\n",
    );
    let retypes = retyped(&before, &after);
    assert_eq!(retypes.len(), 1, "{retypes:?}");
    assert_eq!(retypes[0].before, "Option<WidgetSpecFooBar>");
    assert_eq!(retypes[0].after, "Option<WidgetDotSpecDotFooDotBar>");
}

#[test]
fn fields_with_the_same_function_name_both_have_attributes() {
    let selector = |text: &str| {
        format!(
            "{{type: object, description: {text}, properties: {{matchLabels: {{type: object, description: {text}, additionalProperties: {{type: string}}}}, matchExpressions: {{type: array, items: {{type: object, required: [key, operator], properties: {{key: {{type: string}}, operator: {{type: string}}, values: {{type: array, items: {{type: string}}}}}}}}}}}}}}"
        )
    };
    let api = definition(&format!(
        "
          spec:
            type: object
            properties:
              foo: {{type: object, properties: {{barSelector: {}}}}}
              fooBar: {{type: object, properties: {{selector: {}}}}}
",
        selector("One."),
        selector("Two.")
    ));
    let module = module(&api, &api.versions[0], SchemaMode::Derive);
    assert_eq!(module.parts, [""; 0]);
    for name in [
        "widget_spec_foo_bar_selector",
        "widget_dot_spec_dot_foo_bar_dot_selector",
    ] {
        let call = format!("#[schemars(extend(\"properties\" = {name}()))]");
        assert!(module.text.contains(&call), "{call}\n{}", module.text);
    }
}
