//! Admission webhooks: wrong entries of `operator.toml` and wrong arguments, then what is generated, inspected and removed.

use std::{fs, path::Path};

use super::support::{edit, files, folder, ok, project, run};

/// Appends to `operator.toml` of the project `p`, whose last table is that of the kind Widget.
fn append(p: &Path, text: &str) {
    edit(&p.join("operator.toml"), |state| format!("{state}{text}\n"));
}

#[test]
fn a_wrong_entry_is_an_error_with_its_line_and_a_cure() {
    let folder = project();
    let p = folder.path().join("p");
    let before = fs::read_to_string(p.join("operator.toml")).unwrap();
    let line = before.lines().count() + 1;
    let entry = |text: &str| format!("webhooks = [{{ webhook = \"validate\", {text} }}]");
    let condition = |at| format!("{{ name = \"c{at}\", expression = \"true\" }}");
    let conditions: Vec<String> = (0..63).map(condition).collect();
    for (text, message, cure) in [
        (
            "webhooks = [\"validates\"]".to_owned(),
            "unknown value `validates`",
            "the nearest is `validate`",
        ),
        (
            entry("operation = [\"create\"]"),
            "unknown key `operation`",
            "the nearest is `operations`",
        ),
        (
            entry("operations = [\"connect\"]"),
            "unknown value `connect`, expected one of `create`, `update`, `delete`",
            "docs/operator-toml.md",
        ),
        (
            entry("operations = []"),
            "Widget.example.com: operations: Required value",
            "the API server would refuse the configuration",
        ),
        (
            entry("timeout = 31"),
            "timeout: Invalid value: 31",
            "1 and 30 seconds",
        ),
        (
            entry("timeout = 0"),
            "timeout: Invalid value: 0",
            "1 and 30 seconds",
        ),
        (
            entry("failure-policy = \"Fail\""),
            "unknown value `Fail`",
            "the nearest is `fail`",
        ),
        (
            entry("reinvocation-policy = \"never\""),
            "a webhook that validates has no `reinvocation-policy`",
            "only webhooks that mutate are called again",
        ),
        (
            "webhooks = [\"validate\", { webhook = \"validate\", operations = [\"delete\"] }]"
                .to_owned(),
            "the webhook `validate` is listed twice",
            "distinguish them by `request.operation`",
        ),
        (
            "webhooks = [{ webhook = \"mutate\", operations = [\"create\", \"delete\"] }]"
                .to_owned(),
            "a webhook that mutates cannot have the operation `delete`",
            "a webhook that validates can refuse it",
        ),
        (
            entry("match-conditions = [{ name = \"x\", expression = \"request.name ==\" }]"),
            "the match condition `x` is not a CEL expression",
            "https://kubernetes.io/docs/reference/using-api/cel/",
        ),
        (
            entry("match-conditions = [{ name = \"not-being-deleted\", expression = \"true\" }]"),
            "match-conditions[0].name: Duplicate value: \"not-being-deleted\"",
            "the tool adds `not-being-deleted`",
        ),
        (
            entry("match-conditions = [{ name = \"a b\", expression = \"true\" }]"),
            "match-conditions[0].name: Invalid value: \"a b\"",
            "the API server would refuse the conditions",
        ),
        (
            entry(&format!("match-conditions = [{}]", conditions.join(", "))),
            "match-conditions: Too many: 65: must have at most 64 items",
            "to which the tool adds",
        ),
        (
            entry("object-selector = { matchExpressions = [{ key = \"a\", operator = \"In\" }] }"),
            "object-selector.matchExpressions[0].values: Required value",
            "must be specified when `operator` is 'In' or 'NotIn'",
        ),
        (
            entry("namespace-selector = { matchLabels = { \"a b\" = \"c\" } }"),
            "namespace-selector.matchLabels: Invalid value: \"a b\"",
            "the API server would refuse the configuration",
        ),
        (
            entry("subresources = [\"stats\"]"),
            "widgets.example.com has no subresource `stats`",
            "choose from: status",
        ),
    ] {
        fs::write(p.join("operator.toml"), &before).unwrap();
        append(&p, &text);
        let failed = run(&p, "regenerate");
        assert_eq!(failed.code, 2, "{text}: {}", failed.stderr);
        for part in [message, cure, &format!("operator.toml:{line}:")] {
            assert!(
                failed.stderr.contains(part),
                "{text}: {part}: {}",
                failed.stderr
            );
        }
    }
}

