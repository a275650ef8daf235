//! Who owns a file, and the choices if both the user and the tool changed it.

use std::{fs, path::Path};

use cargo_operator::plan::{Entry, Lock};

use crate::support::{edit, files, folder, ok, project, run};

fn text(p: &Path, path: &str) -> String {
    fs::read_to_string(p.join(path)).unwrap()
}

/// Makes a merged file and its base look as if an older version of the tool had generated them.
fn as_of_an_older_tool(p: &Path, path: &str, older: impl Fn(String) -> String) {
    edit(&p.join(".operator/base").join(path), &older);
    edit(&p.join(path), older);
    let base = text(p, &format!(".operator/base/{path}"));
    let mut lock = Lock::read(&text(p, "operator.lock")).unwrap();
    let owner = lock.files[path].owner;
    lock.files.insert(path.into(), Entry::new(owner, &base));
    fs::write(p.join("operator.lock"), lock.to_text()).unwrap();
}

#[test]
fn an_edited_tool_owned_file_is_adopted_or_reset() {
    let folder = project();
    let p = folder.path().join("p");
    let path = "manifests/namespace.yaml";
    let ours = text(&p, path);
    edit(&p.join(path), |text| text + "# mine\n");
    let edited = text(&p, path);
    let run = run(&p, "regenerate --check");
    assert_eq!(run.code, 1);
    for way in ["--adopt", "--reset"] {
        let expected = format!("`cargo operator regenerate {way} {path}`");
        assert!(run.stderr.contains(&expected), "{}", run.stderr);
    }
    let adopted = ok(&p, &format!("regenerate --adopt {path}"));
    assert!(
        adopted.stderr.contains("is now yours"),
        "{}",
        adopted.stderr
    );
    ok(&p, "regenerate --check");
    ok(&p, "gen-manifests --image x/y:1");
    assert_eq!(text(&p, path), edited);
    ok(&p, &format!("regenerate --reset {path}"));
    assert_eq!(text(&p, path), ours);
    ok(&p, "regenerate --check");
}

#[test]
fn a_deleted_manifest_is_listed_nowhere_and_restored_on_request() {
    let folder = project();
    let p = folder.path().join("p");
    let before = files(&p);
    fs::remove_dir_all(p.join("manifests/network")).unwrap();
    fs::remove_file(p.join("manifests/samples/widgets.example.com.yaml")).unwrap();
    let stale = run(&p, "regenerate --check");
    assert_eq!(stale.code, 1);
    assert!(
        stale
            .stderr
            .contains("manifests/network/policy.yaml was deleted and is not generated again"),
        "{}",
        stale.stderr
    );
    ok(&p, "regenerate");
    ok(&p, "regenerate --check");
    assert!(!text(&p, "manifests/kustomization.yaml").contains("network"));
    assert!(!text(&p, "tests/all/generated.rs").contains("manifests/samples"));
    assert!(!p.join("manifests/network").exists());
    ok(&p, "regenerate --reset manifests");
    assert!(files(&p) == before);
}

#[test]
fn a_deleted_test_is_no_module() {
    let folder = project();
    let p = folder.path().join("p");
    let main = "tests/all/main.rs";
    let before = text(&p, main);
    assert!(before.contains("\nmod support;\nmod widget;\n"), "{before}");
    fs::remove_file(p.join("tests/all/widget.rs")).unwrap();
    ok(&p, "regenerate");
    assert_eq!(text(&p, main), before.replace("mod widget;\n", ""));
    ok(&p, "regenerate --reset tests/all/widget.rs");
    assert_eq!(text(&p, main), before);
}

