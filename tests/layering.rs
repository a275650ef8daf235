//! Which module of `src/` may import which: each one only those that are listed before it, so that there are no cycles.

use std::{fs, path::Path};

const LAYERS: [&str; 21] = [
    "hash",
    "diagnostic",
    "rust",
    "crd",
    "evolution",
    "conversion",
    "types",
    "user_code",
    "scaffold",
    "template",
    "project",
    "manifests",
    "package",
    "plan",
    "render",
    "disk",
    "dev",
    "image",
    "uninstall",
    "terminal",
    "command",
];

/// The first names of the paths that begin with `crate::`, in groups as well.
fn imports(text: &str) -> Vec<String> {
    let name = |path: &str| {
        let end = path.find(|c: char| !c.is_alphanumeric() && c != '_');
        path[..end.unwrap_or(path.len())].to_owned()
    };
    let mut names = vec![];
    for path in text.split("crate::").skip(1) {
        let Some(group) = path.strip_prefix('{') else {
            names.push(name(path));
            continue;
        };
        let mut depth = 0;
        for (at, character) in group.char_indices() {
            match character {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                _ => {}
            }
            let starts_item =
                group[..at].trim_end().is_empty() || group[..at].trim_end().ends_with(',');
            if depth == 0 && starts_item && character.is_alphabetic() {
                names.push(name(&group[at..]));
            }
        }
    }
    names
}

fn check(path: &Path, module: &str) {
    if path.file_stem().is_some_and(|name| name == "tests") {
        return;
    }
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            check(&entry.unwrap().path(), module);
        }
        return;
    }
    let text = fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let layer = |name: &str| LAYERS.iter().position(|layer| *layer == name);
    let own = layer(module).unwrap_or_else(|| panic!("`{module}` is not in the list of layers"));
    for import in imports(code) {
        let is_below = layer(&import).is_none_or(|layer| layer <= own);
        assert!(
            is_below,
            "{} imports {import}, which is above {module}",
            path.display()
        );
    }
}

#[test]
fn each_module_imports_only_those_below_it() {
    for entry in fs::read_dir("src").unwrap() {
        let path = entry.unwrap().path();
        let module = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if !["lib", "main"].contains(&&*module) {
            check(&path, &module);
        }
    }
}

#[test]
fn imports_are_found_in_groups() {
    let text = "use crate::{\n    crd::{self, Api},\n    disk, types::Type,\n};\nfn f(_: crate::plan::Plan) {}";
    assert_eq!(imports(text), ["crd", "disk", "types", "plan"]);
}
