//! A CRD that changes: what is reported, and which changes need a flag.

use crate::support::{edit, files, ok, project, run, with_v2};

const REPLICAS: &str = "              replicas:
                description: How many there are.
                type: integer
                format: int32
";

#[test]
fn a_breaking_change_needs_a_flag_and_reports_whom_it_breaks() {
    let folder = project();
    let p = folder.path().join("p");
    edit(&p.join("crds/widgets.example.com.yaml"), |text| {
        assert!(text.contains(REPLICAS));
        text.replace(REPLICAS, "")
    });
    let before = files(&p);
    for args in ["regenerate", "regenerate --check", "regenerate --dry-run"] {
        let refused = run(&p, args);
        assert_eq!(refused.code, 3, "{args}");
        let expected = "removed    v1 spec.replicas: `replicas` was removed (breaks readers, stored objects, clients)";
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
        assert!(
            refused
                .stderr
                .contains("error[breaking-change]: Widget.example.com: v1 spec.replicas"),
            "{}",
            refused.stderr
        );
        assert!(files(&p) == before, "{args}");
    }
    // the command that the message recommends is not refused
    let stale = run(&p, "regenerate --check --allow-breaking");
    assert_eq!(stale.code, 1, "{}", stale.stderr);
    let cure = "stale: run `cargo operator regenerate --allow-breaking` and commit the result\n";
    assert!(stale.stderr.contains(cure), "{}", stale.stderr);
    let taken = ok(&p, "regenerate --allow-breaking --format json");
    let output: serde_json::Value = serde_json::from_str(&taken.stdout).unwrap();
    let difference = &output["evolution"][0]["differences"][0];
    assert_eq!(difference["change"], "field-removed");
    assert_eq!(difference["path"], "spec.replicas");
    // later changes are compared with the accepted CRD
    ok(&p, "regenerate --check");
}

#[test]
fn a_compatible_change_is_reported_and_accepted() {
    let folder = project();
    let p = folder.path().join("p");
    edit(&p.join("crds/widgets.example.com.yaml"), |text| {
        text.replace("minimum: 1", "minimum: 0")
            .replace("How big it is.", "Its size.")
    });
    let run = ok(&p, "regenerate");
    assert!(
        run.stderr
            .contains("  loosened   v1 spec.size: minimum 1 -> 0\n"),
        "{}",
        run.stderr
    );
    let again = ok(&p, "regenerate");
    assert!(!again.stderr.contains("evolved"), "{}", again.stderr);
}

#[test]
fn a_foreign_crd_breaks_only_its_readers() {
    let folder = crate::support::folder();
    ok(folder.path(), "init p --crd widget.yaml --types-only");
    let p = folder.path().join("p");
    edit(&p.join("crds/widgets.example.com.yaml"), |text| {
        text.replace("minimum: 1", "minimum: 2")
    });
    let run = ok(&p, "regenerate");
    assert!(
        run.stderr
            .contains("minimum 1 -> 2 (breaks stored objects, clients)")
            || run.stderr.contains("minimum 1 -> 2 (breaks clients)"),
        "{}",
        run.stderr
    );
}

#[test]
fn another_plural_is_a_breaking_change() {
    let folder = project();
    let p = folder.path().join("p");
    edit(&p.join("crds/widgets.example.com.yaml"), |text| {
        text.replace("widgets", "widgetz")
    });
    let run = run(&p, "regenerate");
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("evolved\n  changed"), "{}", run.stderr);
}

#[test]
fn an_edited_crd_is_not_replaced_silently() {
    let folder = project();
    let p = folder.path().join("p");
    let path = p.join("crds/widgets.example.com.yaml");
    let old = std::fs::read_to_string(&path).unwrap();
    edit(&path, |text| text.replace("How big it is.", "Mine."));
    let before = files(&p);
    for (args, expected) in [
        (
            "add-crd ../widget.yaml",
            "was edited after the project was generated",
        ),
        (
            "add-crd --kind Widget --group example.com",
            "a starter would replace its CRD",
        ),
    ] {
        let refused = run(&p, args);
        assert_eq!(refused.code, 2, "{}", refused.stderr);
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
        assert!(files(&p) == before, "{args}");
    }
    // nor is it removed with its kind
    let removed = ok(&p, "remove Widget");
    assert!(
        removed
            .stderr
            .contains("crds/widgets.example.com.yaml is kept"),
        "{}",
        removed.stderr
    );
    assert!(path.exists());
    assert!(std::fs::read_to_string(&path).unwrap() != old);
}

#[test]
fn the_report_of_a_new_version_explains_how_to_get_its_types() {
    let folder = project();
    let p = folder.path().join("p");
    edit(&p.join("crds/widgets.example.com.yaml"), with_v2);
    let expected = "  added      v2: the version v2 is new; add it to `versions` in operator.toml to get its types\n";
    let run = ok(&p, "regenerate --dry-run");
    assert!(run.stderr.contains(expected), "{}", run.stderr);
    edit(&p.join("operator.toml"), |text| {
        text.replace("versions = [\"v1\"]", "versions = [\"v1\", \"v2\"]")
    });
    let run = ok(&p, "regenerate");
    assert!(
        run.stderr
            .contains("  added      v2: the version v2 is new\n"),
        "{}",
        run.stderr
    );
    assert!(p.join("src/api/widget/v2.rs").exists());
}

#[test]
fn the_headline_of_a_refused_version_names_it() {
    let folder = project();
    let p = folder.path().join("p");
    let path = p.join("crds/widgets.example.com.yaml");
    edit(&path, with_v2);
    ok(&p, "regenerate");
    edit(&path, |text| {
        let (first, rest) = text.split_once("name: v2\n    served: true").unwrap();
        format!("{first}name: v2\n    served: false{rest}")
    });
    let run = run(&p, "regenerate");
    let headline = "error[breaking-change]: Widget.example.com: v2: it is no longer served\n";
    assert!(run.stderr.contains(headline), "{}", run.stderr);
}

#[test]
fn a_change_that_cannot_be_compared_is_reported() {
    let folder = project();
    let p = folder.path().join("p");
    let record = p.join(".operator/crds/widgets.example.com.yaml");
    std::fs::remove_file(&record).unwrap();
    // the CRD has not changed since it was recorded
    let same = ok(&p, "regenerate --dry-run");
    assert!(!same.stderr.contains("not-compared"), "{}", same.stderr);
    edit(&p.join("crds/widgets.example.com.yaml"), |text| {
        text.replace(REPLICAS, "")
    });
    let expected = "warning[not-compared]: .operator/crds/widgets.example.com.yaml is missing, so the CRD was not compared with the previous one\n";
    let check = run(&p, "regenerate --check");
    assert!(check.stderr.contains(expected), "{}", check.stderr);
    let taken = ok(&p, "regenerate");
    assert!(taken.stderr.contains(expected), "{}", taken.stderr);
    assert!(record.exists());
}
