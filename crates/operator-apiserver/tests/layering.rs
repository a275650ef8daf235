//! Which folder of `src/` may use which: each one only those that are listed before it, so that there are no cycles. Only the folder of a
//! type adds methods to it, so imports show all uses.

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

/// The types of the crate that a file adds methods to.
fn extended(code: &str) -> impl Iterator<Item = &str> {
    code.lines()
        .filter_map(|line| line.strip_prefix("impl"))
        .filter(|block| !block.contains(" for "))
        .map(|block| {
            let generics = block.starts_with('<');
            let rest = if generics {
                block.split_once("> ").unwrap_or(("", block)).1
            } else {
                block
            };
            name(rest.trim_start())
        })
        .filter(|type_| !type_.is_empty())
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
fn only_the_folder_of_a_type_adds_methods_to_it() {
    let sources = sources();
    for source in &sources {
        for type_ in extended(&source.code) {
            let is_own = |other: &&Source| {
                let mut heads = ["struct", "enum"]
                    .iter()
                    .map(|kind| format!("{kind} {type_}"));
                other.layer == source.layer
                    && heads.any(|head| {
                        let mut rests = other.code.split(&head).skip(1);
                        rests.any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
                    })
            };
            let path = source.path.display();
            assert!(
                sources.iter().any(|other| is_own(&other)),
                "{path} adds methods to `{type_}` of another folder: write functions"
            );
        }
    }
}

#[test]
fn imports_and_methods_are_found() {
    let code = "use crate::model::kind::Kind;\nuse crate::{\n    decode::{self, Lost},\n    go,\n};\n\nimpl State {\n}\nimpl<'a> Request<'a> {\n}\nimpl Clone for Other {}\n";
    assert_eq!(imports(code), ["model", "decode", "go"]);
    assert!(extended(code).eq(["State", "Request"]));
}