#[test]
fn a_failed_merge_stops_the_plan_until_the_user_decides() {
    let folder = project();
    let p = folder.path().join("p");
    as_of_an_older_tool(&p, "Dockerfile", |text| {
        text.replace("EXPOSE 8080", "EXPOSE 9090")
    });
    as_of_an_older_tool(&p, "Cargo.toml", |text| {
        text.replace("schemars = \"1\"", "schemars = \"0.8\"")
    });
    edit(&p.join("Dockerfile"), |text| {
        text.replace("EXPOSE 9090", "EXPOSE 7070") + "# mine\n"
    });
    edit(&p.join("Cargo.toml"), |text| {
        text.replace("schemars = \"0.8\"", "schemars = \"0.9\"")
    });
    let before = files(&p);
    let stopped = run(&p, "regenerate");
    assert_eq!(stopped.code, 1);
    assert!(files(&p) == before);
    for path in ["Dockerfile", "Cargo.toml"] {
        let expected = format!("conflict[merge-conflict]: {path} was changed in the same place");
        assert!(stopped.stderr.contains(&expected), "{}", stopped.stderr);
    }
    ok(&p, "regenerate --write-conflicts");
    assert!(text(&p, "Dockerfile").contains(
        "<<<<<<< ours\nEXPOSE 7070\n||||||| original\nEXPOSE 9090\n=======\nEXPOSE 8080\n>>>>>>> theirs\n"
    ));
    assert!(text(&p, "Cargo.toml").contains(
        "<<<<<<< ours\nschemars = \"0.9\"\n||||||| original\nschemars = \"0.8\"\n=======\nschemars = \"1\"\n>>>>>>> theirs\n"
    ));
    // a marker that remains is reported
    let left = run(&p, "regenerate --check --reset Cargo.toml");
    assert_eq!(left.code, 1);
    assert!(
        left.stderr
            .contains("Dockerfile still has the conflict markers"),
        "{}",
        left.stderr
    );
    edit(&p.join("Dockerfile"), |text| {
        let (before, rest) = text.split_once("<<<<<<< ours\n").unwrap();
        let after = rest.split_once(">>>>>>> theirs\n").unwrap().1;
        format!("{before}EXPOSE 6060\n{after}")
    });
    ok(&p, "regenerate --reset Cargo.toml");
    ok(&p, "regenerate --check");
    assert!(text(&p, "Dockerfile").ends_with("# mine\n"));
}

#[test]
fn adopt_and_reset_refuse_unknown_paths_and_user_owned_files() {
    let folder = project();
    let p = folder.path().join("p");
    let before = files(&p);
    for (args, expected) in [
        (
            "--adopt src/nothing.rs",
            "`src/nothing.rs` is not a generated file",
        ),
        ("--reset src/main.rs", "`src/main.rs` is yours"),
    ] {
        let run = run(&p, &format!("regenerate {args}"));
        assert_eq!(run.code, 2, "{args}");
        assert!(run.stderr.contains(expected), "{}", run.stderr);
        assert!(files(&p) == before);
    }
}

#[test]
fn many_deleted_files_are_one_note() {
    let folder = project();
    let p = folder.path().join("p");
    ok(&p, "add-crd ../clusters.yaml");
    ok(&p, "add-crd --kind Gadget --group example.com");
    fs::remove_dir_all(p.join("manifests/samples")).unwrap();
    let notes = ok(&p, "regenerate").stderr;
    let notes: Vec<&str> = notes
        .lines()
        .filter(|line| line.starts_with("note:"))
        .collect();
    let [note] = notes.as_slice() else {
        panic!("{notes:?}");
    };
    assert!(
        note.contains("files in manifests/samples/ was deleted and is not generated again"),
        "{note}"
    );
}

#[test]
fn bookkeeping_files_cannot_be_adopted() {
    let folder = project();
    let p = folder.path().join("p");
    edit(&p.join(".operator/types/widget/v1"), |text| text + "x\n");
    let run = run(&p, "regenerate");
    assert_eq!(run.code, 1);
    assert!(!run.stderr.contains("--adopt"), "{}", run.stderr);
    ok(&p, "regenerate --reset .operator/types/widget/v1");
}

#[test]
fn the_json_of_a_stopped_plan_does_not_claim_success() {
    let folder = project();
    let p = folder.path().join("p");
    let json =
        |args: &str| -> serde_json::Value { serde_json::from_str(&run(&p, args).stdout).unwrap() };
    assert_eq!(
        json("regenerate --check --format json")["summary"],
        "up to date"
    );
    edit(&p.join("manifests/namespace.yaml"), |text| text + "# x\n");
    let blocked = json("regenerate --format json");
    assert_eq!(blocked["summary"], "nothing was written");
    assert_eq!(blocked["next"], serde_json::Value::Null);
}

