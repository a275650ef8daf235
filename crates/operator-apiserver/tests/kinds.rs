//! A built-in kind is described in `src/kinds/`, and its controller is in `src/workload/`. No other file names one, so that a new kind is
//! one row and one file. Others import the constants of `src/kinds/resource.rs` to find an object, and ask the strategy of a kind.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

/// Other files that name kinds, with the reason.
const EXCEPTIONS: [(&str, &str); 7] = [
    (
        "src/access/rbac.rs",
        "a binding has the kinds of its role and subjects",
    ),
    (
        "src/model/kind.rs",
        "both versions of Events are stored as one kind",
    ),
    ("src/request/call.rs", "`namespaces` is a part of paths"),
    (
        "src/serve/account_token.rs",
        "a token names the kind of the object to which it is bound",
    ),
    (
        "src/serve/eviction.rs",
        "messages about evictions name kinds",
    ),
    (
        "src/store/initial.rs",
        "the objects of a new cluster are written down",
    ),
    (
        "src/workload/actor.rs",
        "all controllers write Events, and the number of pods is limited",
    ),
];

/// The files of `src/workload/` that are of no kind.
const SHARED: [&str; 10] = [
    "actor",
    "child",
    "controllers",
    "enqueue",
    "field",
    "mod",
    "retry",
    "schedule",
    "settings",
    "timer",
];

/// The plurals and kinds of the recorded kinds.
fn names() -> BTreeSet<String> {
    let recorded = fs::read_to_string("data/builtin.json").unwrap();
    let recorded: Value = serde_json::from_str(&recorded).unwrap();
    recorded["kinds"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|kind| [&kind["plural"], &kind["kind"]])
        .map(|name| name.as_str().unwrap().to_owned())
        .collect()
}

fn may_name(path: &Path) -> bool {
    let is_of_kind = |rest: &Path| {
        let stem = rest.file_stem().and_then(|stem| stem.to_str());
        rest.components().count() > 1 || stem.is_some_and(|stem| !SHARED.contains(&stem))
    };
    path.starts_with("src/kinds") || path.strip_prefix("src/workload").is_ok_and(is_of_kind)
}

/// The names in the string literals of a file, without its comments and tests.
fn named<'a>(code: &'a str, names: &'a BTreeSet<String>) -> impl Iterator<Item = &'a str> {
    code.split("#[cfg(test)]\nmod ")
        .next()
        .unwrap_or_default()
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| line.split('"').skip(1).step_by(2))
        .filter(|literal| names.contains(*literal))
}

fn collect(folder: &Path, names: &BTreeSet<String>, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, names, found);
        } else if !may_name(&path) {
            let code = fs::read_to_string(&path).unwrap();
            let path = path.to_str().unwrap();
            for name in named(&code, names) {
                let is_excepted = EXCEPTIONS.iter().any(|(known, _)| *known == path);
                assert!(
                    is_excepted,
                    "{path} names the kind {name:?}: use its constant or its strategy"
                );
                found.insert(path.to_owned());
            }
        }
    }
}

#[test]
fn only_the_files_of_a_kind_name_it() {
    let mut found = BTreeSet::new();
    collect(Path::new("src"), &names(), &mut found);
    for (path, why) in EXCEPTIONS {
        assert!(
            found.contains(path),
            "{path} is no exception any more: {why}"
        );
    }
}
