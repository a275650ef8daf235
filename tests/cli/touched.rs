//! Which code a new schema touches, by the names alone: nothing of these projects is built. `tests/replay/` asks rustc.

use std::fs;

use crate::support::{edit, ok, project};

#[test]
fn code_that_uses_what_goes_is_named_with_its_line() {
    let folder = project();
    let p = folder.path().join("p");
    edit(&p.join("src/lib.rs"), |text| {
        text + "\npub fn mine(size: i32) -> api::widget::v1::WidgetSpec {\n    api::widget::v1::WidgetSpec { size, replicas: None }\n}\n"
    });
    let lines = fs::read_to_string(p.join("src/lib.rs"))
        .unwrap()
        .lines()
        .count();
    let code = fs::read_to_string(p.join("src/controllers/widget.rs")).unwrap();
    let line = 1 + code
        .lines()
        .position(|line| line.contains("widget.spec.replicas"))
        .unwrap();
    edit(&p.join("crds/widgets.example.com.yaml"), |text| {
        let replicas = "              replicas:\n                description: How many there are.\n                type: integer\n                format: int32\n";
        assert!(text.contains(replicas));
        text.replace(replicas, "              colour: {type: string}\n")
    });
    let run = ok(&p, "regenerate --dry-run --format json --allow-breaking");
    let told: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let places: Vec<String> = told["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|found| found["code"] == "touched-code")
        .map(|found| format!("{}:{}", found["file"].as_str().unwrap(), found["line"]))
        .collect();
    assert!(
        places.contains(&format!("src/controllers/widget.rs:{line}")),
        "{places:?}"
    );
    assert!(
        places.contains(&format!("src/lib.rs:{}", lines - 1)),
        "{places:?}"
    );
    // a check is quick, and tells what is stale alone
    let run = crate::support::run(&p, "regenerate --check");
    assert!(!run.stderr.contains("touched-code"), "{}", run.stderr);
}
