//! Controllers of existing kinds: added by `init` and `add-controller`, or with the types of a foreign kind, and removed.

use std::fs;

use super::support::{commit, edit, files, folder, ok, run};

const PODS: &str = "init pods --controller v1/Pod --as pod-printer";

#[test]
fn a_project_of_a_built_in_kind_has_no_crd_and_few_permissions() {
    let folder = folder();
    ok(folder.path(), PODS);
    let p = folder.path().join("pods");
    ok(&p, "regenerate --check");
    let made = files(&p);
    assert!(!made.keys().any(|path| path.starts_with("crds/")));
    let state = &made["operator.toml"];
    let table =
        "\n[[controller]]\nname = \"pod-printer\"\nkind = \"v1/Pod\"\ncache = \"metadata\"\n";
    assert!(state.ends_with(table), "{state}");
    let registry = &made["src/controllers/mod.rs"];
    let add = ".add_named(\"pod-printer\", pod_printer::setup, |watches| watches)";
    assert!(registry.contains(add), "{registry}");
    let role = &made["manifests/rbac/cluster-role.yaml"];
    for verb in ["get", "update", "delete"] {
        assert!(!role.contains(&format!("- {verb}\n")), "{verb}: {role}");
    }
    let controller = &made["src/controllers/pod_printer.rs"];
    assert!(controller.contains("type Resource = PartialObjectMeta<Pod>;"));
    assert!(!controller.contains("FINALIZER"));
    assert!(made["manifests/samples/pods.yaml"].contains("kind: Pod"));
    // of metadata, no request of the tests needs an event
    let faults = &made["tests/all/faults.rs"];
    let unchecked = faults.split("let unchecked = ").nth(1).unwrap();
    assert!(unchecked.contains("events.k8s.io"), "{faults}");
    let inspected = ok(&p, "inspect pod-printer").stdout;
    for part in [
        "\npod-printer\n  kind      v1/Pod, metadata only\n  scope     Namespaced\n",
        "  controls  src/controllers/pod_printer.rs\n  owns      -\n",
    ] {
        assert!(inspected.contains(part), "{inspected}");
    }
    let json = ok(&p, "inspect --format json").stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["controllers"][0]["name"], "pod-printer");
    assert_eq!(json["controllers"][0]["scaffold"], "controller");
}

#[test]
fn a_finalizer_and_a_cache_of_metadata_are_asked_for() {
    let folder = folder();
    ok(folder.path(), "init p --controller v1/Secret --cleanup");
    let p = folder.path().join("p");
    let made = files(&p);
    let controller = &made["src/controllers/secret.rs"];
    for part in [
        "use kube::{ResourceExt, core::PartialObjectMeta};",
        "type Resource = PartialObjectMeta<Secret>;",
        "const FINALIZER: Option<&'static str> = Some(\"p/secret\");",
        "async fn cleanup(&self",
    ] {
        assert!(controller.contains(part), "{part}: {controller}");
    }
    assert!(made["manifests/rbac/cluster-role.yaml"].contains("- patch\n  - watch\n"));
    assert!(
        ok(&p, "inspect")
            .stdout
            .contains("v1/Secret, metadata only\n")
    );
    // operator.toml and the code disagree
    edit(&p.join("operator.toml"), |text| {
        text.replace("cache = \"metadata\"\ncleanup = true\n", "")
    });
    let regenerated = ok(&p, "regenerate").stderr;
    for part in [
        "the controller secret has FINALIZER and `cleanup`, but operator.toml has no `cleanup = true` for it",
        "add `cleanup = true` to its table in operator.toml",
        "to let the operator remove the finalizer from the objects that have it, add a rule with the verb \"patch\" for secrets to `rules`",
        "the controller secret watches metadata only, but operator.toml has no `cache = \"metadata\"` for it",
    ] {
        assert!(regenerated.contains(part), "{part}: {regenerated}");
    }
}

