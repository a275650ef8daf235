//! The program as a user runs it: arguments in, exit code, output and files out. No test here builds what is generated.

mod advice;
mod affected_code;
#[cfg(unix)]
mod attack;
mod bad_input;
mod branches;
#[path = "../cargo/mod.rs"]
mod cargo;
mod controllers;
mod conversions;
mod current;
mod dev;
mod diagnostics;
mod ensures;
mod evolves;
mod explained;
mod finalizers;
mod guards;
mod kept_fields;
mod killed;
mod live;
mod misspelt;
mod mixed;
mod model;
mod modes;
mod operator_toml;
mod owners;
mod pending;
mod removes;
mod retypes;
mod runtime;
mod scaffolds;
mod skeletons;
mod snapshots;
mod stale_code;
mod stale_objects;
mod support;
mod uninstalls;
mod upgrades;
mod versions;
mod webhooks;
mod workspace;

use std::fs;

use support::{WIDGET, edit, files, folder, ok, project, run, run_with};

#[test]
fn a_new_project_has_its_expected_files() {
    let folder = project();
    let p = folder.path().join("p");
    assert_eq!(
        fs::read_to_string(p.join("crds/widgets.example.com.yaml")).unwrap(),
        WIDGET
    );
    let run = ok(&p, "regenerate --check");
    assert_eq!(run.stdout, "");
    assert!(run.stderr.ends_with("up to date\n"), "{}", run.stderr);
    assert!(
        ok(&p.join("src/api"), "regenerate")
            .stderr
            .contains("nothing to do"),
        "found from below"
    );
    ok(
        folder.path(),
        "regenerate --check --manifest-path p/Cargo.toml",
    );
}

#[test]
fn the_views_write_nothing() {
    let folder = folder();
    for view in ["--dry-run", "--diff", "--check"] {
        let run = run(folder.path(), &format!("init p --crd widget.yaml {view}"));
        assert_eq!(run.code, i32::from(view == "--check"));
        assert!(run.stdout.contains("src/main.rs"), "{view}: {}", run.stdout);
        assert!(!folder.path().join("p").exists(), "{view}");
    }
}

#[test]
fn json_describes_the_plan() {
    let folder = folder();
    let run = ok(
        folder.path(),
        "init p --crd widget.yaml --dry-run --format json",
    );
    let value: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let changes = value["changes"].as_array().unwrap();
    let main = changes
        .iter()
        .find(|change| change["path"] == "src/main.rs")
        .unwrap();
    assert_eq!(
        (&main["act"], &main["owner"]),
        (&"create".into(), &"user".into())
    );
    assert_eq!(value["written"], false);
}