#[test]
fn a_wrong_kind_of_a_table_is_an_error_with_its_line_and_a_cure() {
    let folder = project();
    let p = folder.path().join("p");
    let before = fs::read_to_string(p.join("operator.toml")).unwrap();
    let line = before.lines().count() + 3;
    for (kind, message, cure) in [
        (
            "v1/Pods",
            "there is no built-in kind `v1/Pods`",
            "write \"v1/Pod\"",
        ),
        (
            "Pod",
            "is not of the form GROUP/VERSION/KIND",
            "write \"v1/Pod\"",
        ),
        (
            "example.com/v1/Widget",
            "`example.com/v1/Widget` is a kind of the project",
            "write `webhooks` into its [[kind]] table",
        ),
        (
            "foo.io/v1/Bar:bars",
            "there is no Rust type for `foo.io/v1/Bar:bars`",
            "add-crd FILE --types-only",
        ),
        (
            "admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration",
            "the API server calls no webhooks for",
            "choose another kind",
        ),
    ] {
        fs::write(p.join("operator.toml"), &before).unwrap();
        append(
            &p,
            &format!("\n[[webhook]]\nkind = {kind:?}\nwebhooks = [\"validate\"]"),
        );
        let failed = run(&p, "regenerate");
        assert_eq!(failed.code, 2, "{kind}: {}", failed.stderr);
        for part in [message, cure, &format!("operator.toml:{line}:")] {
            assert!(
                failed.stderr.contains(part),
                "{kind}: {part}: {}",
                failed.stderr
            );
        }
    }
    for (table, message) in [
        (
            "[webhook]\nkind = \"v1/Pod\"\nwebhooks = []",
            "write the webhooks of each kind as their own table: [[webhook]]",
        ),
        (
            "[[webhook]]\nkind = \"v1/Pod\"\nwebhooks = []",
            "v1/Pod: the table has no webhooks",
        ),
        ("[[webhook]]\nkind = \"v1/Pod\"", "missing field `webhooks`"),
        (
            "[[webhook]]\nkind = \"v1/Pod\"\nwebhooks = [{ webhook = \"validate\", subresources = [\"eviction\"] }]",
            "requests for pods/eviction have objects of another kind",
        ),
        (
            "[[webhook]]\nkind = \"v1/Pod\"\nas = \"a\"\nwebhooks = [\"validate\"]\n\n[[webhook]]\nkind = \"v1/Pod\"\nwebhooks = [\"mutate\"]",
            "v1/Pod is listed twice",
        ),
        (
            "[[webhook]]\nkind = \"v1/Pod\"\nwebhooks = [\"validate\"]\n\n[[controller]]\nname = \"pod-webhook\"\nkind = \"v1/Pod\"",
            "the test `pod_webhook` of the webhooks of v1/Pod would have the name of the test of pod-webhook",
        ),
    ] {
        fs::write(p.join("operator.toml"), &before).unwrap();
        append(&p, &format!("\n{table}"));
        let failed = run(&p, "regenerate");
        assert_eq!(failed.code, 2, "{table}: {}", failed.stderr);
        assert!(
            failed.stderr.contains(message),
            "{table}: {}",
            failed.stderr
        );
    }
}

