//! Differences between `operator.toml` and an existing controller: no command edits the controller, and the edits that its owner has to
//! make are reported until they are made.

use std::{fs, path::Path};

use serde_json::Value;

use super::support::{edit, files, folder, ok, project, with_v2};

const CONTROLLER: &str = "src/controllers/widget.rs";

/// The messages of a code, each with its help.
fn diagnostics(p: &Path, code: &str) -> Vec<(String, String)> {
    let run = ok(p, "regenerate --format json");
    let output: Value = serde_json::from_str(&run.stdout).unwrap();
    let found = output["diagnostics"].as_array().unwrap().iter();
    let found = found.filter(|found| found["code"] == code);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    found
        .map(|found| (text(&found["message"]), text(&found["help"])))
        .collect()
}

fn with_key(p: &Path, key: &str) {
    let scaffold = "scaffold = \"reconciler\"\n";
    edit(&p.join("operator.toml"), |text| {
        assert!(text.contains(scaffold));
        text.replace(scaffold, &format!("{scaffold}{key}\n"))
    });
}

fn without_key(p: &Path, key: &str) {
    edit(&p.join("operator.toml"), |text| {
        text.replace(&format!("{key}\n"), "")
    });
}

/// Does what a help says: adds its code to the `impl` block of the reconciler.
fn paste(p: &Path, help: &str) {
    let (_, code) = help.split_once("\n\n").unwrap();
    edit(&p.join(CONTROLLER), |text| {
        let header = "    type Resource = Widget;\n";
        assert!(text.contains(header));
        text.replace(header, &format!("{header}{code}\n"))
    });
}

/// Removes the lines that a help names: `line 7`, `lines 7 to 9`.
fn remove_lines(p: &Path, help: &str) {
    let numbers: Vec<usize> = help
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    let ranges: Vec<(usize, usize)> = match numbers.as_slice() {
        [one, start, end] => vec![(*one, *one), (*start, *end)],
        [start, end] => vec![(*start, *end)],
        other => panic!("{help}: {other:?}"),
    };
    edit(&p.join(CONTROLLER), |text| {
        let lines = text.lines().enumerate();
        let is_kept = |at: usize| {
            !ranges
                .iter()
                .any(|(start, end)| (*start..=*end).contains(&(at + 1)))
        };
        lines
            .filter(|(at, _)| is_kept(*at))
            .map(|(_, line)| format!("{line}\n"))
            .collect()
    });
}

