//! Misspelled words: the message has the place, and the word that was probably meant.

use std::fs;

use super::support::{WIDGET, edit, files, folder, ok, project, run, run_with};

#[test]
fn a_misspelled_name_in_operator_toml_is_reported_with_its_line_and_the_nearest() {
    let folder = project();
    let p = folder.path().join("p");
    let state = fs::read_to_string(p.join("operator.toml")).unwrap();
    let owns = |kind: &str| state.replace("\"apps/v1/Deployment\"", &format!("\"{kind}\""));
    for (text, word, expected) in [
        (
            format!("{state}keeps = [\n  \"v1/Confgmap\"\n]\n"),
            "\"v1/Confgmap\"",
            "\"v1/ConfigMap\"",
        ),
        (
            owns("apps/v1/Deploymnt"),
            "\"apps/v1/Deploymnt\"",
            "\"apps/v1/Deployment\"",
        ),
        (
            owns("app/v1/Deployment"),
            "\"app/v1/Deployment\"",
            "\"apps/v1/Deployment\"",
        ),
        (
            owns("v1/CronJob"),
            "\"v1/CronJob\"",
            "write \"batch/v1/CronJob\", or",
        ),
        (
            owns("PersistentVolumeClaim"),
            "\"PersistentVolumeClaim\"",
            "write \"v1/PersistentVolumeClaim\"",
        ),
        (
            owns("core/v1/ConfigMap"),
            "\"core/v1/ConfigMap\"",
            "write \"v1/ConfigMap\"",
        ),
        (
            owns("serving.knative.dev/v1/Service"),
            "\"serving.knative.dev/v1/Service\"",
            "add its plural",
        ),
        (
            owns("x.io/v1/Ox"),
            "\"x.io/v1/Ox\"",
            "the plural of `x.io/v1/Ox` is unknown",
        ),
    ] {
        fs::write(p.join("operator.toml"), &text).unwrap();
        let before = files(&p);
        let run = run(&p, "regenerate");
        assert_eq!(run.code, 2, "{word}\n{}", run.stderr);
        let line = text.lines().position(|line| line.contains(word)).unwrap() + 1;
        let place = format!("operator.toml:{line}:");
        assert!(run.stderr.contains(&place), "{place}\n{}", run.stderr);
        assert!(run.stderr.contains(expected), "{expected}\n{}", run.stderr);
        assert_eq!(files(&p), before, "{word}");
    }
}

#[test]
fn remaining_objects_are_declared_for_the_test_of_deletions() {
    let folder = project();
    let p = folder.path().join("p");
    edit(&p.join("operator.toml"), |text| {
        text + "keeps = [\"v1/ConfigMap\", \"apps/v1/StatefulSet\", \"example.com/v1/Widget\"]\n"
    });
    ok(&p, "regenerate");
    let test = fs::read_to_string(p.join("tests/all/faults.rs")).unwrap();
    let test = test.split("fn widget_conforms").nth(1).unwrap();
    let test = test.split("#[test]").next().unwrap();
    assert!(
        test.contains(
            r#"    let kept = ["configmaps", "statefulsets.apps", "widgets.example.com"];
    let trial = trial().sample_file(sample).keeps(&kept);"#
        ),
        "{test}"
    );
    assert!(
        ok(&p, "inspect")
            .stdout
            .contains("keeps     v1/ConfigMap, apps/v1/StatefulSet, example.com/v1/Widget"),
    );
}

#[test]
fn the_error_for_a_url_explains_how_to_pipe_it() {
    let folder = project();
    for args in [
        "init q --crd https://example.com/widget.yaml",
        "types http://example.com/widget.yaml",
    ] {
        let run = run(folder.path(), args);
        assert_eq!(run.code, 2, "{}", run.stderr);
        assert!(run.stderr.contains("is a URL"), "{}", run.stderr);
        assert!(
            run.stderr
                .contains("curl -fsSL URL | cargo operator init NAME --crd -"),
            "{}",
            run.stderr
        );
    }
    let piped = run_with(folder.path(), "init q --crd -", WIDGET);
    assert_eq!(piped.code, 0, "{}", piped.stderr);
}

