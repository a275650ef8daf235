//! The revisions of real CRDs, if `$HISTORIES` names a folder with a folder for each CRD, whose revisions are in the order of their names:
//! no type is renamed, and each field whose type changes is reported.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use cargo_operator::{
    crd::{self, Api},
    types,
    types::SchemaMode,
};

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn read(path: &Path) -> Api {
    let text = fs::read_to_string(path).unwrap();
    crd::read(&path.to_string_lossy(), &text).unwrap().remove(0)
}

#[test]
fn no_release_renames_a_type_and_every_retype_is_reported() {
    let Some(folder) = std::env::var_os("HISTORIES") else {
        return;
    };
    let (mut revisions, mut retypes) = (0, BTreeMap::new());
    let folders = sorted(Path::new(&folder));
    for folder in folders.iter().filter(|path| path.is_dir()) {
        for mode in [SchemaMode::Derive, SchemaMode::Embed] {
            let mut records: BTreeMap<String, String> = BTreeMap::new();
            for path in sorted(folder) {
                revisions += usize::from(mode == SchemaMode::Derive);
                let api = read(&path);
                for version in &api.versions {
                    let after = types::module(&api, version, mode).facts.record();
                    let Some(before) = records.insert(version.name.clone(), after.clone()) else {
                        continue;
                    };
                    assert_eq!(renamed(&before, &after), [""; 0], "{}", path.display());
                    let reported = types::retyped(&before, &after);
                    let is_reported = |path: &String| {
                        reported.iter().any(|retype| retype.path.join("/") == *path)
                    };
                    let (was, is) = (members(&before), members(&after));
                    for (path, type_) in &was {
                        let is_kept = is.get(path).is_none_or(|now| now == type_);
                        assert!(is_kept || is_reported(path), "{}: {path}", folder.display());
                    }
                    for retype in reported {
                        // schemas grow by values at the end
                        assert_eq!(retype.value, None, "{}", path.display());
                        let change = format!(
                            "{} {}: {} -> {}",
                            path.display(),
                            retype.path.join("."),
                            retype.before,
                            retype.after
                        );
                        retypes.entry(change).or_insert(vec![]).push(mode);
                    }
                }
            }
        }
    }
    for (change, modes) in &retypes {
        eprintln!("{change} {modes:?}");
    }
    eprintln!("{revisions} revisions, {} retypes", retypes.len());
}

/// The paths of the types that both records have with different names.
fn renamed<'a>(before: &'a str, after: &'a str) -> Vec<&'a str> {
    let (before, after) = (names(before), names(after));
    let paths: BTreeSet<&str> = before.keys().copied().collect();
    let differs = |path: &&str| after.get(path).is_some_and(|name| *name != before[path]);
    paths.into_iter().filter(differs).collect()
}

/// The names of the types, by their paths.
fn names(record: &str) -> BTreeMap<&str, &str> {
    record
        .lines()
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| {
            let (head, path) = line.split_once(" /")?;
            Some((path, head.split(' ').nth(1)?))
        })
        .collect()
}

/// The types of the fields of structs, by their paths.
fn members(record: &str) -> BTreeMap<String, &str> {
    let mut found = BTreeMap::new();
    let mut open = None;
    for line in record.lines() {
        match line
            .strip_prefix("  ")
            .and_then(|line| line.split_once(": "))
        {
            Some((wire, type_)) => {
                let path = open.map(|path| format!("{path}/{wire}"));
                found.extend(path.map(|path| (path, type_)));
            }
            None => {
                let head = line.strip_prefix("struct ");
                open = head.and_then(|head| Some(head.split_once(" /")?.1));
            }
        }
    }
    found
}