#[test]
fn crds_are_read_from_files_folders_lists_and_standard_input() {
    let folder = project();
    let p = folder.path().join("p");
    ok(&p, "add-crd ../clusters.yaml --types-only");
    let run = run_with(
        &p,
        "add-crd - --types-only",
        &WIDGET
            .replace("widget", "gadget")
            .replace("Widget", "Gadget"),
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let made = files(&p);
    for path in [
        "src/api/widget/v1.rs",
        "src/api/cluster/v1.rs",
        "src/api/cluster_postgresql/v1.rs",
        "src/api/gadget/v1.rs",
        "crds/clusters.postgresql.example.com.yaml",
    ] {
        assert!(made.contains_key(path), "{path}");
    }
    assert!(!made.contains_key("src/controllers/cluster.rs"));
    assert!(!made["crds/kustomization.yaml"].contains("clusters"));
    ok(&p, "regenerate --check");
}

#[test]
fn an_edit_of_a_tool_owned_file_stops_the_plan_and_is_shown() {
    let folder = project();
    let p = folder.path().join("p");
    edit(&p.join("src/api/widget/v1.rs"), |text| text + "// mine\n");
    let before = files(&p);
    for args in [
        "regenerate",
        "add-crd ../clusters.yaml",
        "regenerate --check",
    ] {
        let run = run(&p, args);
        assert_eq!(run.code, 1, "{args}");
        assert!(
            run.stderr
                .contains("conflict[edited-file]: src/api/widget/v1.rs"),
            "{}",
            run.stderr
        );
        assert!(run.stderr.contains("-// mine"), "{}", run.stderr);
        assert_eq!(files(&p), before, "{args}");
    }
    fs::remove_file(p.join("src/api/widget/v1.rs")).unwrap();
    ok(&p, "regenerate");
    ok(&p, "regenerate --check");
}

#[test]
fn the_users_edits_are_kept_when_a_kind_is_added() {
    let folder = project();
    let p = folder.path().join("p");
    edit(&p.join("Cargo.toml"), |text| {
        text.replace("kube = {", "uuid = \"1\" # for names\nkube = {")
    });
    edit(&p.join("Dockerfile"), |text| format!("# ours\n{text}"));
    edit(&p.join("src/main.rs"), |text| format!("// ours\n{text}"));
    edit(&p.join("operator.toml"), |text| {
        text.replace("namespaces = \"all\"", "namespaces = \"own\" # for now")
    });
    ok(
        &p,
        "add-crd ../clusters.yaml --kind Cluster.postgresql.example.com",
    );
    let made = files(&p);
    assert!(made["Cargo.toml"].contains("uuid = \"1\" # for names\n"));
    assert!(made["Dockerfile"].starts_with("# ours\n"));
    assert!(made["src/main.rs"].starts_with("// ours\n"));
    assert!(made["operator.toml"].contains("namespaces = \"own\" # for now"));
    assert!(made["src/controllers/mod.rs"].contains("pub mod cluster;"));
    ok(&p, "regenerate --check");
}

#[test]
fn a_new_crd_of_a_known_kind_is_accepted() {
    let folder = project();
    let p = folder.path().join("p");
    let grown = WIDGET.replace(
        "              size:\n",
        "              color: {type: string}\n              size:\n",
    );
    assert_ne!(grown, WIDGET);
    fs::write(folder.path().join("grown.yaml"), &grown).unwrap();
    let run = ok(&p, "add-crd ../grown.yaml --diff");
    assert!(
        run.stdout.contains("+    pub color: Option<String>,"),
        "{}",
        run.stdout
    );
    ok(&p, "add-crd ../grown.yaml");
    assert_eq!(
        fs::read_to_string(p.join("crds/widgets.example.com.yaml")).unwrap(),
        grown
    );
    ok(&p, "regenerate --check");
}

#[test]
fn invalid_input_is_an_error_with_help_and_changes_nothing() {
    let folder = project();
    let p = folder.path().join("p");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("no.yaml", "a: [1\nb: 2\n");
    write("pod.yaml", "apiVersion: v1\nkind: Pod\n");
    write(
        "beta.yaml",
        &WIDGET.replace("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"),
    );
    write(
        "bare.yaml",
        &WIDGET.replace("type: integer", "type: integer\n                title: on"),
    );
    write(
        "unserved.yaml",
        &WIDGET.replace("served: true", "served: false"),
    );
    fs::create_dir(folder.path().join("empty")).unwrap();
    let before = files(&p);
    for (args, expected) in [
        (
            "add-crd ../no.yaml",
            "error[syntax]: this is not YAML or JSON",
        ),
        (
            "add-crd ../pod.yaml",
            "there is no CustomResourceDefinition in ../pod.yaml",
        ),
        (
            "add-crd ../beta.yaml",
            "error[api-version]: a CustomResourceDefinition of apiextensions.k8s.io/v1beta1",
        ),
        ("add-crd ../bare.yaml", "the unquoted scalar `on`"),
        ("add-crd ../unserved.yaml", "no version is served"),
        (
            "add-crd ../empty",
            "there is no file *.yaml, *.yml or *.json in ../empty",
        ),
        ("add-crd ../nowhere", "../nowhere does not exist"),
        (
            "add-crd ../clusters.yaml ../beta.yaml ../unserved.yaml",
            "unserved.yaml:",
        ),
        (
            "add-crd ../clusters.yaml --kind Gadget",
            "the kind Gadget is not in the input",
        ),
        (
            "add-crd ../clusters.yaml --versions v9",
            "has no version `v9`",
        ),
        (
            "add-crd ../clusters.yaml --as x",
            "--as applies to one kind",
        ),
        (
            "add-crd ../clusters.yaml ../clusters.yaml",
            "is defined twice in the input",
        ),
        ("add-crd", "no CRD and no kind was given"),
        ("add-crd --kind x! --group a.b", "`x!` is not a valid kind"),
        (
            "gen-manifests --image UPPER:",
            "is not the name of an image",
        ),
        (
            "inspect Nothing",
            "the project has no kind Nothing; it has Widget",
        ),
    ] {
        let run = run(&p, args);
        assert_eq!(run.code, 2, "{args}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{args}: {}", run.stderr);
        assert!(run.stderr.contains(" = help: "), "{args}: {}", run.stderr);
        assert_eq!(files(&p), before, "{args}");
    }
    for (args, expected) in [
        (
            "init p --crd widget.yaml",
            "p exists already and is not empty",
        ),
        ("init q --crd nowhere.yaml", "nowhere.yaml does not exist"),
        ("init Q! --crd widget.yaml", "`Q!` is not a package name"),
        // the names of a dependency, and of a device of Windows
        ("init serde --crd widget.yaml", "`--name serde-operator`"),
        ("init com1 --crd widget.yaml", "`--name com1-operator`"),
        ("regenerate", "there is no project here"),
    ] {
        let run = run(folder.path(), args);
        assert_eq!(run.code, 2, "{args}");
        assert!(
            run.stderr.contains(expected) && run.stderr.contains(" = help: "),
            "{args}: {}",
            run.stderr
        );
        assert!(!folder.path().join("q").exists());
    }
}

#[test]
fn an_invalid_operator_toml_is_reported_with_its_line() {
    let folder = project();
    let p = folder.path().join("p");
    let good = fs::read_to_string(p.join("operator.toml")).unwrap();
    for (before, after, expected) in [
        ("namespaces", "namespace", "operator.toml:6:1"),
        ("format = 1", "format = 0", "operator.toml has the format 0"),
        ("format = 1", "format = 9", "operator.toml has the format 9"),
        (
            "crds/widgets",
            "../widgets",
            "is outside of the folder crds/",
        ),
        (
            "owns = [",
            "owns = [\"x.io/v1/Ox\", ",
            "the plural of `x.io/v1/Ox` is unknown",
        ),
        (
            "versions = [\"v1\"]",
            "versions = [\"v2\"]",
            "Widget has no version `v2`; it has v1",
        ),
    ] {
        fs::write(p.join("operator.toml"), good.replace(before, after)).unwrap();
        let run = run(&p, "regenerate");
        assert_eq!(run.code, 2, "{after}");
        assert!(
            run.stderr.contains(expected) && run.stderr.contains(" = help: "),
            "{after}: {}",
            run.stderr
        );
    }
}

#[test]
fn owned_kinds_determine_the_permissions() {
    let folder = project();
    let p = folder.path().join("p");
    let role = || {
        files(&p)
            .into_iter()
            .filter(|(path, _)| path.starts_with("manifests/rbac/"))
            .map(|(_, text)| text)
            .collect::<String>()
    };
    assert!(role().contains("deployments") && !role().contains("services"));
    edit(&p.join("operator.toml"), |text| {
        text.replace("\"apps/v1/Deployment\"", "\"v1/Service\"")
    });
    ok(&p, "regenerate");
    assert!(!role().contains("deployments") && role().contains("services"));
    assert!(files(&p)["src/controllers/mod.rs"].contains("owns::<Service>()"));
}

#[test]
fn types_can_be_printed_without_a_project() {
    let folder = folder();
    let run = ok(folder.path(), "types widget.yaml");
    assert!(
        run.stdout.contains("pub struct WidgetSpec {"),
        "{}",
        run.stdout
    );
    ok(folder.path(), "types clusters.yaml --out types");
    let made = files(&folder.path().join("types"));
    let names: Vec<&str> = made.keys().map(String::as_str).collect();
    let clusters = [
        "cluster_cluster_example_com.rs",
        "cluster_postgresql_example_com.rs",
    ];
    assert_eq!(names, [clusters[0], clusters[1], "operator.lock"]);
}

#[test]
fn kinds_can_be_added_to_an_empty_project() {
    let folder = folder();
    ok(folder.path(), "init p");
    let p = folder.path().join("p");
    ok(&p, "regenerate --check");
    ok(&p, "add-crd --kind Backup --group cache.example.com");
    assert!(
        ok(&p, "inspect")
            .stdout
            .contains("Backup.cache.example.com")
    );
    ok(&p, "gen-manifests --image ghcr.io/me/p:0.1.0");
    assert!(files(&p)["operator.toml"].contains("image = \"ghcr.io/me/p:0.1.0\""));
    ok(&p, "gen-manifests --check");
}

#[test]
fn two_commands_at_once_lose_nothing() {
    let folder = project();
    let p = folder.path().join("p");
    let kinds = ["Gadget", "Gizmo", "Doohickey"];
    std::thread::scope(|scope| {
        for kind in kinds {
            let p = &p;
            scope.spawn(move || ok(p, &format!("add-crd --kind {kind} --group example.com")));
        }
    });
    let state = fs::read_to_string(p.join("operator.toml")).unwrap();
    for kind in kinds {
        assert!(state.contains(&format!("kind = \"{kind}\"")), "{kind}");
    }
    ok(&p, "regenerate --check");
}

#[test]
fn only_add_crd_rewrites_a_crd() {
    let folder = project();
    let p = folder.path().join("p");
    let spec = p.join("crds/widgets.example.com.yaml");
    let more = format!("# a licence\n---\n{WIDGET}---\napiVersion: v1\nkind: ConfigMap\n");
    fs::write(&spec, &more).unwrap();
    ok(&p, "regenerate");
    ok(&p, "gen-manifests --image a/b:1");
    assert_eq!(fs::read_to_string(&spec).unwrap(), more);
    let run = run(&p, "add-crd ../widget.yaml");
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("contains more than the CRD"),
        "{}",
        run.stderr
    );
    assert_eq!(fs::read_to_string(&spec).unwrap(), more);
}

