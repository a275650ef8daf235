//! Projects that earlier versions of the tool made, with edits of their owners: `tests/upgrades/` has some of each format. They are built
//! and run by `tests/upgrades/run`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use crate::support::{files, ok, run};

/// The archived files whose owner edited a place that the template has changed since.
const CONFLICTS: [&str; 1] = ["handlers/Dockerfile"];

fn write(to: &Path, files: &BTreeMap<String, String>) {
    for (path, text) in files {
        let path = to.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// The files of an archived project, with the crates that it carries.
fn archived(folder: &Path) -> BTreeMap<String, String> {
    let mut project = files(&folder.join("project"));
    if let Ok(crates) = fs::read_to_string(folder.join("crates.json")) {
        let crates: BTreeMap<String, String> = serde_json::from_str(&crates).unwrap();
        let crates = crates.into_iter();
        project.extend(crates.map(|(path, text)| (format!("crates/{path}"), text)));
    }
    project
}

/// The path and the owner of each file in `operator.lock`.
fn owners(lock: &str) -> Vec<(String, String)> {
    let lock: toml_edit::DocumentMut = lock.parse().unwrap();
    let owner = |file: &toml_edit::Item| file["owner"].as_str().unwrap().to_owned();
    let files = lock["files"].as_table().unwrap().iter();
    files
        .map(|(path, file)| (path.to_owned(), owner(file)))
        .collect()
}

/// The lines of `ours` that are not in `base`.
fn added<'a>(base: &str, ours: &'a str) -> BTreeSet<&'a str> {
    let base: BTreeSet<&str> = base.lines().collect();
    ours.lines().filter(|line| !base.contains(line)).collect()
}

/// Resolves conflicts as their owner would: the lines that the owner added, and then those of the template.
fn resolved(text: &str) -> String {
    let mut parts = text.split("<<<<<<< ours\n");
    let mut resolved = parts.next().unwrap().to_owned();
    for part in parts {
        let (conflict, rest) = part.split_once(">>>>>>> theirs\n").unwrap();
        let (ours, conflict) = conflict.split_once("||||||| original\n").unwrap();
        let (original, theirs) = conflict.split_once("=======\n").unwrap();
        let original: BTreeSet<&str> = original.lines().collect();
        let own = ours.split_inclusive('\n');
        resolved.extend(own.filter(|line| !original.contains(line.trim_end())));
        resolved += &format!("{theirs}{rest}");
    }
    resolved
}

#[test]
fn an_older_project_is_updated_with_all_edits_kept() {
    let archives = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/upgrades");
    let archives = fs::read_dir(archives).unwrap().map(|entry| entry.unwrap());
    let archives: Vec<_> = archives.filter(|entry| entry.path().is_dir()).collect();
    assert!(archives.len() >= 2);
    for archive in archives {
        let before = archived(&archive.path());
        let folder = tempfile::tempdir().unwrap();
        let p = folder.path();
        write(p, &before);
        let name = archive.file_name();
        let folder = format!("{}/", name.display());
        let conflicts = CONFLICTS.iter().filter_map(|it| it.strip_prefix(&folder));
        let conflicts: Vec<_> = conflicts.collect();
        if !conflicts.is_empty() {
            let stopped = run(p, "regenerate");
            let count = stopped.stderr.matches("conflict[merge-conflict]").count();
            assert_eq!(count, conflicts.len(), "{}", stopped.stderr);
            ok(p, "regenerate --write-conflicts");
            for path in conflicts {
                let text = fs::read_to_string(p.join(path)).unwrap();
                fs::write(p.join(path), resolved(&text)).unwrap();
            }
        }
        ok(p, "regenerate");
        let after = files(p);
        let mut edited = 0;
        for (path, owner) in owners(&before["operator.lock"]) {
            let at = format!("{}/{path}", name.display());
            match (owner.as_str(), before.get(&path)) {
                ("tool", _) => {}
                // what its owner deleted stays deleted
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
        let state = before["operator.toml"].lines();
        for line in state.filter(|line| line.contains('#')) {
            assert!(after["operator.toml"].contains(line), "{line}");
        }
        ok(p, "regenerate --check");
        assert!(after["operator.lock"].contains("format = 3"));
    }
}
