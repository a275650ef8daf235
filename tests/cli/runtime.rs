//! Where the runtime of a project comes from.

use std::{collections::BTreeSet, fs, path::Path};

use crate::support::{files, folder, ok, run};

const URL: &str = "https://example.com/cargo-operator";

#[test]
fn a_new_project_names_the_source_that_was_chosen() {
    let folder = folder();
    let checkout = env!("CARGO_MANIFEST_DIR");
    for (source, expected) in [
        (
            "version",
            format!("{{ version = {:?} }}", env!("CARGO_PKG_VERSION")),
        ),
        ("version=0.1.7", "{ version = \"0.1.7\" }".to_owned()),
        (
            &format!("git={URL}#v0.1.0"),
            format!("{{ git = {URL:?}, rev = \"v0.1.0\" }}"),
        ),
    ] {
        let args =
            format!("init p --kind Widget --group example.com --dry-run --diff --runtime {source}");
        let shown = run(folder.path(), &args.replace(" --dry-run", "")).stdout;
        assert!(
            shown.contains(&format!("+runtime = {expected}\n")),
            "{source}: {shown}"
        );
    }
    ok(
        folder.path(),
        &format!("init p --crd widget.yaml --runtime path={checkout}"),
    );
    let p = folder.path().join("p");
    let state = fs::read_to_string(p.join("operator.toml")).unwrap();
    let runtime = state
        .lines()
        .find(|line| line.starts_with("runtime"))
        .unwrap();
    let path = runtime.split('"').nth(1).unwrap();
    assert!(path.starts_with("../"), "{path}");
    assert_eq!(
        p.join(path).canonicalize().unwrap(),
        Path::new(checkout).canonicalize().unwrap()
    );
}

#[test]
fn a_folder_without_this_runtime_is_refused_before_anything_is_written() {
    let folder = folder();
    let other = folder.path().join("other/crates/operator-runtime");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("Cargo.toml"), "[package]\nversion = \"9.9.9\"\n").unwrap();
    for (source, expected) in [
        ("path=nowhere", "has no `crates/operator-runtime`"),
        ("path=other", "has the version 9.9.9"),
        ("git=https://example.com", "git=URL#REV"),
        ("vendored", "path=FOLDER"),
    ] {
        let refused = run(
            folder.path(),
            &format!("init p --crd widget.yaml --runtime {source}"),
        );
        assert_eq!(refused.code, 2, "{source}");
        assert!(
            refused.stderr.contains(expected),
            "{source}: {}",
            refused.stderr
        );
    }
    assert!(!folder.path().join("p").exists());
}

#[test]
fn a_change_of_the_key_switches_all_files_that_depend_on_it() {
    let folder = folder();
    ok(folder.path(), "init p --crd widget.yaml");
    let p = folder.path().join("p");
    let first = files(&p);
    let switch = |runtime: &str| {
        let state = fs::read_to_string(p.join("operator.toml")).unwrap();
        let lines = state.lines().map(|line| {
            if line.starts_with("runtime = ") {
                format!("runtime = {runtime}\n")
            } else {
                format!("{line}\n")
            }
        });
        fs::write(p.join("operator.toml"), lines.collect::<String>()).unwrap();
        ok(&p, "regenerate");
        files(&p)
    };
    let git = switch(&format!("{{ git = {URL:?}, rev = \"v0.1.0\" }}"));
    for (path, part) in [
        (
            "Cargo.toml",
            format!("operator-runtime = {{ git = {URL:?}, rev = \"v0.1.0\" }}"),
        ),
        (
            "Cargo.toml",
            format!(
                "operator-testing = {{ git = {URL:?}, rev = \"v0.1.0\", features = [\"dev\"] }}"
            ),
        ),
        ("deny.toml", format!("allow-git = [{URL:?}]")),
        (
            ".github/workflows/ci.yaml",
            format!("cargo install --locked --git {URL} --rev v0.1.0 cargo-operator"),
        ),
    ] {
        assert!(git[path].contains(&part), "{path}: {}", git[path]);
    }
    let version = switch("{ version = \"0.1.0\" }");
    assert!(version["Cargo.toml"].contains("operator-runtime = \"0.1.0\"\n"));
    assert!(
        version[".github/workflows/ci.yaml"]
            .contains("cargo install --locked cargo-operator --version 0.1.0")
    );
    assert!(!version["deny.toml"].contains("allow-git"));
    let runtime = first["operator.toml"]
        .lines()
        .find_map(|line| line.strip_prefix("runtime = "));
    assert!(switch(runtime.unwrap()) == first);
}

#[test]
fn a_project_that_only_this_machine_can_build_is_named() {
    let folder = folder();
    let init = ok(folder.path(), "init p --crd widget.yaml").stderr;
    let p = folder.path().join("p");
    let check = ok(&p, "regenerate --check").stderr;
    let manifests = ok(&p, "gen-manifests --image example.com/p:1").stderr;
    for text in [init, check, manifests] {
        assert!(text.contains("note[local-runtime]: p: "), "{text}");
    }
    assert!(!ok(&p, "regenerate").stderr.contains("local-runtime"));
}

/// Otherwise, cargo would have to change the lock file of a new project, so builds with `--locked`, such as those of images, would fail.
#[test]
fn the_lock_file_of_a_new_project_has_what_the_crates_need() {
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/Cargo.lock");
    let lock: toml_edit::DocumentMut = fs::read_to_string(lock).unwrap().parse().unwrap();
    let packages = lock["package"].as_array_of_tables().unwrap();
    for name in [
        "operator-apiserver",
        "operator-runtime",
        "operator-schema",
        "operator-testing",
    ] {
        let locked = packages.iter().find(|it| it["name"].as_str() == Some(name));
        let locked = locked.unwrap()["dependencies"].as_array().unwrap();
        // the name may be followed by a version, if the lock has several
        let locked: BTreeSet<&str> = locked
            .iter()
            .filter_map(|it| it.as_str()?.split(' ').next())
            .collect();
        let manifest =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("crates/{name}/Cargo.toml"));
        let manifest: toml_edit::DocumentMut =
            fs::read_to_string(manifest).unwrap().parse().unwrap();
        let needed = manifest["dependencies"].as_table().unwrap().iter();
        let is_optional = |value: &toml_edit::Item| value.get("optional").is_some();
        let needed: BTreeSet<&str> = needed
            .filter(|(_, value)| !is_optional(value))
            .map(|(key, value)| {
                value
                    .get("package")
                    .and_then(|it| it.as_str())
                    .unwrap_or(key)
            })
            .collect();
        let missing: Vec<_> = needed.difference(&locked).collect();
        assert!(
            missing.is_empty(),
            "templates/Cargo.lock: {name} lacks {missing:?}; see \"Change the dependencies of a project\" in docs/CONTRIBUTING.md"
        );
    }
}
