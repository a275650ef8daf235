//! The conversions between the versions of a kind: what follows from the schemas, and which questions remain for the user.

use std::{fs, path::Path};

use tempfile::TempDir;

use super::support::{commit, edit, files, folder, ok, project, run, with_v2};

pub const CRD: &str = "crds/widgets.example.com.yaml";

/// A project whose Widget has the version v2, changed by replacements in its text.
pub fn converted(replacements: &[(&str, &str)]) -> TempDir {
    let folder = project();
    let p = folder.path().join("p");
    ok(&p, "add-version Widget v2");
    edit_v2(&p, replacements);
    folder
}

pub fn edit_v2(p: &Path, replacements: &[(&str, &str)]) {
    edit(&p.join(CRD), |text| {
        let at = text.find("  - name: v2").unwrap();
        let mut v2 = text[at..].to_owned();
        for (before, after) in replacements {
            assert!(v2.contains(before), "{before}");
            v2 = v2.replacen(before, after, 1);
        }
        text[..at].to_owned() + &v2
    });
}

pub const SIZE: (&str, &str) = (
    "              size:\n                description: How big it is.\n                type: integer\n                format: int32\n                minimum: 1\n",
    "              size:\n                type: string\n",
);
pub const COUNT: (&str, &str) = ("              replicas:\n", "              count:\n");

#[test]
fn different_schemas_get_a_conversion_with_all_that_belongs_to_it() {
    let folder = converted(&[COUNT]);
    let p = folder.path().join("p");
    edit(&p.join("operator.toml"), |text| {
        text.replace(
            "hub = \"v1\"\n",
            "hub = \"v1\"\nrenames = [{ version = \"v2\", from = \"spec.count\", to = \"spec.replicas\" }]\nsensitive = [\"spec.size\"]\n",
        )
    });
    let run = ok(&p, "regenerate");
    assert!(!run.stderr.contains("question"), "{}", run.stderr);
    assert!(!run.stderr.contains("breaks"), "{}", run.stderr);
    let made = files(&p);
    let versions = &made["src/api/widget/versions.rs"];
    for part in [
        "Conversion::new(\"widgets.example.com\", \"v1\")",
        "conversion.sensitive(\"v2\", \"spec.size\")",
        "spoke.moved(\"spec.count\", \"spec.replicas\")",
        "pub struct V2Answers {\n    /// Adds rules of your own.\n",
    ] {
        assert!(versions.contains(part), "{part}: {versions}");
    }
    assert!(
        made["src/api/mod.rs"].contains(
            "    pub mod conversion;\n    mod versions;\n    pub use self::versions::*;\n"
        )
    );
    assert!(!made["src/api/widget/conversion.rs"].contains("compile_error"));
    assert!(
        made["src/webhooks/mod.rs"]
            .contains(".convert_kind(\"Widget\", crate::api::widget::conversion())")
    );
    assert!(made["tests/all/conversions.rs"].contains("p::api::widget::conversion()"));
    let kustomization = &made["crds/kustomization.yaml"];
    for part in [
        "path: /spec/conversion",
        "name: p-webhook",
        "namespace: p",
        "path: /convert",
    ] {
        assert!(kustomization.contains(part), "{part}: {kustomization}");
    }
    assert!(made["manifests/rbac/webhook.yaml"].contains("widgets.example.com"));
    ok(&p, "regenerate --check");
    // the CRDs that the operator applies itself have the conversion as well
    edit(&p.join("operator.toml"), |text| {
        text.replace("[[kind]]", "ensure-crds = true\n\n[[kind]]")
    });
    ok(&p, "regenerate");
    let crds = fs::read_to_string(p.join("src/controllers/crds.json")).unwrap();
    let crds: serde_json::Value = serde_json::from_str(&crds).unwrap();
    assert_eq!(crds[0]["spec"]["conversion"]["strategy"], "Webhook");
}