#[test]
fn wrong_arguments_are_errors_and_change_nothing() {
    let folder = project();
    let p = folder.path().join("p");
    ok(&p, "add-webhook Widget --validate");
    let before = files(&p);
    for (args, message, cure) in [
        (
            "Widget",
            "neither --validate nor --mutate",
            "pass --validate",
        ),
        (
            "Pod --mutate",
            "the project has no kind Pod",
            "write v1/Pod for the built-in kind",
        ),
        (
            "Gadget --mutate",
            "the project has no kind Gadget",
            "such as v1/Pod",
        ),
        (
            "v1/Binding --mutate",
            "`v1/Binding` is not stored",
            "choose another kind",
        ),
        (
            "Widget --validate --mutate",
            "Widget.example.com already has the webhook `validate`",
            "edit its options",
        ),
        (
            "Widget --mutate --as other",
            "--as applies to built-in kinds",
            "leave it out",
        ),
        (
            "v1/Pod --mutate --as widget",
            "the module `widget` of the webhooks of v1/Pod is already in use by those of Widget.example.com",
            "`as`",
        ),
        (
            "v1/Pod --mutate --as crate",
            "`crate` is not a module name",
            "lower-case",
        ),
    ] {
        let failed = run(&p, &format!("add-webhook {args}"));
        assert_eq!(failed.code, 2, "{args}: {}", failed.stderr);
        for part in [message, cure] {
            assert!(
                failed.stderr.contains(part),
                "{args}: {part}: {}",
                failed.stderr
            );
        }
    }
    assert!(files(&p) == before);
}

