//! The sources that projects carry are those of `crates/`. `UPDATE=1 cargo test --test packed_crates` packs them again.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

const PACKED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/render/crates.json");

#[test]
fn the_packed_crates_are_current() {
    let mut files = BTreeMap::new();
    for name in ["operator-runtime", "operator-schema", "operator-testing"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("crates")
            .join(name);
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        files.insert(format!("{name}/Cargo.toml"), for_projects(&manifest));
        for part in ["src", "data"]
            .into_iter()
            .filter(|part| folder.join(part).is_dir())
        {
            pack(&folder.join(part), &format!("{name}/{part}"), &mut files);
        }
    }
    let text = serde_json::to_string_pretty(&files).unwrap() + "\n";
    if std::env::var_os("UPDATE").is_some_and(|value| value == "1") {
        fs::write(PACKED, &text).unwrap();
    }
    let packed = fs::read_to_string(PACKED).unwrap();
    assert!(
        packed == text,
        "crates/ has changed: run `UPDATE=1 cargo test --test packed_crates`"
    );
}

/// Cargo would change the lock file of a new project, which is refused where it is built with `--locked`, as in its image.
#[test]
fn the_lock_file_of_a_new_project_has_what_the_crates_need() {
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/Cargo.lock");
    let lock: toml_edit::DocumentMut = fs::read_to_string(lock).unwrap().parse().unwrap();
    let packages = lock["package"].as_array_of_tables().unwrap();
    for name in ["operator-runtime", "operator-schema", "operator-testing"] {
        let locked = packages.iter().find(|it| it["name"].as_str() == Some(name));
        let locked = locked.unwrap()["dependencies"].as_array().unwrap();
        // with a version where there are several of it
        let locked = locked
            .iter()
            .filter_map(|it| it.as_str()?.split(' ').next());
        let locked: BTreeSet<&str> = locked.collect();
        let manifest =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("crates/{name}/Cargo.toml"));
        let manifest: toml_edit::DocumentMut =
            fs::read_to_string(manifest).unwrap().parse().unwrap();
        let needed = manifest["dependencies"].as_table().unwrap().iter();
        let needed: BTreeSet<&str> = needed
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

/// A project does not run the tests of the crates, so it need not resolve what they need.
fn for_projects(manifest: &str) -> String {
    let mut manifest: toml_edit::DocumentMut = manifest.parse().unwrap();
    manifest.remove("dev-dependencies");
    // examples, and what only registries read, are not packed either
    manifest.remove("example");
    if let Some(package) = manifest["package"].as_table_mut() {
        package.remove("readme");
        package.remove("metadata");
    }
    manifest.to_string()
}

fn pack(folder: &Path, name: &str, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{name}/{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            pack(&path, &name, files);
        } else {
            files.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
}