#[test]
fn questions_name_both_places_until_they_are_answered() {
    let folder = converted(&[SIZE]);
    let p = folder.path().join("p");
    let run = ok(&p, "regenerate");
    for part in [
        "Widget.example.com: an open question about v2 and v1: v2 `spec.size` is a string, v1 `spec.size` is an integer.",
        "--> src/api/widget/conversion.rs:",
        "replace each `compile_error!` by the answer",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    let path = p.join("src/api/widget/conversion.rs");
    let text = fs::read_to_string(&path).unwrap();
    for part in [
        "v2 `spec.size` (crds/widgets.example.com.yaml:",
        "v1 `spec.size` (crds/widgets.example.com.yaml:28)",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let versions = fs::read_to_string(p.join("src/api/widget/versions.rs")).unwrap();
    assert!(
        versions
            .contains("pub spec_size: Both<fn(String) -> Result<i32>, fn(i32) -> Result<String>>"),
        "{versions}"
    );
    // answered
    edit(&path, |_| {
        "use operator_runtime::conversion::Both;\n\nuse super::V2Answers;\n\npub fn v2() -> V2Answers {\n    V2Answers {\n        spec_size: Both { to_hub: |size| Ok(size.parse()?), to_spoke: |size| Ok(size.to_string()) },\n        rules: |spoke| spoke,\n        declared: vec![],\n    }\n}\n".into()
    });
    assert!(!ok(&p, "regenerate").stderr.contains("question"));
    commit(&p);
    // another question appears, and the first one vanishes
    edit_v2(
        &p,
        &[
            (
                "              size:\n                type: string\n",
                SIZE.0,
            ),
            COUNT,
        ],
    );
    let run = ok(&p, "regenerate --allow-breaking");
    for part in [
        "a new question about v2 and v1: v2 `spec.count` and v1 `spec.replicas` are different fields, not one with two names.",
        "add to `V2Answers`:",
        "`spec_size` answers a question about v2 and v1 that no longer exists",
        "remove it from `V2Answers`",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    assert!(fs::read_to_string(&path).unwrap().contains("spec_size"));
}

#[test]
fn entries_that_the_crd_contradicts_are_refused_with_their_lines() {
    let folder = converted(&[COUNT]);
    let p = folder.path().join("p");
    let toml = fs::read_to_string(p.join("operator.toml")).unwrap();
    let rename = |version: &str, from: &str, to: &str| {
        format!("hub = \"v1\"\nrenames = [{{ version = {version:?}, from = {from}, to = {to} }}]")
    };
    for (entries, expected) in [
        (
            rename("v2", "\"spec.cont\"", "\"spec.replicas\""),
            &[
                "version `v2` has no field `spec.cont`",
                "did you mean \"spec.count\"?",
                "from = \"spec.cont\"",
            ][..],
        ),
        (
            rename("v2", "\"spec.count\"", "[\"spec.size\", \"spec.replica\"]"),
            &[
                "version `v1` has no field `spec.replica`",
                "did you mean \"spec.replicas\"?",
            ],
        ),
        (
            rename("v3", "\"spec.count\"", "\"spec.replicas\""),
            &["its CRD has no version `v3`; it has v1, v2"],
        ),
        (
            rename("v1", "\"spec.count\"", "\"spec.replicas\""),
            &["`v1` is the hub"],
        ),
        (
            rename("v2", "[]", "\"spec.replicas\""),
            &["`from` is an empty list"],
        ),
        (
            "hub = \"v1\"\nsensitive = [\"spec.password\"]".into(),
            &["version `v1` has no field `spec.password`", "sensitive = "],
        ),
        ("hub = \"v0\"".into(), &["its CRD has no version `v0`"]),
        (
            "sensitive = [\"spec.size\"]".into(),
            &[
                "`hub` is missing",
                "set `hub` to the version that all others are converted to and from: v1 or v2",
            ],
        ),
        (
            "hub = \"v1\"\nrenames = [{ version = \"v2\", from = 1, to = \"a\" }]".into(),
            &["write a path, such as \"spec.size\""],
        ),
    ] {
        let text = toml.replace("hub = \"v1\"", &entries);
        fs::write(p.join("operator.toml"), &text).unwrap();
        let before = files(&p);
        let run = run(&p, "regenerate");
        assert_eq!(run.code, 2, "{entries}: {}", run.stderr);
        for part in expected {
            assert!(
                run.stderr.contains(part),
                "{entries}: {part}\n{}",
                run.stderr
            );
        }
        assert!(
            run.stderr.contains("operator.toml:"),
            "{entries}: {}",
            run.stderr
        );
        assert_eq!(files(&p), before);
    }
    fs::write(
        p.join("operator.toml"),
        toml.replace("[\"v1\", \"v2\"]", "[\"v1\"]"),
    )
    .unwrap();
    let run = run(&p, "regenerate");
    assert!(
        run.stderr
            .contains("`versions` lacks `v2`, which is converted"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_conversion_in_the_crd_is_replaced_and_reported() {
    let folder = converted(&[COUNT]);
    let p = folder.path().join("p");
    edit(&p.join(CRD), |text| {
        text.replace(
            "  versions:\n",
            "  conversion:\n    strategy: Webhook\n    webhook:\n      conversionReviewVersions: [v1]\n      clientConfig: {url: \"https://example.com\"}\n  versions:\n",
        )
    });
    let run = ok(&p, "regenerate");
    for part in [
        "warning[conversion-not-served]",
        "crds/widgets.example.com.yaml:11:3",
        "the CRD that is installed has the operator's webhook instead",
        "remove `conversion` from the CRD",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
}

#[test]
fn the_help_for_versions_without_a_conversion_names_all_that_it_needs() {
    let folder = folder();
    edit(&folder.path().join("widget.yaml"), |text| {
        let two = with_v2(text);
        let at = two.find("  - name: v2").unwrap();
        two[..at].to_owned() + &two[at..].replace(COUNT.0, COUNT.1)
    });
    let init = ok(folder.path(), "init p --crd widget.yaml");
    let keys = ["hub = \"v1\"", "versions = [\"v1\", \"v2\"]"];
    let help = format!("set `{}` and `{}` in the kind's table", keys[0], keys[1]);
    assert!(init.stderr.contains(&help), "{}", init.stderr);
    let p = folder.path().join("p");
    edit(&p.join("operator.toml"), |text| {
        text.replace("versions = [\"v1\"]", &keys.join("\n"))
    });
    ok(&p, "regenerate");
    assert!(files(&p).contains_key("src/api/widget/versions.rs"));
}

#[test]
fn a_storage_version_that_is_not_served_is_refused_with_its_line() {
    let folder = project();
    let p = folder.path().join("p");
    edit(&p.join(CRD), |text| {
        with_v2(text).replacen("served: true", "served: false", 1)
    });
    let run = run(&p, "regenerate");
    assert_eq!(run.code, 2, "{}", run.stderr);
    for part in [
        "the version `v1` of Widget is not served, so no controller can watch it",
        "crds/widgets.example.com.yaml:13:5",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
}

#[test]
fn another_storage_version_breaks_nobody_if_the_operator_converts() {
    let folder = converted(&[COUNT]);
    let p = folder.path().join("p");
    ok(&p, "regenerate");
    let moved = |text: String| {
        let text = text
            .replace("storage: true", "storage: no")
            .replace("storage: false", "storage: true");
        text.replace("storage: no", "storage: false")
    };
    edit(&p.join(CRD), moved);
    let run = ok(&p, "regenerate --dry-run");
    let expected = "objects are stored as v1 -> v2; the operator converts the objects\n";
    assert!(
        run.stderr.contains(expected) || run.stdout.contains(expected),
        "{}{}",
        run.stdout,
        run.stderr
    );
}

#[test]
fn renames_without_a_conversion_are_refused() {
    let folder = converted(&[]);
    let p = folder.path().join("p");
    edit(&p.join("operator.toml"), |text| {
        let rename = "{ version = \"v2\", from = \"spec.size\", to = \"spec.replicas\" }";
        text.replace(
            "hub = \"v1\"",
            &format!("hub = \"v1\"\nrenames = [{rename}]"),
        )
    });
    let before = files(&p);
    let run = run(&p, "regenerate");
    assert_eq!(run.code, 2, "{}", run.stderr);
    for part in [
        "nothing is converted, because the schemas of all versions are equal",
        "operator.toml:",
        "remove the entry until the schemas differ",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    assert_eq!(files(&p), before);
}

#[test]
fn a_renamed_field_is_sensitive_under_both_names() {
    for sensitive in ["spec.replicas", "spec.count"] {
        let folder = converted(&[COUNT]);
        let p = folder.path().join("p");
        edit(&p.join("operator.toml"), |text| {
            let rename = "{ version = \"v2\", from = \"spec.count\", to = \"spec.replicas\" }";
            let entries =
                format!("hub = \"v1\"\nrenames = [{rename}]\nsensitive = [{sensitive:?}]");
            text.replace("hub = \"v1\"", &entries)
        });
        ok(&p, "regenerate");
        let versions = fs::read_to_string(p.join("src/api/widget/versions.rs")).unwrap();
        for part in [
            ".sensitive(\"v1\", \"spec.replicas\")",
            ".sensitive(\"v2\", \"spec.count\")",
        ] {
            assert!(versions.contains(part), "{part}: {versions}");
        }
    }
}

#[test]
fn missing_answers_are_reported() {
    let folder = converted(&[SIZE]);
    let p = folder.path().join("p");
    ok(&p, "regenerate");
    let path = "src/api/widget/conversion.rs";
    fs::remove_file(p.join(path)).unwrap();
    let run = ok(&p, "regenerate");
    for part in [
        format!("{path} is missing"),
        format!("cargo operator regenerate --reset {path}"),
    ] {
        assert!(run.stderr.contains(&part), "{part}: {}", run.stderr);
    }
    let check = self::run(&p, "regenerate --check");
    assert_eq!(check.code, 1, "{}", check.stderr);
    let line = "\na file that the generated code needs is missing\n";
    assert!(check.stderr.contains(line), "{}", check.stderr);
    ok(&p, &format!("regenerate --reset {path}"));
    assert!(p.join(path).is_file());
    // an open question is no drift, because only the user can answer it
    ok(&p, "regenerate --check");
}

#[test]
fn the_end_of_a_conversion_is_a_breaking_change() {
    let folder = converted(&[COUNT]);
    let p = folder.path().join("p");
    ok(&p, "regenerate");
    let toml = fs::read_to_string(p.join("operator.toml")).unwrap();
    edit(&p.join("operator.toml"), |text| {
        text.replace("hub = \"v1\"\n", "")
    });
    let before = files(&p);
    let refused = run(&p, "regenerate");
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    for part in [
        "error[breaking-change]: Widget.example.com: the operator no longer converts between v1 and v2",
        "crds/widgets.example.com.yaml:",
    ] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    assert_eq!(files(&p), before);
    let allowed = ok(&p, "regenerate --allow-breaking");
    assert!(
        allowed
            .stderr
            .contains("the schemas of v1 and v2 differ, and nothing converts between them"),
        "{}",
        allowed.stderr
    );
    assert!(!files(&p).contains_key("src/api/widget/versions.rs"));
    ok(&p, "regenerate --check");
    // the webhook of the installed CRD is needed, also when all schemas have become equal
    fs::write(p.join("operator.toml"), toml).unwrap();
    ok(&p, "regenerate");
    edit_v2(
        &p,
        &[("              count:\n", "              replicas:\n")],
    );
    ok(&p, "regenerate --allow-breaking");
    let versions = &files(&p)["src/api/widget/versions.rs"];
    assert!(versions.contains("Spoke::new(\"v2\")"), "{versions}");
    ok(&p, "regenerate --check");
}

const REMOVAL: &str = r#"kubectl patch crd widgets.example.com --type=json -p '[{"op":"test","path":"/spec/conversion/webhook/clientConfig/service/name","value":"p-webhook"},{"op":"replace","path":"/spec/conversion","value":{"strategy":"None"}}]'"#;

#[test]
fn the_last_version_keeps_the_webhook_until_hub_is_removed() {
    let folder = converted(&[COUNT]);
    let p = folder.path().join("p");
    let rename = "{ version = \"v2\", from = \"spec.count\", to = \"spec.replicas\" }";
    let keys = format!("hub = \"v1\"\nrenames = [{rename}]\nsensitive = [\"spec.size\"]\n");
    edit(&p.join("operator.toml"), |text| {
        text.replace("hub = \"v1\"\n", &keys)
    });
    ok(&p, "regenerate");
    let patches = files(&p)["crds/kustomization.yaml"].clone();
    assert!(patches.contains("strategy: Webhook"), "{patches}");
    // v2, which was the spoke, stays
    edit(&p.join(CRD), |text| {
        let (v1, v2) = (text.find("  - name: v1"), text.find("  - name: v2"));
        let (v1, v2) = (v1.unwrap(), v2.unwrap());
        text[..v1].to_owned() + &text[v2..].replace("storage: false", "storage: true")
    });
    let toml = fs::read_to_string(p.join("operator.toml")).unwrap();
    for (left, help) in [
        (
            keys.as_str(),
            "only one version is left: set `hub = \"v2\"`, and remove `renames` and `sensitive`\n",
        ),
        (
            keys.split_once('\n').unwrap().1,
            "only one version is left, so nothing is converted: remove `renames`\n",
        ),
    ] {
        fs::write(p.join("operator.toml"), toml.replace(&keys, left)).unwrap();
        let run = run(&p, "regenerate");
        assert_eq!(run.code, 2, "{left}: {}", run.stderr);
        assert!(run.stderr.contains(help), "{left}: {}", run.stderr);
    }
    fs::write(
        p.join("operator.toml"),
        toml.replace(&keys, "hub = \"v2\"\n"),
    )
    .unwrap();
    let run = ok(&p, "regenerate --allow-breaking");
    assert!(!run.stderr.contains("kubectl patch"), "{}", run.stderr);
    let kept = files(&p);
    assert_eq!(kept["crds/kustomization.yaml"], patches);
    assert!(!kept.contains_key("src/api/widget/conversion.rs"));
    assert!(!kept.contains_key("tests/all/conversions.rs"));
    let versions = &kept["src/api/widget/versions.rs"];
    let expected = "    Conversion::new(\"widgets.example.com\", \"v2\")\n";
    assert!(versions.contains(expected), "{versions}");
    ok(&p, "regenerate --check");

    edit(&p.join("operator.toml"), |text| {
        text.replace("hub = \"v2\"\n", "")
    });
    let refused = self::run(&p, "regenerate");
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    for part in [
        "error[breaking-change]: Widget.example.com: the operator no longer has the conversion webhook of the CRD",
        "warning[conversion-removed]: Widget.example.com: ",
        REMOVAL,
        "--force-conflicts",
    ] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    assert_eq!(files(&p)["crds/kustomization.yaml"], patches);
    let allowed = ok(&p, "regenerate --allow-breaking");
    assert!(allowed.stderr.contains(REMOVAL), "{}", allowed.stderr);
    let dropped = files(&p);
    assert!(!dropped["crds/kustomization.yaml"].contains("conversion"));
    assert!(!dropped.contains_key("src/api/widget/versions.rs"));
    let check = ok(&p, "regenerate --check");
    assert!(!check.stderr.contains("kubectl patch"), "{}", check.stderr);
}

#[test]
fn a_sensitive_field_without_a_place_is_reported_until_it_may_be_lost() {
    let folder = converted(&[COUNT]);
    let p = folder.path().join("p");
    edit(&p.join("operator.toml"), |text| {
        text.replace("hub = \"v1\"", "hub = \"v1\"\nsensitive = [\"spec.count\"]")
    });
    let run = ok(&p, "regenerate");
    for part in [
        "v2 `spec.count` is sensitive, so its value is never kept, and v1 has no place for it",
        "the operator does not start",
        "add `Declared::lossy(\"spec.count\", object)` to `declared` in src/api/widget/conversion.rs",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    edit(&p.join("src/api/widget/conversion.rs"), |text| {
        text.replace(
            "declared: vec![]",
            "declared: vec![Declared::lossy(\"spec.count\", object())]",
        )
    });
    let run = ok(&p, "regenerate");
    assert!(!run.stderr.contains("is sensitive"), "{}", run.stderr);
}