#[test]
fn handlers_of_a_built_in_kind_may_patch_its_objects_and_have_a_sample_with_their_label() {
    let folder = folder();
    ok(
        folder.path(),
        "init p --controller v1/Pod --scaffold handlers",
    );
    let p = folder.path().join("p");
    ok(
        &p,
        "add-controller v1/Pod --as pod-hooks --scaffold handlers --cleanup --cache metadata",
    );
    ok(&p, "regenerate --check");
    let made = files(&p);
    let tables = "name = \"pod\"\nkind = \"v1/Pod\"\nscaffold = \"handlers\"\n\n[[controller]]\nname = \"pod-hooks\"\nkind = \"v1/Pod\"\nscaffold = \"handlers\"\ncache = \"metadata\"\ncleanup = true\n";
    let state = &made["operator.toml"];
    assert!(state.ends_with(tables), "{state}");
    let registry = &made["src/controllers/mod.rs"];
    let add = ".add_named_handlers(\"pod-hooks\", pod_hooks::setup, |watches| watches)";
    assert!(registry.contains(add), "{registry}");
    let sample = &made["manifests/samples/pods.yaml"];
    let labels = "  labels:\n    p/pod: \"yes\"\n    p/pod-hooks: \"yes\"\n";
    assert!(sample.contains(labels), "{sample}");
    let role = &made["manifests/rbac/cluster-role.yaml"];
    let verbs = "  - pods\n  verbs:\n  - list\n  - patch\n  - watch\n";
    assert!(role.contains(verbs), "{role}");
    for (controller, parts) in [
        (
            "pod",
            ["type Resource = Pod;", "const LABEL: &str = \"p/pod\";"],
        ),
        (
            "pod_hooks",
            [
                "type Resource = PartialObjectMeta<Pod>;",
                "const FINALIZER: Option<&'static str> = Some(\"p/pod-hooks\");",
            ],
        ),
    ] {
        let text = &made[&format!("src/controllers/{controller}.rs")];
        for part in parts {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    assert!(
        ok(&p, "inspect pod")
            .stdout
            .contains("scaffold  handlers\n")
    );

    // the code is not converted
    edit(&p.join("operator.toml"), |text| {
        text.replacen("scaffold = \"handlers\"\n", "", 1)
    });
    let refused = run(&p, "regenerate");
    assert_eq!(refused.code, 2, "{}", refused.stdout);
    for part in [
        "error: pod has `scaffold = \"controller\"`, but src/controllers/pod.rs was generated by the scaffold \"handlers\" and does not implement `Reconciler`",
        "`cargo operator regenerate --reset src/controllers/pod.rs`, or write \"handlers\"",
    ] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    fs::remove_file(p.join("src/controllers/pod.rs")).unwrap();
    ok(&p, "regenerate --reset src/controllers/pod.rs");
    let controller = fs::read_to_string(p.join("src/controllers/pod.rs")).unwrap();
    assert!(controller.contains("impl Reconciler for PodController"));
    ok(&p, "regenerate --check");
}

#[test]
fn several_controllers_of_a_kind_share_its_sample() {
    let folder = folder();
    ok(folder.path(), PODS);
    let p = folder.path().join("pods");
    ok(&p, "add-controller v1/Pod --as pod-counter");
    ok(&p, "add-controller v1/Node");
    ok(&p, "regenerate --check");
    let made = files(&p);
    let faults = &made["tests/all/faults.rs"];
    assert!(faults.contains("const KINDS: [&str; 2] = [\"Pod\", \"Node\"];"));
    assert!(faults.contains("fn pod_printer_conforms"), "{faults}");
    assert!(!faults.contains("pod_counter_conforms"), "{faults}");
    assert!(made.contains_key("tests/all/pod_counter.rs"));
    let before = files(&p);
    let taken = run(&p, "add-controller v1/Pod --as pod-counter");
    assert_eq!(taken.code, 2);
    for part in [
        "the name `pod-counter` is already in use by the controller of v1/Pod",
        "choose another with --as NAME",
    ] {
        assert!(taken.stderr.contains(part), "{}", taken.stderr);
    }
    assert!(files(&p) == before);
}

#[test]
fn a_foreign_kind_gets_types_and_a_controller_and_is_not_installed() {
    let folder = folder();
    ok(folder.path(), PODS);
    let p = folder.path().join("pods");
    ok(
        &p,
        "add-crd ../widget.yaml --scaffold controller --as widget-watcher",
    );
    ok(&p, "regenerate --check");
    let made = files(&p);
    let state = &made["operator.toml"];
    let tables = state.split("[[").skip(1).collect::<Vec<_>>();
    assert_eq!(tables.len(), 3, "{state}");
    assert!(state.contains("name = \"widget-watcher\"\nkind = \"example.com/v1/Widget\"\n"));
    assert!(!state.contains("scaffold"), "{state}");
    assert!(!made.contains_key("crds/kustomization.yaml"));
    assert!(!made["manifests/kustomization.yaml"].contains("../crds"));
    let crds = "pub const CRDS: [&str; 1] = [\"crds/widgets.example.com.yaml\"];";
    assert!(made["tests/all/support/mod.rs"].contains(crds));
    assert!(made["tests/all/faults.rs"].contains(".crds(&support::CRDS)"));
    let controller = &made["src/controllers/widget_watcher.rs"];
    assert!(
        controller.contains("use crate::api::widget::v1::Widget;"),
        "{controller}"
    );

    // the project now knows the name of the kind; the kind cannot be removed while a controller reconciles it
    ok(&p, "add-controller example.com/v1/Widget");
    let refused = run(&p, "remove Widget");
    assert_eq!(refused.code, 2);
    for part in [
        "Widget.example.com is reconciled by widget-watcher",
        "first run `cargo operator remove widget-watcher`",
    ] {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    let again = run(&p, "add-crd ../widget.yaml --scaffold controller");
    let hint = "`cargo operator add-controller example.com/v1/Widget` adds a controller";
    assert!(
        again.code == 2 && again.stderr.contains(hint),
        "{}",
        again.stderr
    );
    commit(&p);
    for name in ["widget-watcher", "widget", "Widget"] {
        ok(&p, &format!("remove {name}"));
    }
    ok(&p, "regenerate --check");
    fs::remove_dir_all(p.join(".git")).unwrap();
    let remaining = files(&p);
    assert!(!remaining.keys().any(|path| path.contains("widget")));
}

#[test]
fn a_removed_controller_leaves_the_others_and_edited_files() {
    let folder = folder();
    ok(folder.path(), PODS);
    let p = folder.path().join("pods");
    let before = files(&p);
    ok(&p, "add-controller v1/Node --cleanup");
    let removed = ok(&p, "remove node");
    let finalizer = "objects that have its finalizer pods/node cannot be deleted until";
    assert!(removed.stdout.contains(finalizer) || removed.stderr.contains(finalizer));
    let mut after = files(&p);
    let lock = "operator.lock".to_owned();
    after.remove(&lock);
    let mut expected = before;
    expected.remove(&lock);
    assert!(after == expected);
    edit(&p.join("src/controllers/pod_printer.rs"), |text| {
        text + "\n// mine\n"
    });
    ok(&p, "remove pod-printer");
    assert!(p.join("src/controllers/pod_printer.rs").exists());
}

#[test]
fn a_wrong_kind_or_name_is_an_error_with_a_cure_and_writes_nothing() {
    let folder = folder();
    ok(folder.path(), "init p --crd widget.yaml");
    let p = folder.path().join("p");
    let before = files(&p);
    for (arguments, error, help) in [
        (
            "v1/pod",
            "there is no built-in kind `v1/pod`",
            "write \"v1/Pod\"\n",
        ),
        (
            "Deployment",
            "is not of the form",
            "write \"apps/v1/Deployment\"",
        ),
        (
            "apps/v1beta1/Deployment",
            "no built-in kind",
            "write \"apps/v1/Deployment\"\n",
        ),
        ("Pod", "`Pod` is not of the form", "write \"v1/Pod\"\n"),
        ("pods", "is not of the form", "write \"v1/Pod\"\n"),
        (
            "apps/Deployment",
            "`apps/Deployment` is not of the form GROUP/VERSION/KIND",
            "write \"apps/v1/Deployment\"\n",
        ),
        (
            "Event",
            "is not of the form",
            "write \"v1/Event\" or \"events.k8s.io/v1/Event\"\n",
        ),
        (
            "events/v1/Event",
            "no built-in kind `events/v1/Event`",
            "write \"v1/Event\" or \"events.k8s.io/v1/Event\"\n",
        ),
        ("v2/Pod", "no built-in kind `v2/Pod`", "write \"v1/Pod\"\n"),
        ("apps/v1/Pod", "no built-in kind", "write \"v1/Pod\"\n"),
        (
            "batch/v1/Foo",
            "no built-in kind `batch/v1/Foo`",
            "write \"batch/v1/CronJob\" or \"batch/v1/Job\"\n",
        ),
        (
            "v1/Foo",
            "no built-in kind `v1/Foo`",
            "write \"v1/ConfigMap\", \"v1/Endpoints\", \"v1/Event\"",
        ),
        (
            "widgets",
            "is not of the form",
            "write \"example.com/v1/Widget\"\n",
        ),
        (
            "v1/Binding",
            "`v1/Binding` cannot be watched",
            "such as \"v1/Pod\"",
        ),
        (
            "authentication.k8s.io/v1/TokenReview",
            "cannot be watched",
            "stored",
        ),
        (
            "resource.k8s.io/v1/DeviceClass",
            "which is newer",
            "`owns`, `watches`",
        ),
        (
            "argoproj.io/v1alpha1/Rollout",
            "there is no Rust type for `argoproj.io/v1alpha1/Rollout`",
            "`cargo operator add-crd FILE --scaffold controller`",
        ),
        (
            "example.com/v1/Widget --as w",
            "`example.com/v1/Widget` already has a controller",
            "remove `scaffold` from its [[kind]]",
        ),
        (
            "v1/Pod --as widget",
            "the name `widget` is already in use by the controller of Widget.example.com",
            "--as NAME",
        ),
        (
            "v1/Pod --as Pod",
            "`Pod` is not the name of a controller",
            "`pod-printer`",
        ),
        (
            "v1/Pod --as a--b",
            "`a--b` is not the name of a controller",
            "lower-case",
        ),
    ] {
        let refused = run(&p, &format!("add-controller {arguments}"));
        assert_eq!(refused.code, 2, "{arguments}: {}", refused.stdout);
        for part in [error, help] {
            assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
        }
        assert!(files(&p) == before, "{arguments}");
    }
    for arguments in [
        "--controller v1/Pod --crd widget.yaml",
        "--controller v1/Pod --controller v1/Node --as both",
        "--controller v1/Pods",
        "--cache metadata --crd widget.yaml",
    ] {
        let refused = run(folder.path(), &format!("init q {arguments}"));
        assert_eq!(refused.code, 2, "{arguments}: {}", refused.stdout);
        assert!(!folder.path().join("q").exists(), "{arguments}");
    }
}

#[test]
fn a_wrong_table_is_an_error_at_its_line() {
    let folder = folder();
    ok(folder.path(), PODS);
    let p = folder.path().join("pods");
    ok(&p, "add-crd ../widget.yaml --types-only");
    let state = p.join("operator.toml");
    let right = fs::read_to_string(&state).unwrap();
    let before = files(&p);
    for (from, to, error) in [
        (
            "v1/Pod",
            "v1/Pdo",
            "error: there is no built-in kind `v1/Pdo`\n  --> operator.toml:",
        ),
        (
            "cache = \"metadata\"",
            "cache = \"content\"",
            "unknown value `content`, expected `metadata`",
        ),
        (
            "kind = \"v1/Pod\"",
            "kind = \"v1/Pod\"\nscaffold = \"declarative\"",
            "unknown value `declarative`, expected `controller` or `handlers`",
        ),
        (
            "kind = \"v1/Pod\"",
            "kind = \"v1/Pod\"\nscafold = 1",
            "unknown key `scafold`",
        ),
        (
            "[[controller]]",
            "[controller] # ours",
            "error: `controller` is one table, but operator.toml has a list of them\n --> operator.toml:8:1",
        ),
        (
            "[[controller]]",
            "[[controller]]\nname = \"node\"\nkind = \"v1/Node\"\n[controller]",
            "write each controller as its own table: [[controller]]\n",
        ),
        (
            "[[kind]]",
            "[kind]",
            "write each kind as its own table: [[kind]]\n",
        ),
        (
            "kind = \"v1/Pod\"\n",
            "kind = \"v1/Pod\"\n[controller.rules]\nverbs = [\"get\"]\n",
            "write each rule as its own table: [[controller.rules]]\n",
        ),
        (
            "\n[[controller]]\nname = \"pod-printer\"\nkind = \"v1/Pod\"\n",
            "# the controller\ncontroller = { name = \"pod-printer\", kind = \"v1/Pod\" }\n",
            "--> operator.toml:8:14\n  |\n7 | # the controller\n",
        ),
        (
            "\"pod-printer\"",
            "\"pod_printer\"",
            "`pod_printer` is not the name of a controller\n  --> operator.toml:",
        ),
        (
            "v1/Pod",
            "example.com/v2/Widget",
            "`example.com/v2/Widget` is not served",
        ),
        (
            "[[controller]]",
            "[[controller]]\nname = \"pod-printer\"\nkind = \"v1/Node\"\n[[controller]]",
            "the controller pod-printer is listed twice\n  --> operator.toml:",
        ),
        (
            "versions = [\"v1\"]",
            "versions = [\"v1\"]\nscaffold = \"controller\"",
            "unknown value `controller`, expected",
        ),
    ] {
        fs::write(&state, right.replace(from, to)).unwrap();
        let refused = run(&p, "regenerate");
        assert_eq!(refused.code, 2, "{to}: {}", refused.stdout);
        assert!(
            refused.stderr.contains(error),
            "{error}: {}",
            refused.stderr
        );
        fs::write(&state, &right).unwrap();
        assert!(files(&p) == before, "{to}");
    }
}

#[test]
fn a_rule_that_permits_nothing_is_an_error_at_its_line() {
    let folder = folder();
    ok(folder.path(), "init p --crd widget.yaml");
    let p = folder.path().join("p");
    ok(&p, "add-controller v1/Pod");
    let state = p.join("operator.toml");
    let right = fs::read_to_string(&state).unwrap();
    let whole = "apiGroups = [\"\"]\nresources = [\"pods\"]\nverbs = [\"get\"]\n";
    for (key, help) in [
        ("apiGroups", "`[\"\"]` for the core group"),
        ("resources", "`resources = [\"pods\"]`"),
        ("verbs", "`verbs = [\"get\"]`"),
    ] {
        let is_of = |line: &&str| line.starts_with(key);
        let line = whole.lines().find(is_of).unwrap();
        for (without, shown) in [
            (String::new(), "[[controller.rules]]"),
            (format!("{key} = []\n"), &*format!("{key} = []")),
        ] {
            let rule = whole.replace(&format!("{line}\n"), &without);
            let text = format!("{right}[[controller.rules]]\n{whole}[[controller.rules]]\n{rule}");
            fs::write(&state, &text).unwrap();
            let refused = run(&p, "regenerate");
            assert_eq!(refused.code, 2, "{rule}: {}", refused.stdout);
            let at = text.lines().count() - text.lines().rev().position(|it| it == shown).unwrap();
            for part in [
                &format!("error: a rule of pod has no `{key}`, so it permits nothing\n"),
                &format!("--> operator.toml:{at}:"),
                help,
            ] {
                assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
            }
        }
    }
    let rules = "rules = [{ apiGroups = [\"\"], verbs = [\"get\"] }]\nversions =";
    fs::write(&state, right.replace("versions =", rules)).unwrap();
    let refused = run(&p, "regenerate").stderr;
    let message = "a rule of Widget.example.com has no `resources`, so it permits nothing\n  --> operator.toml:";
    assert!(refused.contains(message), "{refused}");
    // URLs would need a ClusterRole of their own
    let url = "[[controller.rules]]\nnonResourceURLs = [\"/metrics\"]\nverbs = [\"get\"]\n";
    fs::write(&state, right.clone() + url).unwrap();
    let refused = run(&p, "regenerate").stderr;
    assert!(
        refused.contains("unknown key `nonResourceURLs`"),
        "{refused}"
    );
    fs::write(&state, format!("{right}[[controller.rules]]\n{whole}")).unwrap();
    ok(&p, "regenerate");
}

#[test]
fn a_foreign_kind_can_be_cached_as_metadata() {
    let folder = folder();
    let added = "--scaffold controller --cache metadata";
    ok(folder.path(), &format!("init q --crd widget.yaml {added}"));
    ok(folder.path(), PODS);
    let p = folder.path().join("pods");
    ok(&p, &format!("add-crd ../widget.yaml {added} --cleanup"));
    for (p, table) in [
        (&folder.path().join("q"), "cache = \"metadata\"\n"),
        (&p, "cache = \"metadata\"\ncleanup = true\n"),
    ] {
        ok(p, "regenerate --check");
        let made = files(p);
        assert!(made["operator.toml"].ends_with(table));
        let type_ = "type Resource = PartialObjectMeta<Widget>;";
        assert!(made["src/controllers/widget.rs"].contains(type_));
    }
}

#[test]
fn an_option_that_applies_to_nothing_is_an_error_with_a_cure() {
    let folder = folder();
    let refused = |at: &std::path::Path, args: &str, parts: &[&str]| {
        let before = files(at);
        let refused = run(at, args);
        assert_eq!(refused.code, 2, "{args}: {}", refused.stdout);
        for part in parts {
            assert!(refused.stderr.contains(part), "{args}: {}", refused.stderr);
        }
        assert!(files(at) == before, "{args}");
    };
    for (args, parts) in [
        (
            "--as x",
            [
                "a kind to which these options apply is missing: --as\n",
                "--controller",
            ],
        ),
        (
            "--cleanup --cache metadata --scaffold declarative --schema embed --versions v1",
            [
                "missing: --versions, --scaffold, --cleanup, --cache, --schema\n",
                "add --crd",
            ],
        ),
        ("--types-only", ["missing: --types-only\n", "--crd"]),
        (
            "--controller v1/Pod --scaffold declarative",
            [
                "an existing kind, which cannot have the style `declarative`",
                "pass `--scaffold controller` or `--scaffold handlers`, or a CRD",
            ],
        ),
        (
            "--controller v1/Pod --controller v1/Pod",
            [
                "--controller v1/Pod is given twice",
                "add-controller v1/Pod --as NAME`",
            ],
        ),
        (
            "--controller v1/Event --controller v1/Pod --controller events.k8s.io/v1/Event",
            [
                "of v1/Event and events.k8s.io/v1/Event would both have the name `event`",
                "add-controller events.k8s.io/v1/Event --as NAME`",
            ],
        ),
        (
            "--crd widget.yaml --cache metadata",
            ["--cache applies to", "--scaffold controller"],
        ),
    ] {
        refused(folder.path(), &format!("init p {args}"), &parts);
    }

    ok(folder.path(), "init p --crd widget.yaml");
    let p = folder.path().join("p");
    ok(
        &p,
        "add-crd ../clusters.yaml --kind Cluster.cluster.example.com --types-only",
    );
    let other =
        "Widget.example.com is already in the project, with the scaffold \"reconciler\", not";
    let cluster = "--kind Cluster.cluster.example.com";
    for (args, parts) in [
        (
            "widget.yaml --scaffold declarative",
            [
                &*format!("{other} \"declarative\""),
                "move src/controllers/widget.rs elsewhere, and run `cargo operator regenerate --reset src/controllers/widget.rs`",
            ],
        ),
        (
            "widget.yaml --scaffold controller --cache metadata",
            [
                &*format!("{other} \"controller\""),
                "remove `scaffold` from its table",
            ],
        ),
        (
            "widget.yaml --cleanup --as w",
            [
                "apply to new kinds only: --cleanup, --as\n",
                "operator.toml",
            ],
        ),
        (
            &*format!("clusters.yaml {cluster} --scaffold external"),
            [
                "with types only",
                "add `scaffold = \"external\"` to its table",
            ],
        ),
        (
            &*format!("clusters.yaml {cluster} --scaffold controller"),
            [
                "is already in the project",
                "`cargo operator add-controller cluster.example.com/",
            ],
        ),
    ] {
        refused(&p, &format!("add-crd ../{args}"), &parts);
    }
    ok(&p, "add-crd ../widget.yaml --scaffold reconciler");
}

#[test]
fn inspect_shows_rules_and_who_reconciles_a_kind() {
    let folder = folder();
    ok(folder.path(), PODS);
    let p = folder.path().join("pods");
    ok(&p, "add-crd ../widget.yaml --scaffold controller");
    ok(
        &p,
        "add-controller example.com/v1/Widget --as widget-counter",
    );
    ok(
        &p,
        "add-crd ../clusters.yaml --types-only --kind Cluster.cluster.example.com",
    );
    ok(&p, "add-controller apps/v1/Deployment");
    edit(&p.join("operator.toml"), |text| {
        text + "[[controller.rules]]\napiGroups = [\"apps\", \"\"]\nresources = [\"deployments/scale\"]\nverbs = [\"get\", \"patch\"]\nresourceNames = [\"web\"]\n[[controller.rules]]\napiGroups = [\"\"]\nresources = [\"nodes\"]\nverbs = [\"get\"]\n"
    });
    let all = ok(&p, "inspect").stdout;
    for part in [
        "  types     src/api/widget/\n  types only, its CRD is not installed\n  reconciled by widget, widget-counter\n",
        "  types     src/api/cluster/\n  types only, its CRD is not installed\n\n",
        "  owns      -\n  rule      get, patch on deployments/scale of apps, the core group, named web\n  rule      get on nodes\n",
    ] {
        assert!(all.contains(part), "{part}{all}");
    }
    for name in ["Pod", "pod", "pod-printer"] {
        let one = ok(&p, &format!("inspect {name}")).stdout;
        assert!(
            one.starts_with("pods\n\npod-printer\n  kind      v1/Pod, metadata only\n"),
            "{one}"
        );
        assert_eq!(one.matches("  kind  ").count(), 1, "{one}");
    }
    let unknown = run(&p, "inspect Gadget");
    assert_eq!(unknown.code, 2);
    let json = ok(&p, "inspect --format json").stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        json["kinds"][0]["controllers"],
        serde_json::json!(["widget", "widget-counter"])
    );
    assert_eq!(json["kinds"][1]["rules"], serde_json::json!([]));
    let rule = serde_json::json!({"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]});
    let rules = &json["controllers"][3]["rules"];
    assert_eq!(rules[1], rule);
    assert_eq!(rules[0]["resourceNames"], serde_json::json!(["web"]));
}
