//! Which code a new schema affects, by the names alone: these projects are not built. `tests/replay/` uses rustc.

use std::{fs, path::Path};

use serde_json::Value;

use crate::support::{edit, folder, ok, project, with_v2};

const SPEC: &str = "crds/widgets.example.com.yaml";

/// What a command reports about the user's code: `FILE: the line: the message`.
fn affected_code(p: &Path, args: &str) -> Vec<String> {
    let run = ok(p, &format!("{args} --dry-run --format json"));
    let output: Value = serde_json::from_str(&run.stdout).unwrap();
    let found = output["diagnostics"].as_array().unwrap().iter();
    let found = found.filter(|found| found["code"] == "touched-code");
    let shown = |found: &Value| {
        let file = found["file"].as_str().unwrap();
        let text = fs::read_to_string(p.join(file)).unwrap();
        let line = text
            .lines()
            .nth(found["line"].as_u64().unwrap() as usize - 1);
        format!(
            "{file}: {}: {}",
            line.unwrap().trim(),
            found["message"].as_str().unwrap()
        )
    };
    found.map(shown).collect()
}

fn append(p: &Path, path: &str, text: &str) {
    edit(&p.join(path), |old| old + text);
}

#[test]
fn code_that_uses_removed_items_is_reported_with_its_line() {
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
    let output: Value = serde_json::from_str(&run.stdout).unwrap();
    let places: Vec<String> = output["diagnostics"]
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
    // `--check` is quick, and reports only stale files
    let run = crate::support::run(&p, "regenerate --check");
    assert!(!run.stderr.contains("touched-code"), "{}", run.stderr);
}

#[test]
fn the_import_of_an_outdated_version_is_reported_once() {
    let folder = project();
    let p = folder.path().join("p");
    edit(&p.join(SPEC), with_v2);
    edit(&p.join("operator.toml"), |text| {
        text.replace(r#"versions = ["v1"]"#, r#"versions = ["v1", "v2"]"#)
    });
    ok(&p, "regenerate");
    append(
        &p,
        "src/lib.rs",
        "\nuse api::widget::v2::{Widget, WidgetSpec};\n\npub fn mine(of: WidgetSpec) -> Widget {\n    Widget::new(\"x\", of)\n}\n\npub type Mine = crate::api::widget::v2::WidgetStatus;\n",
    );
    let unserved = |version: &str| {
        let was = format!("name: {version}\n    served: true");
        edit(&p.join(SPEC), |text| {
            assert!(text.contains(&was));
            text.replace(&was, &was.replace("true", "false"))
        });
    };
    unserved("v2");
    let affected = affected_code(&p, "regenerate --allow-breaking");
    let expected = "src/lib.rs: use api::widget::v2::{Widget, WidgetSpec};: \
                    v2 of Widget is no longer served, so its requests get 404; objects are stored as v1";
    assert_eq!(affected, [expected]);
    let run = ok(&p, "regenerate --allow-breaking");
    assert!(
        run.stderr
            .contains("help: all of it still compiles, because the types do not change\n"),
        "{}",
        run.stderr
    );

    edit(&p.join(SPEC), |text| {
        let (first, second) = text.split_once("name: v2").unwrap();
        first.replace("storage: true", "storage: false")
            + "name: v2"
            + &second
                .replace("storage: false", "storage: true")
                .replace("served: false", "served: true")
    });
    let imports = |message: &str| {
        [
            (
                "src/controllers/widget.rs",
                "use crate::api::widget::v1::Widget;",
            ),
            ("tests/all/widget.rs", "use p::api::widget::v1::Widget;"),
        ]
        .map(|(file, line)| format!("{file}: {line}: {message}"))
    };
    let stored = "v2 of Widget is now the storage version, and this uses v1";
    let affected = affected_code(&p, "regenerate --allow-breaking");
    assert_eq!(affected, imports(stored));
    let both = fs::read_to_string(p.join(SPEC)).unwrap();
    unserved("v1");
    let served =
        "v1 of Widget is no longer served, so its requests get 404; objects are stored as v2";
    let affected = affected_code(&p, "regenerate --allow-breaking");
    assert_eq!(affected, imports(served));
    fs::write(p.join(SPEC), both).unwrap();
    ok(&p, "regenerate --allow-breaking");

    edit(&p.join(SPEC), |text| {
        let (start, _) = text.split_once("  - name: v1").unwrap();
        let (_, end) = text.split_once("  - name: v2").unwrap();
        format!("{start}  - name: v2{end}")
    });
    let affected = affected_code(&p, "regenerate --allow-breaking");
    let gone = "`api::widget::v1` is removed; objects are stored as v2";
    assert_eq!(affected, imports(gone));
}

#[test]
fn code_that_is_removed_with_its_kind_is_not_reported() {
    let folder = project();
    let p = folder.path().join("p");
    assert_eq!(affected_code(&p, "remove Widget"), [""; 0]);
    // a file that stays is no longer compiled; a note names it
    append(&p, "src/controllers/widget.rs", "// mine\n");
    assert_eq!(affected_code(&p, "remove Widget"), [""; 0]);
    // a test that stays is still compiled
    append(&p, "tests/all/widget.rs", "// mine\n");
    append(
        &p,
        "src/lib.rs",
        "\nuse api::widget::v1::{Widget, WidgetSpec};\nuse controllers::widget;\n",
    );
    let affected = [
        "src/lib.rs: use api::widget::v1::{Widget, WidgetSpec};: `api::widget` is removed",
        "src/lib.rs: use controllers::widget;: `controllers::widget` is removed",
        "tests/all/widget.rs: use p::api::widget::v1::Widget;: `api::widget` is removed",
    ];
    assert_eq!(affected_code(&p, "remove Widget"), affected);
    let state = fs::read_to_string(p.join("operator.toml")).unwrap();
    edit(&p.join("operator.toml"), |text| {
        text.split_once("[[kind]]").unwrap().0.to_owned()
    });
    assert_eq!(affected_code(&p, "regenerate"), affected);

    let other = state.replace("scaffold =", "as = \"gadget\"\nscaffold =");
    fs::write(p.join("operator.toml"), other).unwrap();
    let affected = [
        "src/lib.rs: use api::widget::v1::{Widget, WidgetSpec};: `api::widget` is now `api::gadget`",
        "src/lib.rs: use controllers::widget;: `controllers::widget` is now `controllers::gadget`",
        "tests/all/widget.rs: use p::api::widget::v1::Widget;: `api::widget` is now `api::gadget`",
    ];
    assert_eq!(affected_code(&p, "regenerate"), affected);
}

#[test]
fn a_type_that_loses_default_is_reported_where_default_is_used() {
    let folder = folder();
    let bound = "                minimum: 1\n";
    edit(&folder.path().join("widget.yaml"), |text| {
        assert!(text.contains(bound));
        text.replace(bound, "")
    });
    ok(folder.path(), "init p --crd widget.yaml");
    let p = folder.path().join("p");
    append(
        &p,
        "src/lib.rs",
        "\npub fn mine() -> api::widget::v1::WidgetSpec {\n    api::widget::v1::WidgetSpec { replicas: Some(1), ..Default::default() }\n}\n",
    );
    edit(&p.join(SPEC), |text| {
        text.replacen("format: int32\n", &format!("format: int32\n{bound}"), 1)
    });
    let expected = "src/lib.rs: api::widget::v1::WidgetSpec { replicas: Some(1), ..Default::default() }: \
                    `WidgetSpec` no longer implements `Default`";
    assert_eq!(affected_code(&p, "regenerate --allow-breaking"), [expected]);
}
