//! Which folder of `src/` may use which: each one only those that are listed before it, so that there are no cycles.
//!
//! Two ways lead to another folder: an import, and a method that the folder adds to a type of a lower one, such as `State`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// From the lowest to the highest.
const LAYERS: [&str; 18] = [
    "model",
    "go",
    "apply",
    "kinds",
    "decode",
    "patch",
    "refusal",
    "request",
    "store",
    "webhook",
    "read",
    "access",
    "admission",
    "write",
    "finalize",
    "serve",
    "workload",
    "transport",
];

/// The types that upper folders add methods to, with the names that their values have everywhere.
const EXTENDED: [(&str, &str); 3] = [
    ("Kind", "kind"),
    ("Request<'_>", "request"),
    ("State", "state"),
];

/// A source file without its tests and comments.
struct Source {
    path: PathBuf,
    layer: usize,
    /// How many folders it is in, below its layer.
    depth: usize,
    code: String,
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| *layer == name)
}

fn sources() -> Vec<Source> {
    let mut sources = vec![];
    for entry in fs::read_dir("src").unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let name = path.file_name().unwrap().to_str().unwrap();
            let layer = layer(name);
            let layer = layer.unwrap_or_else(|| panic!("`{name}` is not in the list of layers"));
            collect(&path, layer, 0, &mut sources);
        } else {
            assert_eq!(path, Path::new("src/lib.rs"), "a file is in no layer");
        }
    }
    sources
}

fn collect(folder: &Path, layer: usize, depth: usize, sources: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, layer, depth + 1, sources);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let lines = code.lines().map(|line| line.split("//").next());
        let code = lines.flatten().collect::<Vec<_>>().join("\n");
        sources.push(Source {
            path,
            layer,
            depth,
            code,
        });
    }
}

/// The name at the start of a text.
fn name(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// The modules of the crate that a file imports, in groups as well.
fn imports(code: &str) -> Vec<&str> {
    let mut names = vec![];
    for path in code.split("crate::").skip(1) {
        let Some(group) = path.strip_prefix('{') else {
            names.push(name(path));
            continue;
        };
        let mut depth = 0;
        let mut starts_item = true;
        for (at, letter) in group.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => starts_item = true,
                letter if starts_item && letter.is_alphabetic() => {
                    names.push(name(&group[at..]));
                    starts_item = false;
                }
                _ => {}
            }
        }
    }
    names
}

/// Whether a path leads out of the folder of a layer by way of the parents of a module.
fn climbs_out(source: &Source) -> bool {
    let is_folder = source.path.ends_with("mod.rs");
    let inside = source.depth + usize::from(!is_folder);
    source.code.contains(&"super::".repeat(inside + 1))
}

/// The blocks `impl TYPE {` of a file.
fn blocks<'a>(code: &'a str, type_: &str) -> Vec<&'a str> {
    let head = format!("\nimpl {type_} {{\n");
    let blocks = code.split(&head).skip(1);
    blocks
        .map(|rest| rest.split("\n}").next().unwrap_or_default())
        .collect()
}

/// The methods that are added to a type, with the highest layer that does so.
fn methods(sources: &[Source], type_: &str) -> BTreeMap<String, usize> {
    let mut methods = BTreeMap::new();
    for source in sources {
        for block in blocks(&source.code, type_) {
            for method in block.split("fn ").skip(1).map(name) {
                let layer = methods.entry(method.to_owned()).or_insert(source.layer);
                *layer = source.layer.max(*layer);
            }
        }
    }
    methods
}

/// The methods that are called on a value.
fn calls<'a>(code: &'a str, value: &str) -> Vec<&'a str> {
    let mut calls = vec![];
    for (at, _) in code.match_indices(value) {
        let is_whole = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let after = code[at + value.len()..].trim_start();
        if let (true, Some(after)) = (is_whole, after.strip_prefix('.')) {
            let called = name(after);
            if after[called.len()..].starts_with('(') {
                calls.push(called);
            }
        }
    }
    calls
}

#[test]
fn a_folder_imports_only_those_below_it() {
    for source in sources() {
        for import in imports(&source.code) {
            let is_below = layer(import).is_none_or(|layer| layer <= source.layer);
            let (path, own) = (source.path.display(), LAYERS[source.layer]);
            assert!(
                is_below,
                "{path} imports `{import}`, which is above `{own}`"
            );
        }
        let path = source.path.display();
        assert!(
            !climbs_out(&source),
            "{path} leaves its folder by `super`: name the path from `crate`"
        );
    }
}

#[test]
fn a_folder_calls_no_method_that_one_above_it_adds() {
    let sources = sources();
    for (type_, value) in EXTENDED {
        let methods = methods(&sources, type_);
        for source in &sources {
            let own = blocks(&source.code, type_);
            let own = own.iter().flat_map(|block| calls(block, "self"));
            for called in own.chain(calls(&source.code, value)) {
                let layer = methods.get(called).copied().unwrap_or_default();
                let path = source.path.display();
                assert!(
                    layer <= source.layer,
                    "{path} calls `{called}`, which `{}` adds to `{type_}`",
                    LAYERS[layer]
                );
            }
        }
    }
}

#[test]
fn imports_and_calls_are_found() {
    let code = "use crate::model::kind::Kind;\nuse crate::{\n    decode::{self, Lost},\n    go,\n};\n\nimpl State {\n    fn a(&self) {\n        self\n            .b(state.c());\n    }\n}\n";
    assert_eq!(imports(code), ["model", "decode", "go"]);
    assert_eq!(blocks(code, "State").len(), 1);
    assert_eq!(calls(blocks(code, "State")[0], "self"), ["b"]);
    assert_eq!(calls(code, "state"), ["c"]);
}
