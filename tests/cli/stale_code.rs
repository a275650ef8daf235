//! `gen-manifests` refuses manifests for code that was not generated yet.

use std::{fs, path::Path};

use super::{
    conversions::{CRD, converted, edit_v2},
    support::{edit, files, ok, project, run},
};

/// Asserts that each form of the command writes nothing, exits with this code, and prints these parts.
fn refused(p: &Path, code: i32, parts: &[&str]) {
    let before = files(p);
    for args in [
        "gen-manifests",
        "gen-manifests --check",
        "gen-manifests --image x/y:2",
    ] {
        let run = run(p, args);
        assert_eq!(run.code, code, "{args}: {}", run.stderr);
        for part in parts {
            assert!(run.stderr.contains(part), "{args}: {part}\n{}", run.stderr);
        }
        assert!(files(p) == before, "{args}");
    }
}

#[test]
fn an_edited_crd_is_regenerated_before_its_manifests() {
    let folder = project();
    let p = folder.path().join("p");
    edit(&p.join(CRD), |text| {
        text.replace(
            "              size:\n",
            "              color: {type: string}\n              size:\n",
        )
    });
    let parts = [
        "error: nothing was written, because the code was generated from another operator.toml or CRD",
        "stale types: update src/api/widget/v1.rs\n",
        "stale record: update .operator/crds/widgets.example.com.yaml\n",
        "help: run `cargo operator regenerate`",
    ];
    refused(&p, 1, &parts);
    ok(&p, "regenerate");
    ok(&p, "gen-manifests --image x/y:1");
}

#[test]
fn a_moved_storage_version_is_regenerated_before_its_webhooks() {
    let folder = converted(&[]);
    let p = folder.path().join("p");
    ok(&p, "add-webhook Widget --validate");
    edit(&p.join(CRD), |text| {
        let text = text
            .replace("storage: true", "storage: no")
            .replace("storage: false", "storage: true");
        text.replace("storage: no", "storage: false")
    });
    refused(&p, 1, &["stale types: update src/api/widget/v2.rs\n"]);
    ok(&p, "regenerate");
    ok(&p, "gen-manifests --image x/y:1");
    let configuration = "manifests/webhook/validating.yaml";
    let made = files(&p);
    assert!(
        made[configuration].contains("apiVersions:\n    - v2\n"),
        "{}",
        made[configuration]
    );
}

#[test]
fn a_version_that_operator_toml_lacks_is_regenerated_first() {
    let folder = project();
    let p = folder.path().join("p");
    edit(&p.join(CRD), |text| {
        let at = text.find("  - name: v1").unwrap();
        let v2 = text[at..].replace("name: v1", "name: v2");
        text.replace("storage: true", "storage: false") + &v2
    });
    let parts = [
        "stale state: update operator.toml\n",
        "stale types: create src/api/widget/v2.rs\n",
        "and 1 more\n",
    ];
    refused(&p, 1, &parts);
}

#[test]
fn breaking_changes_are_refused_as_by_regenerate() {
    let folder = converted(&[("              replicas:\n", "              count:\n")]);
    let p = folder.path().join("p");
    ok(&p, "regenerate");
    let toml = fs::read_to_string(p.join("operator.toml")).unwrap();
    edit(&p.join("operator.toml"), |text| {
        text.replace("hub = \"v1\"\n", "")
    });
    let parts = [
        "error[breaking-change]: Widget.example.com: the operator no longer converts",
        "stale types: remove src/api/widget/versions.rs",
        "`cargo operator regenerate --allow-breaking`",
    ];
    refused(&p, 3, &parts);
    fs::write(p.join("operator.toml"), toml).unwrap();
    edit_v2(&p, &[("              count:\n", "              amount:\n")]);
    refused(
        &p,
        3,
        &["error[breaking-change]: Widget.example.com: v2 spec.count"],
    );
    ok(&p, "regenerate --allow-breaking");
    ok(&p, "gen-manifests --image x/y:1");
}

#[test]
fn manifests_follow_settings_that_only_they_have() {
    let folder = project();
    let p = folder.path().join("p");
    edit(&p.join("operator.toml"), |text| {
        text.replace("namespaces = \"all\"", "namespaces = \"own\"")
    });
    // an edit of the user does not make the code stale
    edit(&p.join("src/api/widget/v1.rs"), |text| text + "// mine\n");
    let run = ok(&p, "gen-manifests --image x/y:1");
    assert!(
        run.stdout.contains("create manifests/rbac/role.yaml"),
        "{}",
        run.stdout
    );
    edit(&p.join(CRD), |text| {
        text.replace("How big it is.", "How large it is.")
    });
    refused(&p, 1, &["edited types: src/api/widget/v1.rs\n"]);
}