#[test]
fn an_unknown_code_without_a_nearest_lists_all_codes() {
    let folder = folder();
    let near = run(folder.path(), "explain untypd");
    assert!(
        near.stderr.contains("the nearest code is `untyped`"),
        "{}",
        near.stderr
    );
    let far = run(folder.path(), "explain E0308");
    assert_eq!(far.code, 2);
    assert!(!far.stderr.contains("nearest"), "{}", far.stderr);
    assert!(
        far.stderr.contains("`cargo operator explain` lists all"),
        "{}",
        far.stderr
    );
}

#[test]
fn build_output_and_hidden_files_of_a_folder_are_skipped() {
    let folder = folder();
    let definitions = folder.path().join("definitions");
    for path in ["", "deep", ".git", "target/debug"] {
        fs::create_dir_all(definitions.join(path)).unwrap();
        fs::write(definitions.join(path).join("widget.yaml"), WIDGET).unwrap();
    }
    // a CRD in two files is an error
    let twice = run(folder.path(), "types definitions");
    assert!(
        twice.stderr.contains("definitions/deep/widget.yaml"),
        "{}",
        twice.stderr
    );
    fs::remove_dir_all(definitions.join("deep")).unwrap();
    ok(folder.path(), "types definitions");
    edit(&definitions.join("widget.yaml"), |text| {
        text.replace("idget", "adget")
    });
    assert!(
        ok(folder.path(), "types definitions")
            .stdout
            .contains("pub struct WadgetSpec")
    );
}

#[test]
fn a_misspelled_resource_or_verb_is_a_warning_with_its_line() {
    let folder = project();
    let p = folder.path().join("p");
    let rules = r#"rules = [
  { apiGroups = [""], resources = ["secrets", "pod/log"], verbs = ["get"] },
  { apiGroups = ["x.io"], resources = ["oxen"], verbs = ["get", "yoke", "impersonate:user-info"] },
  { apiGroups = [""], resources = ["nodes"], verbs = ["gets"] },
]
"#;
    edit(&p.join("operator.toml"), |text| text + rules);
    let state = fs::read_to_string(p.join("operator.toml")).unwrap();
    let line = state
        .lines()
        .position(|line| line.contains("pod/log"))
        .unwrap()
        + 1;
    // the warnings are repeated until the rules are fixed
    for _ in 0..2 {
        let run = ok(&p, "regenerate");
        for expected in [
            "warning[unknown-resource]: Widget.example.com: there is no resource `pod` in the API group \"\"",
            &format!("operator.toml:{line}:47"),
            "write \"pods/log\"",
            "warning[unknown-resource]: Widget.example.com: `gets` is not a verb of Kubernetes",
            &format!("operator.toml:{}:", line + 2),
            "write \"get\", unless it is a verb of your own",
        ] {
            assert!(run.stderr.contains(expected), "{expected}\n{}", run.stderr);
        }
        assert_eq!(run.stderr.matches("warning[").count(), 2, "{}", run.stderr);
    }
    edit(&p.join("operator.toml"), |text| {
        text.replace("pod/log", "pods/log")
            .replace("\"gets\"", "\"get\"")
    });
    let run = ok(&p, "regenerate");
    assert!(!run.stderr.contains("warning["), "{}", run.stderr);
}

#[test]
fn a_project_folder_gives_each_of_its_kinds_once() {
    let folder = project();
    let types = ok(folder.path(), "types p");
    assert_eq!(types.stdout.matches("pub struct WidgetSpec").count(), 1);
    ok(folder.path(), "init q --crd p");
    let p = folder.path().join("p");
    assert!(ok(&p, "add-crd . --check").stderr.contains("up to date"));
}