#[test]
fn deleted_manifests_are_restored_by_the_command_that_needs_them() {
    let folder = project();
    let p = folder.path().join("p");
    fs::remove_dir_all(p.join("manifests/rbac")).unwrap();
    let run = ok(&p, "gen-manifests --image example.com/p:1");
    assert!(
        run.stderr
            .contains("`cargo operator regenerate --reset manifests/rbac"),
        "{}",
        run.stderr
    );
    ok(&p, "gen-manifests --reset manifests/rbac");
    assert!(p.join("manifests/rbac/service-account.yaml").exists());
}

#[test]
fn edits_of_a_chart_and_a_bundle_outlast_a_time_without_an_image() {
    let folder = project();
    let p = folder.path().join("p");
    ok(&p, "gen-manifests --image x/y:1.0.0 --helm --olm");
    let edits = [
        ("charts/p/Chart.yaml", "type: application", "keywords: [p]"),
        ("charts/p/values.yaml", "replicaCount: 1", "mine: 1"),
        (
            "bundle/manifests/p.clusterserviceversion.yaml",
            "  displayName: P",
            "  minKubeVersion: 1.30.0",
        ),
    ];
    for (path, line, mine) in edits {
        edit(&p.join(path), |text| {
            assert!(text.contains(&format!("{line}\n")), "{text}");
            text.replacen(&format!("{line}\n"), &format!("{line}\n{mine}\n"), 1)
        });
    }
    let without = |key: &str| {
        edit(&p.join("operator.toml"), |text| {
            text.lines()
                .filter(|line| !line.starts_with(key))
                .map(|line| format!("{line}\n"))
                .collect()
        });
        ok(&p, "regenerate").stderr
    };
    let notes = without("image");
    for part in [
        "note[no-image]",
        "manifests/ has no Deployment of the operator, and there is no chart, and there is no bundle",
        "charts/p/values.yaml is kept, because it is yours",
    ] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    let again = ok(&p, "regenerate").stderr;
    assert!(!again.contains("values.yaml"), "{again}");
    ok(&p, "regenerate --check");
    ok(&p, "gen-manifests --image x/y:2.0.0");
    without("packaging");
    ok(&p, "gen-manifests --image x/y:3.0.0 --helm --olm");
    for (path, _, mine) in edits {
        assert!(text(&p, path).contains(&format!("{mine}\n")), "{path}");
    }
    assert!(text(&p, "charts/p/Chart.yaml").contains("appVersion: \"3.0.0\""));
    assert!(text(&p, edits[2].0).contains("version: \"3.0.0\""));
    ok(&p, "regenerate --check");
}

#[test]
fn a_deleted_merged_file_is_reported() {
    let folder = project();
    let p = folder.path().join("p");
    fs::remove_file(p.join("Dockerfile")).unwrap();
    let stale = run(&p, "regenerate --check");
    assert_eq!(stale.code, 1);
    let note = "Dockerfile was deleted and is not generated again";
    assert!(stale.stderr.contains(note), "{}", stale.stderr);
    ok(&p, "regenerate");
    ok(&p, "regenerate --check");
    ok(&p, "regenerate --reset Dockerfile");
    assert!(p.join("Dockerfile").exists());
}

#[test]
fn a_check_lists_stale_files_and_writes_nothing() {
    let folder = project();
    let p = folder.path().join("p");
    edit(&p.join("crds/widgets.example.com.yaml"), |text| {
        text.replace(
            "              size:\n",
            "              color: {type: string}\n              size:\n",
        )
    });
    let before = files(&p);
    let run = run(&p, "regenerate --check");
    assert_eq!(run.code, 1);
    assert!(
        run.stdout
            .contains("stale types: update src/api/widget/v1.rs\n"),
        "{}",
        run.stdout
    );
    assert!(
        run.stderr.contains("cargo operator regenerate"),
        "{}",
        run.stderr
    );
    assert!(files(&p) == before);
}

