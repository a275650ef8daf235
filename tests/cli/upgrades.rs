//! The projects of releases in `tests/upgrades/`, with edits of their users: `regenerate` upgrades them. `tests/upgrades/run` builds and
//! runs them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use crate::support::{files, ok};

fn write(to: &Path, files: &BTreeMap<String, String>) {
    for (path, text) in files {
        let path = to.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// The path and the owner of each file in `operator.lock`.
fn owners(lock: &str) -> Vec<(String, String)> {
    let lock: toml_edit::DocumentMut = lock.parse().unwrap();
    let owner = |file: &toml_edit::Item| file["owner"].as_str().unwrap().to_owned();
    lock["files"]
        .as_table()
        .unwrap()
        .iter()
        .map(|(path, file)| (path.to_owned(), owner(file)))
        .collect()
}

/// The lines of `ours` that are not in `base`.
fn added<'a>(base: &str, ours: &'a str) -> BTreeSet<&'a str> {
    let base: BTreeSet<&str> = base.lines().collect();
    ours.lines().filter(|line| !base.contains(line)).collect()
}

#[test]
fn a_project_of_a_release_is_upgraded_with_all_edits_kept() {
    let archives = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/upgrades");
    let archives = fs::read_dir(archives).unwrap().map(|entry| entry.unwrap());
    let is_archive = |entry: &fs::DirEntry| entry.path().join("project").is_dir();
    let archives: Vec<_> = archives.filter(is_archive).collect();
    assert!(!archives.is_empty());
    for archive in archives {
        let before = files(&archive.path().join("project"));
        let folder = tempfile::tempdir().unwrap();
        let p = folder.path();
        write(p, &before);
        let name = archive.file_name();
        ok(p, "regenerate");
        let after = files(p);
        let mut edited = 0;
        for (path, owner) in owners(&before["operator.lock"]) {
            let at = format!("{}/{path}", name.display());
            match (owner.as_str(), before.get(&path)) {
                ("tool", Some(_)) => {}
                // a file that the user deleted stays deleted
                (_, None) => assert!(!after.contains_key(&path), "{at} came back"),
                ("user", Some(ours)) => assert!(after[&path] == *ours, "{at} was changed"),
                (_, Some(ours)) => {
                    let base = &before[&format!(".operator/base/{path}")];
                    let added = added(base, ours);
                    let now: BTreeSet<&str> = after[&path].lines().collect();
                    let lost: Vec<_> = added.difference(&now).collect();
                    assert!(lost.is_empty(), "{at} lost {lost:?}");
                    edited += usize::from(!added.is_empty());
                }
            }
        }
        assert!(edited >= 3, "{}: too few edits", name.display());
        // the tool owns the kustomization next to the CRDs
        let is_crd = |path: &str| path.starts_with("crds/") && path != "crds/kustomization.yaml";
        for path in before.keys().filter(|path| is_crd(path)) {
            assert!(before[path] == after[path], "{path}");
        }
        for line in before["operator.toml"]
            .lines()
            .filter(|line| line.contains('#'))
        {
            assert!(after["operator.toml"].contains(line), "{line}");
        }
        ok(p, "regenerate --check");
    }
}
