//! Kinds that are removed from a project.

use std::fs;

use crate::support::{commit, edit, files, folder, git, ok, project, run};

#[test]
fn unedited_files_are_removed_with_their_kind() {
    let folder = project();
    let p = folder.path().join("p");
    let before = files(&p);
    ok(
        &p,
        "add-crd ../clusters.yaml --kind Cluster.cluster.example.com",
    );
    commit(&p);
    assert!(p.join("src/controllers/cluster.rs").exists());
    ok(&p, "remove Cluster");
    fs::remove_dir_all(p.join(".git")).unwrap();
    let mut after = files(&p);
    // only blank lines at the end may differ
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
    commit(&p);
    edit(&p.join("src/controllers/widget.rs"), |text| {
        text + "// mine\n"
    });
    let run = ok(&p, "remove Widget.example.com");
    assert!(
        run.stderr
            .contains("src/controllers/widget.rs is kept, because it is yours"),
        "{}",
        run.stderr
    );
    assert!(p.join("src/controllers/widget.rs").exists());
    for path in [
        "tests/all/widget.rs",
        "src/api/widget/v1.rs",
        "crds/widgets.example.com.yaml",
        ".operator/types/widget/v1",
        ".operator/crds/widgets.example.com.yaml",
    ] {
        assert!(!p.join(path).exists(), "{path}");
    }
    ok(&p, "regenerate --check");
}

#[test]
fn a_crd_in_a_file_with_other_objects_is_kept() {
    let folder = project();
    let p = folder.path().join("p");
    edit(&p.join("crds/widgets.example.com.yaml"), |text| {
        text + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: precious}\n"
    });
    let removed = ok(&p, "remove Widget").stderr;
    assert!(p.join("crds/widgets.example.com.yaml").exists());
    assert!(!removed.contains("`rm "), "{removed}");
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
        (
            "widget",
            "the project has no kind or controller `widget`, but a kind Widget.example.com",
        ),
        ("widget.example.com", "write Widget.example.com\n"),
    ] {
        let run = run(&p, &format!("remove {name}"));
        assert_eq!(run.code, 2, "{name}");
        assert!(run.stderr.contains(expected), "{}", run.stderr);
        assert!(files(&p) == before);
    }
}

#[test]
fn a_controller_that_was_removed_before_is_not_taken_for_its_kind() {
    let folder = folder();
    ok(folder.path(), "init p --controller v1/Pod --as watcher");
    let p = folder.path().join("p");
    ok(&p, "add-crd ../widget.yaml --scaffold controller");
    ok(&p, "remove widget");
    let before = files(&p);
    let again = run(&p, "remove widget");
    assert_eq!(again.code, 2, "{}", again.stdout);
    let help = "if you mean this kind, write Widget.example.com\n";
    assert!(again.stderr.contains(help), "{}", again.stderr);
    for name in ["Pod", "pod"] {
        let foreign = run(&p, &format!("remove {name}"));
        assert_eq!(foreign.code, 2, "{}", foreign.stdout);
        for part in [
            &format!("the project does not define the kind {name}, which watcher reconciles"),
            "write the name of the controller: watcher\n",
        ] {
            assert!(foreign.stderr.contains(part), "{}", foreign.stderr);
        }
    }
    assert!(files(&p) == before);
    commit(&p);
    let removed = ok(&p, "remove Widget");
    let summary = "Widget and its CRD crds/widgets.example.com.yaml removed; clusters still have";
    assert!(removed.stderr.contains(summary), "{}", removed.stderr);
}

#[test]
fn a_crd_with_edits_that_nothing_else_has_is_kept() {
    const SPEC: &str = "crds/widgets.example.com.yaml";
    let longer = |text: String| text.replace("How big", "How very big");
    for edits in ["uncommitted", "not generated", "not recorded", "committed"] {
        let folder = project();
        let p = folder.path().join("p");
        commit(&p);
        edit(&p.join(SPEC), longer);
        match edits {
            "uncommitted" => drop(ok(&p, "regenerate")),
            "not recorded" => {
                fs::remove_file(p.join(format!(".operator/crds/{}", &SPEC[5..]))).unwrap();
            }
            "committed" => {
                ok(&p, "regenerate");
                git(&p, "commit -am b");
            }
            _ => {}
        }
        let is_lost = edits == "committed";
        let removed = ok(&p, "remove Widget").stderr;
        let note = "crds/widgets.example.com.yaml is kept, because it is yours";
        assert_eq!(removed.contains(note), !is_lost, "{edits}: {removed}");
        assert_eq!(p.join(SPEC).exists(), !is_lost, "{edits}");
    }
}

#[test]
fn the_only_copy_of_a_crd_is_kept() {
    const SPEC: &str = "crds/widgets.example.com.yaml";
    for place in ["no git", "no commit", "untracked", "ignored", "unedited"] {
        let folder = folder();
        ok(
            folder.path(),
            "init p --kind Widget --group example.com --version v1 --cluster",
        );
        let p = folder.path().join("p");
        let longer = |text: String| text.replace("runs replicas", "runs copies");
        let is_edited = place != "unedited";
        if is_edited {
            edit(&p.join(SPEC), longer);
            ok(&p, "regenerate");
        }
        let text = fs::read_to_string(p.join(SPEC)).unwrap();
        match place {
            "no commit" => {
                git(&p, "init");
                git(&p, "add .");
            }
            "untracked" | "ignored" => {
                git(&p, "init");
                git(&p, "add operator.toml");
                git(&p, "commit -m a");
            }
            _ => {}
        }
        if place == "ignored" {
            edit(&p.join(".gitignore"), |text| text + "/crds/\n");
        }
        let removed = ok(&p, "remove Widget").stderr;
        assert_eq!(p.join(SPEC).exists(), is_edited, "{place}");
        let summary = format!("Widget removed, but not its CRD, which `rm {SPEC}` removes");
        assert_eq!(removed.contains(&summary), is_edited, "{place}: {removed}");
        if is_edited {
            assert_eq!(fs::read_to_string(p.join(SPEC)).unwrap(), text, "{place}");
            ok(&p, "regenerate --check");
        }
    }
}
