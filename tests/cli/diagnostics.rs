//! How diagnostics and errors are printed: with their place in the user's file, its lines, and a cure.

use std::fs;

use serde_json::Value;

use super::support::{WIDGET, folder, ok, project, run, run_with};

/// The CRD with two fields that have no type, the first of which is `extra`.
fn odd() -> String {
    let odd = WIDGET.replace(
        "              size:\n",
        "              extra: {x-kubernetes-preserve-unknown-fields: true}\n              more: {x-kubernetes-preserve-unknown-fields: true}\n              size:\n",
    );
    assert_ne!(odd, WIDGET);
    odd
}

fn line_of(text: &str, part: &str) -> usize {
    text.lines().position(|line| line.contains(part)).unwrap() + 1
}

#[test]
fn a_diagnostic_shows_the_lines_of_the_crd() {
    let folder = folder();
    fs::write(folder.path().join("odd.yaml"), odd()).unwrap();
    let run = ok(folder.path(), "types odd.yaml");
    let line = line_of(&odd(), "extra:");
    let shown = format!(
        "\
note[untyped]: Widget.example.com: the schema does not say which type a value has (2 such places)
  --> odd.yaml:{line}:15
"
    );
    assert!(run.stderr.contains(&shown), "{}", run.stderr);
    for part in [
        "extra: {x-kubernetes-preserve-unknown-fields: true}\n",
        "^^^^^ its type is `serde_json::Value`\n",
        "= at: /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/extra\n",
        "= help: add a `type`",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    let hint = "for more: cargo operator explain untyped\n";
    assert!(run.stderr.ends_with(hint), "{}", run.stderr);
    assert_eq!(run.stderr.matches("for more").count(), 1);
    assert!(
        !run.stderr.contains('\u{1b}'),
        "no colour but on a terminal"
    );
}

#[test]
fn a_chart_without_its_crds_is_reported() {
    let folder = folder();
    let p = folder.path();
    // Helm compresses a release, but hardly this
    let mut number = 1_u64;
    let long: String = std::iter::repeat_with(|| {
        number = number
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        char::from(b'a' + (number >> 33) as u8 % 26)
    })
    .take(2_100_000)
    .collect();
    let large = WIDGET.replace(
        "              size:\n",
        &format!(
            "              text: {{type: string, description: {long}}}\n              size:\n"
        ),
    );
    fs::write(p.join("large.yaml"), large).unwrap();
    ok(p, "init p --crd large.yaml");
    let chart = ok(&p.join("p"), "gen-manifests --helm --image localhost/p:1");
    let note = "note[helm-limit]: p: the CRDs are too large for a release of Helm\n";
    assert!(chart.stderr.contains(note), "{}", chart.stderr);
    let next = "next: helm install p charts/p --namespace p --create-namespace\n";
    assert!(chart.stderr.contains(next), "{}", chart.stderr);
    assert!(!p.join("p/charts/p/templates/crds").exists());
    assert!(p.join("p/charts/p/Chart.yaml").exists());
}

#[test]
fn lists_and_json_have_the_lines_of_their_own_file() {
    let folder = folder();
    let value: Value = yaml_serde(&odd());
    let list =
        serde_json::json!({"apiVersion": "v1", "kind": "List", "items": [{"kind": "Pod"}, value]});
    let json = format!("{list:#}");
    fs::write(folder.path().join("list.json"), &json).unwrap();
    let run = ok(folder.path(), "types list.json");
    let place = format!("--> list.json:{}:", line_of(&json, "\"extra\""));
    assert!(run.stderr.contains(&place), "{}", run.stderr);
    let text = odd().replace('\n', "\n  ");
    let yaml = format!(
        "# first\n---\nkind: List\nitems:\n- kind: Pod\n- {}\n",
        text.trim_end()
    );
    let run = run_with(folder.path(), "types -", &yaml);
    let place = format!("--> -:{}:17", line_of(&yaml, "extra:"));
    assert!(run.stderr.contains(&place), "{}", run.stderr);
}

fn yaml_serde(text: &str) -> Value {
    serde_yaml::from_str(text).unwrap()
}

#[test]
fn json_has_the_location_and_the_code() {
    let folder = folder();
    fs::write(folder.path().join("odd.yaml"), odd()).unwrap();
    let run = ok(folder.path(), "types odd.yaml --out types --format json");
    let value: Value = serde_json::from_str(&run.stdout).unwrap();
    let mut found = value["diagnostics"][0].clone();
    found.as_object_mut().unwrap().sort_keys();
    let expected = serde_json::json!({
        "code": "untyped", "column": 15, "file": "odd.yaml", "help": "add a `type` if the CRD is yours",
        "instead": "its type is `serde_json::Value`", "kind": "Widget.example.com", "line": line_of(&odd(), "extra:"),
        "message": "the schema does not say which type a value has (2 such places)",
        "pointer": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/extra", "severity": "note",
    });
    assert_eq!(found.to_string(), expected.to_string());
}

#[test]
fn errors_have_the_same_layout() {
    let folder = project();
    let bad = WIDGET.replace("scope: Namespaced", "scope: Global");
    let run = run_with(folder.path(), "types -", &bad);
    assert_eq!(run.code, 2);
    let place = format!("--> -:{}:3", line_of(&bad, "scope:"));
    for part in [
        "error[not-a-definition]: ",
        &place,
        "^^^^^^^^^^^^^",
        "= at: /spec/scope",
        "= help: ",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    let p = folder.path().join("p");
    let state = fs::read_to_string(p.join("operator.toml")).unwrap();
    for (text, shown) in [
        (
            state.replace("name = \"p\"", "name = \"P!\""),
            "name = \"P!\"",
        ),
        (state.replace("name = \"p\"", "name = "), "name = "),
    ] {
        fs::write(p.join("operator.toml"), text).unwrap();
        let run = super::run(&p, "regenerate");
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains("operator.toml:3:"), "{}", run.stderr);
        assert!(run.stderr.contains(shown), "{}", run.stderr);
    }
}

#[test]
fn codes_are_explained() {
    let folder = folder();
    let one = ok(folder.path(), "explain untyped").stdout;
    assert!(
        one.starts_with("## untyped\n") && one.contains("What to do:"),
        "{one}"
    );
    let all = ok(folder.path(), "explain").stdout;
    assert!(all.contains("\nuntyped "), "{all}");
    let none = run(folder.path(), "explain untypd");
    assert_eq!(none.code, 2);
    assert!(
        none.stderr.contains("the nearest code is `untyped`"),
        "{}",
        none.stderr
    );
    let script = ok(folder.path(), "completions bash").stdout;
    assert!(script.contains("explain"));
}

/// The CRD with a rule for `spec.size`.
fn ruled(rule: &str) -> String {
    let size = "              size:\n";
    let rules = format!("x-kubernetes-validations: [{{rule: \"{rule}\"}}]");
    let ruled = WIDGET.replace(size, &format!("{size}                {rules}\n"));
    assert_ne!(ruled, WIDGET);
    ruled
}

#[test]
fn a_rule_that_the_api_server_refuses_is_an_error_where_the_crd_is_installed() {
    let folder = folder();
    let p = folder.path();
    let write = |rule: &str| fs::write(p.join("ruled.yaml"), ruled(rule)).unwrap();
    write("self != 'a'");
    let refused = "the API server refuses this rule: no matching overload for '_!=_' applied to '(int, string)'\n";
    let line = line_of(&ruled(""), "x-kubernetes-validations");
    for command in [
        "types ruled.yaml",
        "init foreign --crd ruled.yaml --types-only",
    ] {
        let shown = ok(p, command).stderr;
        assert!(
            shown.contains(&format!(
                "warning[refused-rule]: Widget.example.com: {refused}"
            )),
            "{shown}"
        );
        assert!(shown.contains(&format!("ruled.yaml:{line}:")), "{shown}");
    }
    let own = run(p, "init own --crd ruled.yaml");
    assert_eq!(own.code, 2, "{}", own.stderr);
    assert!(
        own.stderr
            .contains(&format!("error[refused-rule]: {refused}")),
        "{}",
        own.stderr
    );
    assert!(!p.join("own").exists());

    write("self.foo() == 1");
    let newer = ok(p, "init own --crd ruled.yaml");
    let unknown = "warning[refused-rule]: Widget.example.com: no known API server has this function: undeclared reference to 'foo'";
    assert!(newer.stderr.contains(unknown), "{}", newer.stderr);
}