#[test]
fn a_check_finds_each_mutation_of_tool_owned_files_and_nothing_else() {
    let folder = project();
    let p = folder.path().join("p");
    let lock = text(&p, "operator.lock");
    let owned = |owner: &str| -> Vec<String> {
        lock.lines()
            .filter(|line| line.contains(&format!("owner = \"{owner}\"")))
            .map(|line| line.split('"').nth(1).unwrap().to_owned())
            .collect()
    };
    let output = |run: &crate::support::Run| run.stdout.clone() + &run.stderr;
    let tools = owned("tool");
    assert!(tools.len() > 15, "{tools:?}");
    for path in &tools {
        let before = text(&p, path);
        fs::write(p.join(path), format!("{before}x")).unwrap();
        let edited = run(&p, "regenerate --check");
        assert_eq!(edited.code, 1, "{path}");
        assert!(
            output(&edited).contains(&format!("conflict[edited-file]: {path} ")),
            "{path}"
        );
        assert_eq!(output(&edited).matches("conflict[").count(), 1, "{path}");
        fs::remove_file(p.join(path)).unwrap();
        let deleted = run(&p, "regenerate --check");
        assert_eq!(deleted.code, 1, "{path}");
        let line = match path.split_once('/') {
            Some((".operator", _)) => format!("stale record: create {path}\n"),
            _ => format!("{path} was deleted"),
        };
        assert!(output(&deleted).contains(&line), "{path}");
        fs::write(p.join(path), before).unwrap();
    }
    for path in owned("user").iter().chain(&owned("merged")) {
        let before = text(&p, path);
        fs::write(p.join(path), format!("{before}\n# x\n")).unwrap();
        ok(&p, "regenerate --check");
        fs::write(p.join(path), before).unwrap();
    }
    ok(&p, "regenerate --check");
}

#[test]
fn resetting_a_folder_does_not_reset_user_owned_files() {
    let folder = project();
    let p = folder.path().join("p");
    edit(&p.join("manifests/namespace.yaml"), |text| {
        text + "# mine\n"
    });
    edit(&p.join("src/controllers/widget.rs"), |text| {
        text + "// mine\n"
    });
    ok(&p, "regenerate --adopt ./manifests/namespace.yaml");
    ok(&p, "regenerate --reset manifests --reset src");
    assert!(text(&p, "manifests/namespace.yaml").ends_with("# mine\n"));
    let both = run(
        &p,
        "regenerate --reset manifests --adopt manifests/kustomization.yaml",
    );
    assert_eq!(both.code, 2, "{}", both.stderr);
    // nor are they reset after their kind was removed from the project
    let state = text(&p, "operator.toml");
    let kinds = state.find("[[kind]]").unwrap();
    fs::write(p.join("operator.toml"), &state[..kinds]).unwrap();
    ok(&p, "regenerate --reset src");
    assert!(text(&p, "src/controllers/widget.rs").ends_with("// mine\n"));
}

#[test]
fn an_edited_base_is_not_trusted() {
    let folder = project();
    let p = folder.path().join("p");
    // a search and replace in all files changes both
    for path in ["Dockerfile", ".operator/base/Dockerfile"] {
        edit(&p.join(path), |text| {
            text.replace("EXPOSE 8080", "EXPOSE 7070")
        });
    }
    let stopped = run(&p, "regenerate");
    assert_eq!(stopped.code, 1, "{}", stopped.stderr);
    assert!(text(&p, "Dockerfile").contains("EXPOSE 7070"));
}

#[test]
fn a_project_with_other_line_endings_is_current_and_keeps_them() {
    let folder = project();
    let p = folder.path().join("p");
    for (path, text) in files(&p) {
        fs::write(p.join(path), text.replace('\n', "\r\n")).unwrap();
    }
    ok(&p, "regenerate --check");
    ok(&p, "gen-manifests --image x/y:1");
    for path in [
        "manifests/kustomization.yaml",
        "operator.lock",
        "operator.toml",
    ] {
        let text = text(&p, path);
        assert_eq!(
            text.matches('\n').count(),
            text.matches("\r\n").count(),
            "{path}"
        );
    }
}

