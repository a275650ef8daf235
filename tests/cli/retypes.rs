//! What is reported about fields whose type changes.

use std::fs;

use crate::support::{WIDGET, edit, ok, project};

const CONDITION: &str = "                  - type
                  - status
                  properties:
                    type:
                      type: string
                    status:
                      type: string
                    message:
                      type: string
";

/// The condition of metav1.
const WHOLE: &str = "                  - type
                  - status
                  - lastTransitionTime
                  - reason
                  - message
                  properties:
                    type: {type: string}
                    status: {type: string}
                    lastTransitionTime: {type: string, format: date-time}
                    reason: {type: string}
                    message: {type: string}
                    observedGeneration: {type: integer, format: int64}
";

#[test]
fn a_retyped_field_is_reported_and_an_added_one_is_not() {
    let folder = project();
    let p = folder.path().join("p");
    edit(&p.join("crds/widgets.example.com.yaml"), |text| {
        let grown = text.replace(CONDITION, WHOLE).replace(
            "              size:\n",
            "              color: {type: string}\n              size:\n",
        );
        assert_eq!(text, WIDGET);
        assert!(grown.contains(WHOLE), "{grown}");
        grown
    });
    let run = ok(&p, "regenerate --dry-run --format json --allow-breaking");
    let output: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let retypes: Vec<_> = output["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|found| found["code"] == "retyped")
        .collect();
    assert_eq!(retypes.len(), 1, "{retypes:?}");
    assert_eq!(
        retypes[0]["pointer"],
        "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/conditions"
    );
    let message = "the type of `status.conditions` in v1 was `Option<Vec<WidgetStatusConditions>>` and is now `Option<Vec<Condition>>`";
    assert_eq!(retypes[0]["message"], message);
    let run = ok(&p, "regenerate --allow-breaking");
    assert!(run.stderr.contains(message), "{}", run.stderr);
    // it is reported only once
    let run = ok(&p, "regenerate");
    assert!(!run.stderr.contains("retyped"), "{}", run.stderr);
    let record = fs::read_to_string(p.join(".operator/types/widget/v1")).unwrap();
    assert!(
        record.contains("  conditions: Option<Vec<Condition>>\n"),
        "{record}"
    );
}