#[test]
fn unusual_names_are_refused_or_mapped() {
    let folder = project();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("case.yaml", &WIDGET.replace("kind: Widget", "kind: WIdget"));
    write(
        "quote.yaml",
        &WIDGET.replace("plural: widgets", "plural: widgets\n    singular: 'w\".x'"),
    );
    write(
        "empty.yaml",
        &WIDGET.replace(
            "              size:\n",
            "              '': {type: string}\n              size:\n",
        ),
    );
    write(
        "dash.yaml",
        &WIDGET.replace("name: v1\n", "name: v1-alpha\n"),
    );
    let p = folder.path().join("p");
    let before = files(&p);
    for (args, expected) in [
        (
            "add-crd ../case.yaml",
            "the CRD crds/widgets.example.com.yaml is listed twice",
        ),
        ("add-crd ../quote.yaml", "is not a valid plural name"),
        (
            "add-crd ../clusters.yaml --kind Cluster.cluster.example.com --as ../../x",
            "`../../x` is not a module name",
        ),
        (
            "add-crd ../clusters.yaml --kind Cluster.cluster.example.com --as type",
            "`type` is not a module name",
        ),
        (
            "add-crd ../widget.yaml --versions v1,v1",
            "the version v1 is listed twice",
        ),
    ] {
        let run = run(&p, args);
        assert_eq!(run.code, 2, "{args}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{args}: {}", run.stderr);
        assert_eq!(files(&p), before, "{args}");
    }
    ok(folder.path(), "init q --crd dash.yaml");
    assert!(files(&folder.path().join("q")).contains_key("src/api/widget/v1_alpha.rs"));
    assert!(
        ok(folder.path(), "types empty.yaml")
            .stdout
            .contains("pub empty: Option<String>")
    );
    assert_eq!(run(folder.path(), "init deps --crd widget.yaml").code, 2);
}

#[test]
fn a_kind_that_is_a_word_of_rust_has_tests_without_its_underscore() {
    let folder = folder();
    ok(folder.path(), "init p --kind Box --group example.com");
    let test = fs::read_to_string(folder.path().join("p/tests/all/box_.rs")).unwrap();
    assert!(test.contains("async fn box_"), "{test}");
    assert!(!test.contains("fn box__"), "{test}");
}

#[test]
fn a_kind_does_not_take_the_place_of_a_generated_test() {
    let folder = folder();
    for kind in ["Main", "Faults", "Generated", "Conversions", "Support"] {
        let name = kind.to_lowercase();
        let args = format!("init p-{name} --kind {kind} --group example.com");
        ok(folder.path(), &args);
        let made = files(&folder.path().join(format!("p-{name}")));
        let test = format!("tests/all/{name}_.rs");
        assert!(made.contains_key(&test), "{test}");
    }
}