#[test]
fn webhooks_are_added_inspected_and_removed() {
    let folder = project();
    let p = folder.path().join("p");
    let without = files(&p);
    ok(&p, "add-webhook Widget --validate --mutate");
    ok(&p, "add-webhook v1/Pod --mutate");
    ok(&p, "regenerate --check");
    let made = files(&p);
    let registry = &made["src/webhooks/mod.rs"];
    for part in [
        ".validates(\"/validate-example-com-widget\")",
        ".mutates(\"/mutate-example-com-widget\")",
        ".add(pod::setup, |webhook| webhook.mutates(\"/mutate--pod\"))",
    ] {
        assert!(registry.contains(part), "{part}: {registry}");
    }
    let controllers = &made["src/controllers/mod.rs"];
    assert!(
        controllers.contains("        .webhooks(webhooks::all())\n"),
        "{controllers}"
    );
    let manifest = &made["Cargo.toml"];
    assert!(
        manifest.contains("/crates/operator-runtime\", features = [\"webhook\"] }"),
        "{manifest}"
    );
    assert!(made["src/webhooks/pod.rs"].contains("impl Mutate for PodWebhook"));
    assert!(!made["src/webhooks/pod.rs"].contains("Validate"));
    for path in [
        "tests/all/widget_webhook.rs",
        "tests/all/pod_webhook.rs",
        "manifests/samples/pods.yaml",
        "manifests/rbac/webhook.yaml",
        "manifests/webhook/service.yaml",
        "manifests/webhook/validating.yaml",
        "manifests/webhook/mutating.yaml",
    ] {
        assert!(made.contains_key(path), "{path}");
    }
    let inspected = ok(&p, "inspect").stdout;
    for part in [
        "  webhook   validate (create, update)\n  webhook   mutate (create, update)\n  admits    src/webhooks/widget.rs\n",
        "\nv1/Pod\n  webhook   mutate (create, update)\n  admits    src/webhooks/pod.rs\n",
        "\ncertificates of the webhooks: managed\n",
    ] {
        assert!(inspected.contains(part), "{part}: {inspected}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&ok(&p, "inspect --format json").stdout).unwrap();
    assert_eq!(json["kinds"][0]["webhooks"][1]["webhook"], "mutate");
    assert_eq!(json["webhooks"][0]["kind"], "v1/Pod");
    assert_eq!(json["certificates"], "managed");

    // the second webhook of a kind needs code, because the file is the user's
    let added = ok(&p, "add-webhook v1/Pod --validate").stderr;
    for part in [
        "src/webhooks/pod.rs does not implement `Validate`",
        "impl operator_runtime::webhook::Validate for PodWebhook {",
    ] {
        assert!(added.contains(part), "{part}: {added}");
    }
    // a webhook that is no longer declared needs an edit of that file, too
    edit(&p.join("operator.toml"), |text| {
        text.replace(
            "webhooks = [\"validate\", \"mutate\"]",
            "webhooks = [\"validate\"]",
        )
    });
    let regenerated = ok(&p, "regenerate").stderr;
    let part = "src/webhooks/widget.rs implements `Mutate`, but operator.toml has no webhook `mutate` of example.com/v1/Widget";
    assert!(regenerated.contains(part), "{regenerated}");

    ok(&p, "remove v1/Pod");
    ok(&p, "remove Widget --webhooks");
    let after = files(&p);
    for (path, text) in &without {
        if path != "operator.lock" {
            assert_eq!(after.get(path), Some(text), "{path}");
        }
    }
    assert!(!after.contains_key("src/webhooks/mod.rs"));
    let failed = run(&p, "remove Widget --webhooks").stderr;
    assert!(
        failed.contains("Widget.example.com has no webhooks"),
        "{failed}"
    );
}

#[test]
fn a_kind_of_another_operator_has_webhooks_without_a_controller() {
    let folder = folder();
    ok(folder.path(), "init p --controller v1/Secret");
    let p = folder.path().join("p");
    ok(&p, "add-crd ../widget.yaml --types-only");
    ok(&p, "add-webhook Widget --validate");
    let made = files(&p);
    assert!(made["tests/all/support/mod.rs"].contains("crds/widgets.example.com.yaml"));
    assert!(made["src/webhooks/widget.rs"].contains("use crate::api::widget::v1::Widget;"));
    assert!(made.contains_key("manifests/samples/widgets.example.com.yaml"));
    assert!(!made["manifests/kustomization.yaml"].contains("../crds"));
    assert!(made["manifests/webhook/validating.yaml"].contains("- widgets\n"));
}

#[test]
fn cert_manager_is_chosen_for_the_whole_project() {
    let folder = project();
    let p = folder.path().join("p");
    edit(&p.join("operator.toml"), |text| {
        text.replace(
            "namespaces =",
            "certificates = \"cert-manager\"\nnamespaces =",
        )
    });
    ok(&p, "add-webhook Widget --validate");
    let made = files(&p);
    assert!(made["src/webhooks/mod.rs"].contains(".mounted_certificates()"));
    assert!(made["manifests/webhook/certificates.yaml"].contains("kind: Issuer"));
    assert!(!made.contains_key("manifests/rbac/webhook.yaml"));
    assert!(made["tests/all/support/mod.rs"].contains("tests/all/support/cert-manager.yaml"));
    assert!(made["tests/all/support/cert-manager.yaml"].contains("name: issuers.cert-manager.io"));
    let faults = &made["tests/all/faults.rs"];
    assert!(!faults.contains("\"secrets\""), "{faults}");
}

#[test]
fn a_missing_file_that_the_generated_code_declares_is_reported_and_fails_the_check() {
    let folder = project();
    let p = folder.path().join("p");
    ok(&p, "add-webhook Widget --validate");
    ok(&p, "add-webhook v1/Pod --validate");
    ok(&p, "regenerate --check");
    for (path, what) in [
        (
            "src/webhooks/widget.rs",
            "which has the webhooks of example.com/v1/Widget",
        ),
        ("src/webhooks/pod.rs", "which has the webhooks of v1/Pod"),
        (
            "src/controllers/widget.rs",
            "which has the controller of Widget",
        ),
    ] {
        let text = fs::read_to_string(p.join(path)).unwrap();
        fs::remove_file(p.join(path)).unwrap();
        let check = run(&p, "regenerate --check");
        assert_eq!(check.code, 1, "{}", check.stderr);
        let inspected = run(&p, "inspect");
        for run in [check, ok(&p, "regenerate"), inspected] {
            for part in [
                &format!("{path} is missing, {what}\n"),
                "= note: the project does not compile\n",
                &format!("cargo operator regenerate --reset {path}"),
            ] {
                assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
            }
            assert!(!run.stderr.contains("nothing to do"), "{}", run.stderr);
        }
        // a module may also be a folder
        let folder = p.join(path.trim_end_matches(".rs"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("mod.rs"), text).unwrap();
        ok(&p, "regenerate --check");
    }
}
