//! Each module of `src/` imports only those above it in a list, so there are no cycles, and no three files of a crate use each other in a
//! circle.

mod uses;

use std::{collections::BTreeSet, path::Path};

use uses::Uses;

/// The modules. Each may import itself, and those above it.
const LAYERS: [&str; 24] = [
    "hash",
    "diagnostic",
    "rust",
    "crd",
    "evolution",
    "conversion",
    "types",
    "user_code",
    "template",
    "scaffold",
    "config",
    "operator",
    "manifests",
    "plan",
    "package",
    "render",
    "disk",
    "dev",
    "image",
    "uninstall",
    "terminal",
    "workspace",
    "advice",
    "cli",
];

/// The circles of more than two files that remain, each named by one of its files, with the reason.
const CIRCLES: [(&str, &str); 2] = [
    (
        "crates/operator-apiserver/src/admission/webhook/hook.rs",
        "a hook has the other versions of a kind, and its calls convert to them",
    ),
    (
        "crates/operator-apiserver/src/serve/route.rs",
        "an eviction is a subresource, and ends in the deletion of its pod",
    ),
];

#[test]
fn each_module_imports_only_those_above_it_in_the_list() {
    let layer = |file: &Path| {
        let name = file
            .strip_prefix("src")
            .unwrap()
            .components()
            .next()
            .unwrap();
        let name = Path::new(name.as_os_str())
            .file_stem()
            .unwrap()
            .to_str()
            .unwrap();
        LAYERS.iter().position(|layer| *layer == name)
    };
    for (file, used) in Uses::of(Path::new("src")).0 {
        if file != Path::new("src/lib.rs") {
            let own = layer(&file).unwrap_or_else(|| panic!("{} has no layer", file.display()));
            for other in used.into_keys() {
                let is_above = layer(&other).is_some_and(|layer| layer <= own);
                assert!(
                    is_above,
                    "{} uses {}, which is below it",
                    file.display(),
                    other.display()
                );
            }
        }
    }
}

#[test]
fn no_three_files_use_each_other_in_a_circle() {
    let crates = ["apiserver", "runtime", "schema", "testing"];
    let crates = crates.map(|name| format!("crates/operator-{name}/src"));
    let folders = crates.iter().map(String::as_str).chain(["src"]);
    let mut new = vec![];
    let mut gone = BTreeSet::from(CIRCLES.map(|(file, _)| Path::new(file)));
    for uses in folders.map(|folder| Uses::of(Path::new(folder))) {
        for circle in uses.circles() {
            let is_known = CIRCLES
                .iter()
                .any(|(file, _)| circle.contains(Path::new(file)));
            if circle.len() > 2 {
                gone.retain(|file| !circle.contains(*file));
            }
            if circle.len() > 2 && !is_known {
                let arrows = circle.iter().flat_map(|file| {
                    uses.0[file]
                        .iter()
                        .filter(|(other, _)| circle.contains(*other))
                        .map(move |(other, names)| {
                            format!("{} uses {names:?} of {}", file.display(), other.display())
                        })
                });
                new.extend([String::new()].into_iter().chain(arrows));
            }
        }
    }
    assert!(new.is_empty(), "{}", new.join("\n"));
    assert!(
        gone.is_empty(),
        "no circle any more, so no exception: {gone:?}"
    );
}