#[test]
fn a_file_of_the_user_that_a_new_controller_takes_is_named() {
    let folder = project();
    let p = folder.path().join("p");
    let controller = "src/controllers/node.rs";
    let mine = "// mine\n";
    let notes = [controller, "tests/all/cluster.rs"].map(|path| {
        fs::write(p.join(path), mine).unwrap();
        format!("note: {path} exists and is kept: it is used as it is; to get the generated one, move it elsewhere and run `cargo operator regenerate --reset {path}`\n")
    });
    let before = files(&p);
    let json = ok(&p, "add-controller v1/Node --dry-run --format json").stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let expected = serde_json::json!([{"path": controller, "note": "kept"}]);
    assert_eq!(json["notes"], expected);
    assert!(files(&p) == before);
    for (args, note) in [
        ("add-controller v1/Node", &notes[0]),
        (
            "add-crd ../clusters.yaml --kind Cluster.cluster.example.com",
            &notes[1],
        ),
    ] {
        let told = ok(&p, args).stderr;
        assert!(told.contains(note.as_str()), "{told}");
        assert_eq!(told.matches("is kept").count(), 1, "{told}");
    }
    let again = ok(&p, "regenerate").stderr;
    assert!(!again.contains("is kept"), "{again}");
    assert_eq!(text(&p, controller), mine);
    fs::remove_file(p.join(controller)).unwrap();
    ok(&p, &format!("regenerate --reset {controller}"));
    assert!(text(&p, controller).contains("type Resource = PartialObjectMeta<Node>;"));
    // without the lock, every file is unknown
    fs::remove_file(p.join("operator.lock")).unwrap();
    let lost = ok(&p, "regenerate").stderr;
    assert!(!lost.contains("is kept"), "{lost}");
}

#[test]
fn a_file_with_a_byte_order_mark_is_reset() {
    let folder = project();
    let p = folder.path().join("p");
    for path in [
        "manifests/namespace.yaml",
        "src/api/mod.rs",
        ".dockerignore",
    ] {
        let ours = text(&p, path);
        edit(&p.join(path), |text| {
            format!("\u{feff}{}", text.replace('\n', "\r\n"))
        });
        ok(&p, &format!("regenerate --reset {path}"));
        assert_eq!(text(&p, path).replace("\r\n", "\n"), ours, "{path}");
        let run = ok(&p, "regenerate --check");
        assert!(run.stderr.ends_with("up to date\n"), "{}", run.stderr);
    }
}

#[test]
fn a_project_is_created_beside_the_files_of_a_repository() {
    let folder = folder();
    let p = folder.path().join("p");
    let own = [
        ("README.md", "# Mine\n"),
        ("LICENSE-MIT", "MIT\n"),
        (".gitignore", "/out\n"),
        (".github/CODEOWNERS", "* @me\n"),
        (".github/workflows/ci.yaml", "on: push\n"),
    ];
    for (path, text) in own {
        let path = p.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let created = ok(&p, "init . --name p --crd ../widget.yaml");
    let note = "note: left as it was: .github/workflows/ci.yaml, .gitignore, README.md\n";
    assert_eq!(
        created.stderr.matches(note).count(),
        1,
        "{}",
        created.stderr
    );
    for (path, expected) in own {
        assert_eq!(text(&p, path), expected, "{path}");
    }
    let checked = ok(&p, "regenerate --check");
    assert!(
        checked.stderr.ends_with("up to date\n"),
        "{}",
        checked.stderr
    );
    ok(&p, "regenerate --reset README.md");
    assert_ne!(text(&p, "README.md"), "# Mine\n");
    // other files may belong to another project
    let other = folder.path().join("q");
    fs::create_dir(&other).unwrap();
    for name in ["main.rs", "LICENSES", "README", "target"] {
        fs::write(other.join(name), "").unwrap();
        let run = run(&other, "init . --crd ../widget.yaml");
        assert_eq!(run.code, 2, "{name}");
        fs::remove_file(other.join(name)).unwrap();
    }
}
