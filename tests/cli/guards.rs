//! Files that a command must not overwrite, and input that it must refuse.

use std::{fs, process::Command};

use crate::support::{WIDGET, edit, files, folder, ok, project, run};

#[test]
fn a_contradictory_operator_toml_is_refused() {
    let folder = project();
    let p = folder.path().join("p");
    let state = fs::read_to_string(p.join("operator.toml")).unwrap();
    let inline = "kind = [{ kind = \"Widget\", group = \"example.com\", crd = \"crds/widgets.example.com.yaml\", versions = [\"v1\"] }]";
    let without_kinds = &state[..state.find("[[kind]]").unwrap()];
    for (text, expected) in [
        (
            format!("{without_kinds}{inline}\n"),
            "write each kind as its own table: [[kind]]",
        ),
        (
            state.replace("[\"v1\"]", "[]"),
            "Widget.example.com has no versions",
        ),
        (
            state.replace("\"all\"", "[]"),
            "`namespaces` is an empty list",
        ),
        (
            state.replace("\"all\"", "[\"a b\"]"),
            "`a b` is not the name of a namespace",
        ),
        (
            state.replace("namespaces", "image = \"ghcr.io/Me/x\"\nnamespaces"),
            "`ghcr.io/Me/x` is not the name of an image",
        ),
        (
            format!(
                "{state}rules = [{{ apiGroups = [\"\"], resources = [\"pods\"], verbs = [] }}]\n"
            ),
            "a rule of Widget.example.com has no `verbs`",
        ),
        (
            state.replace("tool =", "namespace = \"all\"\ntool ="),
            "unknown key `namespace`; the nearest is `namespaces`",
        ),
        (
            state.replace("scaffold =", "scafold ="),
            "unknown key `scafold`; the nearest is `scaffold`",
        ),
        (
            state.replace("\"reconciler\"", "\"reconcile\""),
            "unknown value `reconcile`, expected one of `reconciler`, `declarative`, `external`, `handlers`; the nearest is `reconciler`",
        ),
        (
            state.replace(
                "[\"apps/v1/Deployment\"]",
                "[{ kind = \"v1/Pod\", update = \"ondelete\" }]",
            ),
            "expected one of `apply`, `replace`, `recreate`, `on-delete`, `create-only`; the nearest is `on-delete`",
        ),
        (
            state.replace(
                "[\"apps/v1/Deployment\"]",
                "[{ kind = \"v1/Pod\", updates = \"apply\" }]",
            ),
            "unknown key `updates`; the nearest is `update`",
        ),
        (
            state.replace(
                "[\"apps/v1/Deployment\"]",
                "[{ kind = \"v1/Pod\", strategy = \"apply\" }]",
            ),
            "unknown key `strategy`, expected one of `kind`, `cache`, `update`",
        ),
        (
            state.replace("\"reconciler\"", "\"controller\""),
            "a controller of a kind that exists already has a table [[controller]]",
        ),
        (
            state.replace("tool = \"0.", "tool = \"999."),
            "which is newer than this",
        ),
    ] {
        fs::write(p.join("operator.toml"), &text).unwrap();
        let before = files(&p);
        let run = run(&p, "regenerate");
        assert_eq!(run.code, 2, "{text}\n{}", run.stderr);
        assert!(run.stderr.contains(expected), "{expected}: {}", run.stderr);
        assert_eq!(files(&p), before, "{text}");
    }
}

#[test]
fn existing_files_are_not_overwritten() {
    let folder = project();
    let p = folder.path().join("p");
    let gadget = WIDGET
        .replace("widget", "gadget")
        .replace("Widget", "Gadget");
    fs::write(folder.path().join("gadget.yaml"), gadget).unwrap();
    fs::write(p.join("crds/gadgets.example.com.yaml"), "precious: 1\n").unwrap();
    let manifest = fs::read_to_string(p.join("Cargo.toml")).unwrap();
    let refused = |args: &str, expected: &str| {
        let before = files(&p);
        let run = run(&p, args);
        assert_eq!(run.code, 2, "{args}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{args}: {}", run.stderr);
        assert_eq!(files(&p), before, "{args}");
    };
    refused(
        "add-crd ../gadget.yaml",
        "crds/gadgets.example.com.yaml exists",
    );
    fs::remove_file(p.join("crds/gadgets.example.com.yaml")).unwrap();
    refused(
        "add-crd ../widget.yaml --cleanup",
        "Widget.example.com is already in the project",
    );
    refused("types ../gadget.yaml --out .", "is an operator project");
    fs::write(p.join("Cargo.toml"), format!("{manifest}[broken\n")).unwrap();
    refused("add-crd ../gadget.yaml", "Cargo.toml:");
}

#[test]
fn the_folder_name_is_used_and_leftovers_of_a_killed_command_are_harmless() {
    let folder = folder();
    let p = folder.path().join("of-widgets");
    fs::create_dir_all(p.join(".operator/new")).unwrap();
    fs::write(p.join(".operator/new/7"), "half").unwrap();
    ok(&p, "init . --crd ../widget.yaml");
    let mut made = files(&p);
    assert!(made["operator.toml"].contains("name = \"of-widgets\""));
    assert!(!made.keys().any(|path| path.starts_with(".operator/new")));
    // a killed command may leave no lock, because the lock is written last
    fs::remove_file(p.join("operator.lock")).unwrap();
    fs::remove_file(p.join("src/api/mod.rs")).unwrap();
    ok(&p, "regenerate");
    let mut again = files(&p);
    // the new lock cannot know with which content the existing files were created
    assert!(again.remove("operator.lock").is_some() && made.remove("operator.lock").is_some());
    assert!(again == made);
    ok(&p, "regenerate --check");
}

#[test]
fn the_line_endings_of_operator_toml_are_kept() {
    let folder = project();
    let p = folder.path().join("p");
    edit(&p.join("operator.toml"), |text| {
        format!("\u{feff}{}", text.replace('\n', "\r\n"))
    });
    ok(&p, "regenerate --check");
    ok(&p, "gen-manifests --image x/y:1");
    let text = fs::read_to_string(p.join("operator.toml")).unwrap();
    assert!(
        text.starts_with('\u{feff}') && text.contains("image = \"x/y:1\"\r\n"),
        "{text}"
    );
}

#[test]
fn plan_options_are_refused_for_printed_types() {
    let folder = folder();
    for view in ["--check", "--diff", "--dry-run", "--format json"] {
        let run = run(folder.path(), &format!("types widget.yaml {view}"));
        assert_eq!(run.code, 2, "{view}: {}", run.stderr);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    let folder = folder();
    let full = fs::File::create("/dev/full").unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_cargo-operator"))
        .args(["types", "widget.yaml"])
        .current_dir(folder.path())
        .stdout(full)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(2));
}

#[cfg(unix)]
#[test]
fn a_dangling_link_is_not_replaced() {
    let folder = project();
    let p = folder.path().join("p");
    fs::remove_file(p.join("src/api/mod.rs")).unwrap();
    std::os::unix::fs::symlink("nowhere", p.join("src/api/mod.rs")).unwrap();
    let run = run(&p, "regenerate");
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(
        run.stderr.contains("broken symbolic link"),
        "{}",
        run.stderr
    );
}
