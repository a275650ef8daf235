//! Kinds that leave a project.

use crate::support::{edit, files, ok, project, run};

#[test]
fn unedited_files_are_removed_with_their_kind() {
    let folder = project();
    let p = folder.path().join("p");
    let before = files(&p);
    ok(
        &p,
        "add-crd ../clusters.yaml --kind Cluster.cluster.example.com",
    );
    assert!(p.join("src/controllers/cluster.rs").exists());
    ok(&p, "remove Cluster");
    let mut after = files(&p);
    // the text of a table keeps its place
    assert_eq!(
        after["operator.toml"].trim_end(),
        before["operator.toml"].trim_end()
    );
    after.insert("operator.toml".into(), before["operator.toml"].clone());
    for (path, text) in &before {
        assert!(after.get(path) == Some(text), "{path}");
    }
    assert_eq!(after.len(), before.len());
}

#[test]
fn edited_files_are_kept_and_reported() {
    let folder = project();
    let p = folder.path().join("p");
    edit(&p.join("src/controllers/widget.rs"), |text| {
        text + "// mine\n"
    });
    let run = ok(&p, "remove widget.example.com");
    assert!(
        run.stderr
            .contains("src/controllers/widget.rs is kept, because it is yours"),
        "{}",
        run.stderr
    );
    assert!(p.join("src/controllers/widget.rs").exists());
    for path in [
        "tests/widget.rs",
        "src/api/widget/v1.rs",
        "crds/widgets.example.com.yaml",
        ".operator/types/widget/v1",
        ".operator/specs/widgets.example.com.yaml",
    ] {
        assert!(!p.join(path).exists(), "{path}");
    }
    ok(&p, "regenerate --check");
}

#[test]
fn a_spec_with_other_kinds_is_kept() {
    let folder = project();
    let p = folder.path().join("p");
    edit(&p.join("crds/widgets.example.com.yaml"), |text| {
        text + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: precious}\n"
    });
    ok(&p, "remove Widget");
    assert!(p.join("crds/widgets.example.com.yaml").exists());
}

#[test]
fn an_unknown_or_ambiguous_kind_is_refused() {
    let folder = project();
    let p = folder.path().join("p");
    ok(&p, "add-crd ../clusters.yaml");
    let before = files(&p);
    for (name, expected) in [
        ("Gadget", "the project has no kind Gadget"),
        ("Cluster", "Cluster is the name of several kinds"),
    ] {
        let run = run(&p, &format!("remove {name}"));
        assert_eq!(run.code, 2, "{name}");
        assert!(run.stderr.contains(expected), "{}", run.stderr);
        assert!(files(&p) == before);
    }
}
