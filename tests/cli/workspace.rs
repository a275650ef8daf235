//! Projects in a cargo workspace.

use std::{fs, path::Path};

use crate::support::{files, folder, ok, run};

const ROOT: &str = "# ours\n[workspace]\nmembers = [\"lib\"]\nexclude = [\"apart\"]\n\n[workspace.package]\nlicense = \"MIT\"\nedition = \"2021\"\n\n\
                    [workspace.lints.rust]\nunsafe_code = \"forbid\"\n";

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn workspace() -> tempfile::TempDir {
    let folder = folder();
    let at = |path: &str| folder.path().join(path);
    write(&at("Cargo.toml"), ROOT);
    write(
        &at("lib/Cargo.toml"),
        "[package]\nname = \"lib\"\nedition.workspace = true\n",
    );
    write(&at("lib/src/lib.rs"), "");
    folder
}

#[test]
fn a_new_project_becomes_a_member() {
    let folder = workspace();
    let root = folder.path();
    let before = files(root);
    let shown = ok(root, "init operators/widget --crd widget.yaml --dry-run").stderr;
    assert!(
        shown.contains("`operators/widget` becomes a member of the workspace in Cargo.toml"),
        "{shown}"
    );
    assert!(files(root) == before);

    ok(root, "init operators/widget --crd widget.yaml");
    let after = files(root);
    let members = "members = [\"lib\", \"operators/widget\"]";
    assert_eq!(
        after["Cargo.toml"],
        ROOT.replace("members = [\"lib\"]", members)
    );
    let manifest = &after["operators/widget/Cargo.toml"];
    for (part, is_there) in [
        ("license.workspace = true\n", true),
        ("edition = \"2024\"\n", true),
        ("[lints]\nworkspace = true\n", true),
        ("[workspace]", false),
        ("[profile", false),
    ] {
        assert_eq!(manifest.contains(part), is_there, "{part}: {manifest}");
    }
    for path in [
        "Cargo.lock",
        "deny.toml",
        ".github/workflows/ci.yaml",
        ".dockerignore",
    ] {
        assert!(
            !after.contains_key(&format!("operators/widget/{path}")),
            "{path}"
        );
    }
    let dockerfile = &after["operators/widget/Dockerfile"];
    assert!(dockerfile.contains("--package widget"), "{dockerfile}");
    let launch = &after["operators/widget/.vscode/launch.json"];
    let environment = "${workspaceFolder}/../../target/cargo-operator/widget/operator.env";
    assert!(launch.contains(environment), "{launch}");
    let p = root.join("operators/widget");
    ok(&p, "regenerate --check");
    // an inherited key counts as an edit of the user, which a merge keeps
    ok(&p, "add-webhook Widget --validate");
    let merged = fs::read_to_string(p.join("Cargo.toml")).unwrap();
    assert!(merged.contains("license.workspace = true\n"), "{merged}");
    assert!(merged.contains("features = [\"webhook\"]"), "{merged}");

    ok(
        root,
        "init operators/other --kind Other --group example.com",
    );
    let text = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    assert!(text.contains("\"operators/other\""), "{text}");
}

#[test]
fn a_project_of_its_own_leaves_the_workspace_alone() {
    let folder = workspace();
    let root = folder.path();
    ok(root, "init apart/widget --crd widget.yaml");
    ok(root, "init widget --crd widget.yaml --no-workspace");
    let after = files(root);
    assert_eq!(after["Cargo.toml"], ROOT);
    for project in ["apart/widget", "widget"] {
        assert!(after[&format!("{project}/Cargo.toml")].contains("[workspace]\n"));
        assert!(after.contains_key(&format!("{project}/deny.toml")));
    }
}

#[test]
fn a_workspace_that_cannot_have_the_project_stays_as_it_is() {
    let folder = workspace();
    let root = folder.path();
    let library = root.join("lib/Cargo.toml");
    let text = fs::read_to_string(&library).unwrap();
    let dependency =
        "\n[dependencies]\nk8s-openapi = { version = \"0.29\", features = [\"v1_31\"] }\n";
    fs::write(&library, text.clone() + dependency).unwrap();
    let before = files(root);
    let refused = run(root, "init operators/widget --crd widget.yaml");
    assert_eq!(refused.code, 2);
    for part in ["the member lib of the workspace", "v1_31", "--no-workspace"] {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    assert!(files(root) == before);
    // two members of one name
    fs::write(&library, text).unwrap();
    let before = files(root);
    let refused = run(root, "init operators/lib --name lib --crd widget.yaml");
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("two packages named `lib`"),
        "{}",
        refused.stderr
    );
    assert!(files(root) == before);
    // cargo adds no member to a manifest that it cannot read
    fs::write(
        root.join("Cargo.toml"),
        ROOT.replace("members = [", "members = [7, "),
    )
    .unwrap();
    let before = files(root);
    let refused = run(root, "init operators/widget --crd widget.yaml");
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("cargo can't add"),
        "{}",
        refused.stderr
    );
    assert!(files(root) == before);
}

#[test]
fn a_workspace_that_is_not_there_is_an_error_before_files_are_removed() {
    let folder = folder();
    let root = folder.path();
    ok(root, "init p --crd widget.yaml");
    let p = root.join("p");
    let state = fs::read_to_string(p.join("operator.toml")).unwrap();
    for path in ["..", "/nowhere", "../nowhere"] {
        let text = state.replace("tool = ", &format!("workspace = {path:?}\ntool = "));
        fs::write(p.join("operator.toml"), text).unwrap();
        let before = files(&p);
        let refused = run(&p, "regenerate");
        assert_eq!(refused.code, 2, "{path}");
        assert!(
            refused
                .stderr
                .contains("no Cargo.toml of a cargo workspace"),
            "{}",
            refused.stderr
        );
        assert!(
            refused.stderr.contains("operator.toml:5:13"),
            "{}",
            refused.stderr
        );
        assert!(files(&p) == before);
    }
}

#[cfg(unix)]
#[test]
fn a_project_behind_a_link_is_where_the_link_leads() {
    let folder = workspace();
    let root = folder.path();
    let outside = tempfile::tempdir().unwrap();
    fs::create_dir(root.join("inside")).unwrap();
    std::os::unix::fs::symlink(outside.path(), root.join("out")).unwrap();
    std::os::unix::fs::symlink("inside", root.join("in")).unwrap();
    ok(root, "init out/first --kind First --group example.com");
    assert_eq!(fs::read_to_string(root.join("Cargo.toml")).unwrap(), ROOT);
    assert!(outside.path().join("first/deny.toml").exists());
    ok(root, "init in/second --kind Second --group example.com");
    let members = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    assert!(members.contains("\"inside/second\""), "{members}");
}