#[test]
fn a_missing_cleanup_is_reported_until_it_exists() {
    let folder = project();
    let p = folder.path().join("p");
    let before = fs::read_to_string(p.join(CONTROLLER)).unwrap();
    with_key(&p, "cleanup = true");
    let message = "operator.toml has `cleanup = true`, but the controller of Widget lacks FINALIZER and `cleanup`";
    for (args, rest) in [
        (
            "regenerate",
            "nothing to generate; the rest is yours to edit\n",
        ),
        (
            "regenerate",
            "nothing to generate; the rest is yours to edit\n",
        ),
        (
            "regenerate --check",
            "up to date, except for what is yours to edit\n",
        ),
    ] {
        let run = ok(&p, args);
        assert!(run.stderr.contains(message), "{}", run.stderr);
        assert!(
            run.stderr.contains("--> src/controllers/widget.rs:"),
            "{}",
            run.stderr
        );
        assert!(run.stderr.ends_with(rest), "{}", run.stderr);
    }
    assert!(ok(&p, "inspect").stderr.contains(message));
    let [(_, help)] = diagnostics(&p, "controller-differs").try_into().unwrap();
    assert!(help.contains("Some(\"example.com/p\")"), "{help}");
    paste(&p, &help);
    assert_eq!(ok(&p, "regenerate").stderr, "nothing to do\n");

    without_key(&p, "cleanup = true");
    let [(message, help)] = diagnostics(&p, "controller-differs").try_into().unwrap();
    assert_eq!(
        message,
        "the controller of Widget has FINALIZER and `cleanup`, but operator.toml has no `cleanup = true` for it"
    );
    assert!(
        help.ends_with("the operator then removes the finalizer from the objects that have it"),
        "{help}"
    );
    edit(&p.join(CONTROLLER), |text| {
        text.replace("example.com/p", "mine.io/x")
    });
    let [(_, other)] = diagnostics(&p, "controller-differs").try_into().unwrap();
    assert!(
        other.contains("remove the finalizer mine.io/x from all objects"),
        "{other}"
    );
    remove_lines(&p, &help);
    assert_eq!(ok(&p, "regenerate").stderr, "nothing to do\n");
    let after = fs::read_to_string(p.join(CONTROLLER)).unwrap();
    let code = |text: &str| -> Vec<String> {
        text.lines()
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(code(&after), code(&before));
}

#[test]
fn watches_need_parents_and_parents_need_watches() {
    let folder = project();
    let p = folder.path().join("p");
    with_key(&p, "watches = [\"v1/Secret\"]");
    let [(message, help)] = diagnostics(&p, "controller-differs").try_into().unwrap();
    assert_eq!(
        message,
        "operator.toml has `watches` for Widget, but its controller lacks `parents`, so a change of v1/Secret reconciles nothing"
    );
    paste(&p, &help);
    assert_eq!(ok(&p, "regenerate").stderr, "nothing to do\n");
    without_key(&p, "watches = [\"v1/Secret\"]");
    let [(message, help)] = diagnostics(&p, "controller-differs").try_into().unwrap();
    assert_eq!(
        message,
        "nothing calls `parents`, because operator.toml has no `watches` for Widget"
    );
    remove_lines(&p, &help);
    assert_eq!(ok(&p, "regenerate").stderr, "nothing to do\n");
}

#[test]
fn an_unreadable_or_missing_controller_is_not_reported() {
    let folder = project();
    let p = folder.path().join("p");
    with_key(&p, "cleanup = true");
    for text in ["fn main( {", "mod elsewhere;\n"] {
        fs::write(p.join(CONTROLLER), text).unwrap();
        assert_eq!(ok(&p, "regenerate").stderr, "nothing to do\n");
    }
}

#[test]
fn a_kind_that_gets_a_controller_owns_the_child_of_its_example() {
    let folder = folder();
    for (name, owns) in [("p", ""), ("q", "owns = []\n")] {
        ok(
            folder.path(),
            &format!("init {name} --crd widget.yaml --types-only"),
        );
        let p = folder.path().join(name);
        edit(&p.join("operator.toml"), |text| {
            text + "scaffold = \"reconciler\"\n" + owns
        });
        let run = ok(&p, "regenerate");
        let made = files(&p);
        assert!(made.contains_key(CONTROLLER));
        let unnamed = "the example in src/controllers/widget.rs applies apps/v1/Deployment, which is not in `owns`";
        assert_eq!(run.stderr.contains(unnamed), name == "q", "{}", run.stderr);
        assert_eq!(
            made["operator.toml"].contains("owns = [\"apps/v1/Deployment\"]"),
            name == "p"
        );
        assert_eq!(
            made["manifests/rbac/cluster-role.yaml"].contains("deployments"),
            name == "p"
        );
        ok(&p, "regenerate --check");
    }
}

#[test]
fn a_diagnostic_is_reported_when_its_kind_is_added_or_changed() {
    let folder = folder();
    edit(&folder.path().join("widget.yaml"), |text| {
        text.replace(
            "              size:\n",
            "              extra: {x-kubernetes-preserve-unknown-fields: true}\n              size:\n",
        )
    });
    const NOTE: &str = "note[untyped]: Widget.example.com";
    let is_shown = |args: &str, at: &Path| ok(at, args).stderr.contains(NOTE);
    assert!(is_shown("init p --crd widget.yaml", folder.path()));
    let p = folder.path().join("p");
    assert!(!is_shown("gen-manifests --image a/b:1", &p));
    assert!(!is_shown("add-crd ../clusters.yaml", &p));
    assert!(is_shown("inspect", &p));
    let json = ok(&p, "gen-manifests --image a/b:2 --dry-run --format json");
    assert!(json.stdout.contains("\"untyped\""), "JSON has them all");
    edit(&p.join("crds/widgets.example.com.yaml"), |text| {
        text.replace("How big it is.", "How large it is.")
    });
    assert!(is_shown("regenerate", &p));
}

#[test]
fn a_path_to_a_removed_field_is_reported() {
    let folder = folder();
    edit(&folder.path().join("widget.yaml"), |text| {
        text.replace(
            "    subresources:\n",
            "    additionalPrinterColumns:\n    - {name: Replicas, type: integer, jsonPath: .spec.replicas}\n    subresources:\n      \
             scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.observedGeneration}\n",
        )
    });
    let init = ok(folder.path(), "init p --crd widget.yaml");
    assert!(!init.stderr.contains("no field"), "{}", init.stderr);
    let p = folder.path().join("p");
    edit(&p.join("crds/widgets.example.com.yaml"), |text| {
        text.replace("              replicas:\n", "              copies:\n")
    });
    let run = ok(&p, "regenerate --allow-breaking");
    let message =
        "warning[contradiction]: Widget.example.com: the schema has no field `.spec.replicas`";
    assert_eq!(run.stderr.matches(message).count(), 2, "{}", run.stderr);
    for key in [
        "additionalPrinterColumns/0/jsonPath",
        "subresources/scale/specReplicasPath",
    ] {
        assert!(run.stderr.contains(key), "{}", run.stderr);
    }
}

#[test]
fn a_controller_of_another_kind_is_reported_until_one_of_them_changes() {
    let folder = folder();
    ok(
        folder.path(),
        "init p --controller v1/Pod --as watcher --cleanup --cache objects",
    );
    let p = folder.path().join("p");
    ok(&p, "add-crd ../widget.yaml --scaffold controller");
    let file = p.join("src/controllers/watcher.rs");
    let set = |from: &str, to: &str| {
        edit(&p.join("operator.toml"), |text| {
            assert!(text.contains(from), "{text}");
            text.replace(from, to)
        });
    };
    set("kind = \"v1/Pod\"", "kind = \"apps/v1/Deployment\"");
    let message = "operator.toml has `kind = \"apps/v1/Deployment\"`, but the controller watcher reconciles v1/Pod";
    let run = ok(&p, "regenerate");
    assert!(run.stderr.contains(message), "{}", run.stderr);
    let text = fs::read_to_string(&file).unwrap();
    let is_type = |line: &str| line.contains("type Resource = Pod;");
    let line = text.lines().position(is_type).unwrap() + 1;
    let place = format!("--> src/controllers/watcher.rs:{line}:21");
    assert!(run.stderr.contains(&place), "{}", run.stderr);
    let [(again, help)] = diagnostics(&p, "controller-differs").try_into().unwrap();
    assert_eq!(again, message);
    assert_eq!(
        help,
        "write `type Resource = k8s_openapi::api::apps::v1::Deployment;` and adapt the code that uses it, or `kind = \"v1/Pod\"` in operator.toml; before that, remove the finalizer p/watcher from all objects of v1/Pod, because they cannot be deleted with it"
    );
    // either cure
    edit(&file, |text| {
        text.replace(
            "type Resource = Pod;",
            "type Resource = k8s_openapi::api::apps::v1::Deployment;",
        )
    });
    assert_eq!(diagnostics(&p, "controller-differs"), []);
    // with a cache of metadata, and a kind of the project
    set(
        "kind = \"apps/v1/Deployment\"",
        "kind = \"example.com/v1/Widget\"\ncache = \"metadata\"",
    );
    let [(message, help)] = diagnostics(&p, "controller-differs").try_into().unwrap();
    assert!(
        message.ends_with("reconciles apps/v1/Deployment"),
        "{message}"
    );
    let type_ = "`type Resource = kube::core::PartialObjectMeta<crate::api::widget::v1::Widget>;`";
    assert!(help.contains(type_), "{help}");
    edit(&file, |text| {
        text.replace(
            "k8s_openapi::api::apps::v1::Deployment;",
            "kube::core::PartialObjectMeta<crate::api::widget::v1::Widget>;",
        )
    });
    assert_eq!(diagnostics(&p, "controller-differs"), []);
    // a type behind an alias or a glob import is not guessed
    edit(&file, |text| {
        text.replace("crate::api::widget::v1::Widget", "Mine")
    });
    assert_eq!(diagnostics(&p, "controller-differs"), []);
}

#[test]
fn the_version_of_a_controller_and_the_type_of_a_kind_are_compared() {
    let folder = folder();
    edit(&folder.path().join("widget.yaml"), with_v2);
    ok(
        folder.path(),
        "init p --crd clusters.yaml --kind Cluster.cluster.example.com",
    );
    let p = folder.path().join("p");
    ok(
        &p,
        "add-crd ../widget.yaml --scaffold controller --versions v1,v2",
    );
    edit(&p.join("operator.toml"), |text| {
        text.replace("example.com/v1/Widget", "example.com/v2/Widget")
    });
    let [(message, _)] = diagnostics(&p, "controller-differs").try_into().unwrap();
    assert_eq!(
        message,
        "operator.toml has `kind = \"example.com/v2/Widget\"`, but the controller widget reconciles example.com/v1/Widget"
    );
    edit(&p.join("src/controllers/widget.rs"), |text| {
        text.replace("widget::v1::", "widget::v2::")
    });
    assert_eq!(diagnostics(&p, "controller-differs"), []);
    edit(&p.join("src/controllers/cluster.rs"), |text| {
        let resource = "type Resource = Cluster;";
        assert!(text.contains(resource), "{text}");
        text.replace(resource, "type Resource = crate::api::widget::v1::Widget;")
    });
    let [(message, help)] = diagnostics(&p, "controller-differs").try_into().unwrap();
    assert_eq!(
        message,
        "the controller of Cluster reconciles example.com/v1/Widget"
    );
    assert!(!help.contains("operator.toml"), "{help}");
}
