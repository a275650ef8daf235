//! `add-version`: versions of a kind.

use std::fs;

use super::support::{WIDGET, edit, files, folder, ok, project, run};

const CRD: &str = "crds/widgets.example.com.yaml";

#[test]
fn wrong_names_and_versions_are_refused_with_their_places() {
    let folder = project();
    let p = folder.path().join("p");
    let before = files(&p);
    for (args, expected) in [
        (
            "Widget v1",
            &[
                "error: Widget.example.com already has the version `v1`",
                "crds/widgets.example.com.yaml:12:5",
                "choose another name",
            ][..],
        ),
        (
            "Widget V2",
            &[
                "`V2` is not a valid version name",
                "a version is a word such as `v1alpha1`",
            ],
        ),
        ("Widget 2", &["`2` is not a valid version name"]),
        ("Widget v2.1", &["`v2.1` is not a valid version name"]),
        (
            "Gadget v2",
            &["the project has no kind Gadget; it has Widget"],
        ),
        (
            "Widget v2 --from v0",
            &[
                "Widget has no version `v0`; it has v1",
                "crds/widgets.example.com.yaml:11:3",
                "choose one of these",
            ],
        ),
    ] {
        let run = run(&p, &format!("add-version {args}"));
        assert_eq!(run.code, 2, "{args}");
        for part in expected {
            assert!(run.stderr.contains(part), "{args}: {part}\n{}", run.stderr);
        }
        assert_eq!(files(&p), before, "{args}");
    }
}

#[test]
fn crds_that_are_not_edited_in_place_are_refused() {
    let folder = project();
    let p = folder.path().join("p");
    let crd = fs::read_to_string(p.join(CRD)).unwrap();
    let versions = crd.find("  versions:").unwrap();
    let flow = format!(
        "{}  versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}]\n",
        &crd[..versions]
    );
    let list = format!(
        "apiVersion: v1\nkind: List\nitems:\n- {}",
        crd.trim_end().replace('\n', "\n  ")
    );
    for (text, message) in [
        (
            flow,
            "`spec.versions` is not a list with an item for each version",
        ),
        (list, "the CRD is JSON or an item of a list"),
    ] {
        fs::write(p.join(CRD), &text).unwrap();
        let run = run(&p, "add-version Widget v2");
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains(message), "{}", run.stderr);
        assert!(
            run.stderr.contains("crds/widgets.example.com.yaml:1"),
            "{}",
            run.stderr
        );
        assert_eq!(fs::read_to_string(p.join(CRD)).unwrap(), text);
    }
}

