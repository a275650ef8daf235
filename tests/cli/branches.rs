//! Projects in which git merged two branches: its conflict markers are reported, and nothing is lost with the lock of one side.

use std::{fs, path::Path};

use crate::support::{edit, files, ok, project, run};

/// Replaces the first line that is `line` by a conflict of git between that line and `theirs`.
fn conflict(path: &Path, line: &str, theirs: &str) {
    edit(path, |text| {
        let marked = format!("<<<<<<< HEAD\n{line}\n=======\n{theirs}\n>>>>>>> other\n");
        let changed = text.replacen(&format!("{line}\n"), &marked, 1);
        assert_ne!(changed, text, "{line}");
        changed
    });
}

#[test]
fn conflict_markers_in_operator_toml_and_the_lock_are_errors_with_help() {
    let folder = project();
    let p = folder.path().join("p");
    for (file, line, expected) in [
        ("operator.toml", "versions = [\"v1\"]", "operator.toml:"),
        (
            "operator.lock",
            "[files]",
            "git checkout --ours operator.lock",
        ),
    ] {
        let before = fs::read_to_string(p.join(file)).unwrap();
        conflict(&p.join(file), line, "x = 1");
        let run = run(&p, "regenerate");
        assert_eq!(run.code, 2, "{file}");
        assert!(
            run.stderr.contains("has the conflict markers of a merge"),
            "{}",
            run.stderr
        );
        assert!(run.stderr.contains(expected), "{}", run.stderr);
        fs::write(p.join(file), before).unwrap();
    }
}

#[test]
fn a_file_with_markers_is_not_adopted() {
    let folder = project();
    let p = folder.path().join("p");
    let before = fs::read_to_string(p.join("src/api/mod.rs")).unwrap();
    conflict(
        &p.join("src/api/mod.rs"),
        "pub mod widget {",
        "pub mod gadget {",
    );
    conflict(&p.join("Dockerfile"), "USER 65532:65532", "USER 1");
    let marked = files(&p);
    for args in [
        "regenerate",
        "regenerate --adopt src/api/mod.rs --adopt Dockerfile",
    ] {
        let run = run(&p, args);
        assert_eq!(run.code, 1, "{args}");
        let expected = "still has the conflict markers of a merge";
        assert_eq!(run.stderr.matches(expected).count(), 2, "{}", run.stderr);
        assert!(
            run.stderr.contains("repeat --adopt and --reset"),
            "{}",
            run.stderr
        );
        assert!(files(&p) == marked);
    }
    ok(&p, "regenerate --reset src/api/mod.rs --reset Dockerfile");
    assert_eq!(
        fs::read_to_string(p.join("src/api/mod.rs")).unwrap(),
        before
    );
}

#[test]
fn a_lock_without_a_kind_recognizes_its_initial_files() {
    let folder = project();
    let p = folder.path().join("p");
    let one = fs::read_to_string(p.join("operator.lock")).unwrap();
    ok(&p, "add-crd --kind Zed --group z.example.com");
    let two = fs::read_to_string(p.join("operator.lock")).unwrap();
    // as after a merge that took one side's lock
    fs::write(p.join("operator.lock"), one).unwrap();
    ok(
        &p,
        "regenerate --reset src/api --reset src/controllers/mod.rs --reset tests/all/generated.rs --reset manifests --reset crds/kustomization.yaml --reset README.md",
    );
    assert_eq!(fs::read_to_string(p.join("operator.lock")).unwrap(), two);
    ok(&p, "remove Zed");
    assert!(!p.join("src/controllers/zed.rs").exists());
}

#[test]
fn an_adopted_file_without_a_kind_is_reported() {
    let folder = project();
    let p = folder.path().join("p");
    ok(&p, "regenerate --adopt src/api/mod.rs");
    ok(&p, "regenerate --check");
    let run = ok(&p, "add-crd --kind Zed --group z.example.com");
    assert!(
        run.stderr
            .contains("note: src/api/mod.rs is yours, and the generated version has changed since"),
        "{}",
        run.stderr
    );
    let lacks = ok(&p, "regenerate --diff --reset src/api/mod.rs");
    assert!(lacks.stdout.contains("+pub mod zed {"), "{}", lacks.stdout);
}
