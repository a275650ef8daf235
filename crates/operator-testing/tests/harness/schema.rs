//! The schema of a kind, evaluated without a server.

use kube::CustomResource;
use operator_testing::schema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(group = "example.com", version = "v1", kind = "Widget", namespaced)]
struct WidgetSpec {
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "self >= oldSelf", "message": "it never shrinks"}]))]
    size: i32,
}

#[test]
fn a_transition_rule_is_evaluated_for_an_update() {
    let widget = |size| json!(Widget::new("small", WidgetSpec { size }));
    let schema = schema::<Widget>();
    assert!(schema.validate(&widget(1)).is_valid());
    assert!(schema.validate_update(&widget(1), &widget(2)).is_valid());
    let refused = schema.validate_update(&widget(2), &widget(1));
    let [violation] = refused.violations.as_slice() else {
        panic!("{refused:?}");
    };
    let expected = "spec.size: Invalid value: 1: it never shrinks";
    assert_eq!(violation.to_string(), expected);
}