#[test]
fn foreign_kinds_get_no_versions_here() {
    let folder = folder();
    ok(folder.path(), "init p --crd widget.yaml --types-only");
    let run = run(&folder.path().join("p"), "add-version Widget v2");
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("its CRD belongs to another operator"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_version_is_a_copy_and_the_hub_stays_the_first_storage_version() {
    let folder = project();
    let p = folder.path().join("p");
    let crd = p.join(CRD);
    edit(&crd, |text| {
        text.replace("  scope:", "  # of a namespace\n  scope:")
    });
    ok(&p, "regenerate");
    let before = files(&p);
    let run = ok(&p, "add-version Widget v2");
    assert_eq!(run.stdout, format!("update {CRD}\nupdate operator.toml\n"));
    assert!(run.stderr.contains(
        "next: edit v2 in crds/widgets.example.com.yaml, then cargo operator regenerate"
    ));
    let added = files(&p);
    let item = WIDGET[WIDGET.find("  - name: v1").unwrap()..].to_owned();
    let copy = item
        .replace("name: v1", "name: v2")
        .replace("storage: true", "storage: false");
    assert_eq!(added[CRD], before[CRD].clone() + &copy);
    assert!(added["operator.toml"].contains("versions = [\"v1\", \"v2\"]\nhub = \"v1\"\n"));
    // a third one, which is stored from now on
    let run = ok(&p, "add-version Widget v3rc --from v2 --storage");
    assert!(
        run.stderr
            .contains("`v3rc` is not a usual name of a version"),
        "{}",
        run.stderr
    );
    let added = files(&p);
    let stored = item.replace("name: v1", "name: v3rc");
    assert_eq!(
        added[CRD],
        before[CRD].replace("storage: true", "storage: false") + &copy + &stored
    );
    assert!(
        added["operator.toml"].contains("versions = [\"v1\", \"v2\", \"v3rc\"]\nhub = \"v1\"\n")
    );
    // the schemas are equal, so that nothing has to be converted
    let run = ok(&p, "regenerate");
    let made = files(&p);
    for version in ["v1", "v2", "v3rc"] {
        assert!(
            made.contains_key(&format!("src/api/widget/{version}.rs")),
            "{version}"
        );
    }
    assert!(
        !made
            .keys()
            .any(|path| path.starts_with("src/") && path.contains("conversion")),
        "{}",
        run.stdout
    );
    assert!(!made["crds/kustomization.yaml"].contains("patches"));
    ok(&p, "regenerate --check");
}

#[test]
fn the_views_of_add_version_write_nothing() {
    let folder = project();
    let p = folder.path().join("p");
    let before = files(&p);
    for (view, code) in [("--dry-run", 0), ("--diff", 0), ("--check", 1)] {
        let run = run(&p, &format!("add-version Widget v2 {view}"));
        assert_eq!(run.code, code, "{view}");
        assert!(run.stdout.contains(CRD), "{view}: {}", run.stdout);
        assert_eq!(files(&p), before, "{view}");
    }
}

#[test]
fn the_renames_of_a_version_are_copied_with_it() {
    let folder = project();
    let p = folder.path().join("p");
    ok(&p, "add-version Widget v2");
    edit(&p.join(CRD), |text| {
        let at = text.find("- name: v2").unwrap();
        text[..at].to_owned() + &text[at..].replace("replicas:", "count:")
    });
    let rename = "{ version = \"v2\", from = \"spec.count\", to = \"spec.replicas\" }";
    edit(&p.join("operator.toml"), |text| {
        let renames = format!("hub = \"v1\"\nrenames = [\n    # one word less\n    {rename},\n]");
        text.replace("hub = \"v1\"", &renames)
    });
    ok(&p, "regenerate");
    ok(&p, "add-version Widget v3 --from v2");
    let toml = fs::read_to_string(p.join("operator.toml")).unwrap();
    let copy = rename.replace("v2", "v3");
    assert!(
        toml.contains(&format!("# one word less\n    {rename},")),
        "{toml}"
    );
    assert!(toml.contains(&copy), "{toml}");
    let run = ok(&p, "regenerate");
    assert!(!run.stderr.contains("different fields"), "{}", run.stderr);
    // a copy of the hub needs none
    ok(&p, "add-version Widget v4 --from v1");
    let toml = fs::read_to_string(p.join("operator.toml")).unwrap();
    assert_eq!(toml.matches("spec.count").count(), 2, "{toml}");
}

#[test]
fn a_version_that_is_stored_at_once_is_warned_about() {
    let folder = project();
    let p = folder.path().join("p");
    let run = ok(&p, "add-version Widget v2 --storage");
    assert!(
        run.stderr
            .contains("objects are stored in v2 from its first release on"),
        "{}",
        run.stderr
    );
}

/// Stores the objects of Widget in v2.
fn move_storage(text: String) -> String {
    let (first, second) = text.split_once("name: v2").unwrap();
    let first = first.replace("storage: true", "storage: false");
    first + "name: v2" + &second.replace("storage: false", "storage: true")
}

/// Adds a field to v2, so that the operator converts.
fn with_a_field_in_v2(text: String) -> String {
    let (first, second) = text.split_once("name: v2").unwrap();
    let added = "image: {type: string}\n              replicas:";
    first.to_owned() + "name: v2" + &second.replacen("replicas:", added, 1)
}

#[test]
fn storing_in_a_version_that_the_former_release_cannot_convert_is_breaking() {
    type Edit = fn(String) -> String;
    let with_both: Edit = |text| move_storage(with_a_field_in_v2(text));
    // whether there is a webhook, how v2 is released first, and how it is stored
    let cases: [(&str, bool, Option<Edit>, Edit, bool); 6] = [
        ("nothing", false, None, move_storage, false),
        ("a webhook", true, None, move_storage, true),
        ("a conversion", false, None, with_both, true),
        (
            "a webhook, and v2 is known",
            true,
            Some(|it| it),
            move_storage,
            false,
        ),
        (
            "a conversion, and v2 is known",
            false,
            Some(with_a_field_in_v2),
            move_storage,
            false,
        ),
        (
            "a conversion, and v2 was equal",
            false,
            Some(|it| it),
            with_both,
            true,
        ),
    ];
    for (case, has_webhook, first, then, is_breaking) in cases {
        let folder = project();
        let p = folder.path().join("p");
        if has_webhook {
            ok(&p, "add-webhook Widget --validate");
        }
        ok(&p, "add-version Widget v2");
        if let Some(first) = first {
            edit(&p.join(CRD), first);
            ok(&p, "regenerate");
        }
        edit(&p.join(CRD), then);
        let run = run(&p, "regenerate --dry-run");
        let message = "objects are stored as v2, which the release that runs cannot convert, so all writes are refused until this one runs; \
                       first release v2 with `storage: false`, and store objects in it in the release after that";
        assert_eq!(
            run.code,
            if is_breaking { 3 } else { 0 },
            "{case}: {}",
            run.stderr
        );
        assert_eq!(
            run.stderr.contains(message),
            is_breaking,
            "{case}: {}",
            run.stderr
        );
    }
}

#[test]
fn webhooks_get_the_versions_that_the_api_server_converts() {
    let folder = project();
    let p = folder.path().join("p");
    ok(&p, "add-webhook Widget --validate");
    let registry = || fs::read_to_string(p.join("src/webhooks/mod.rs")).unwrap();
    assert!(!registry().contains("without_conversion"));
    ok(&p, "add-version Widget v2");
    ok(&p, "regenerate");
    let call = ".without_conversion(\"Widget\", \"widgets.example.com\", &[\"v1\", \"v2\"])";
    assert!(registry().contains(call), "{}", registry());
    edit(&p.join(CRD), with_a_field_in_v2);
    ok(&p, "regenerate");
    assert!(registry().contains(".convert_kind("), "{}", registry());
    assert!(!registry().contains("without_conversion"), "{}", registry());
}

#[test]
fn a_migration_without_versions_has_no_effect() {
    let folder = project();
    let p = folder.path().join("p");
    edit(&p.join("operator.toml"), |text| {
        text.replace("\n[[kind]]", "migrate-storage = true\n\n[[kind]]")
    });
    let toml = fs::read_to_string(p.join("operator.toml")).unwrap();
    let line = toml
        .lines()
        .position(|line| line.starts_with("migrate-storage"));
    let place = format!("--> operator.toml:{}:", line.unwrap() + 1);
    for part in [
        "warning[without-effect]: `migrate-storage` has no effect, because no CRD of this operator has more than one version\n",
        &place,
    ] {
        let stderr = ok(&p, "regenerate").stderr;
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
    ok(&p, "add-version Widget v2");
    let with_versions = ok(&p, "regenerate").stderr;
    assert!(!with_versions.contains("without-effect"), "{with_versions}");
}
