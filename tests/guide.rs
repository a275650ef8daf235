//! The pages on the runtime name everything that users can call or receive: the methods of its types, and the variants of its enums.

use std::{fs, path::Path};

/// Pages, and the types whose public items they name.
const PAGES: [(&str, &[&str]); 8] = [
    ("runtime.md", &["impl Context", "impl Condition"]),
    (
        "errors.md",
        &["pub enum Error", "impl Error", "impl Action"],
    ),
    ("values.md", &["impl Setup"]),
    ("running.md", &["impl Operator"]),
    ("external.md", &["impl ExternalOptions"]),
    ("controller.md", &["impl<K> ControllerOptions<K>"]),
    (
        "handlers.md",
        &[
            "impl<H: Handlers> Registry<H>",
            "impl<K: Object> HandlerOptions<'_, K>",
            "impl<K: Object> TimerOptions<'_, K>",
            "impl<K: Object> DaemonOptions<'_, K>",
            "macro_rules! filters",
            "macro_rules! like_a_handler",
            "impl<K: Object> Call<K>",
            "impl<K: Object> Update<K>",
            "impl<K: Object, T> FieldUpdate<K, T>",
            "impl<K: Object> DaemonCall<K>",
            "impl<K> WatchEvent<K>",
            "pub enum EventKind",
            "pub enum Cause",
            "impl<Q: Ord + Clone, V: Clone> Index<Q, V>",
        ],
    ),
    (
        "declarative.md",
        &[
            "impl<K> Desired<K>",
            "impl Observed",
            "pub enum UpdateStrategy",
        ],
    ),
];

fn sources(folder: &Path, texts: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, texts);
        } else {
            texts.push(fs::read_to_string(path).unwrap());
        }
    }
}

/// The names of the public methods or variants in all blocks that begin with `head`, at the left margin.
fn names(texts: &[String], head: &str) -> Vec<String> {
    let start = format!("\n{head} {{\n");
    // the `impl` of a macro is in its only arm
    let indent = if head.starts_with("macro_rules!") {
        12
    } else {
        4
    };
    let indent = " ".repeat(indent);
    let names = texts
        .iter()
        .flat_map(|text| text.split(&start).skip(1))
        .flat_map(|rest| rest.split("\n}").next().unwrap_or_default().lines())
        .filter_map(|line| line.strip_prefix(&indent))
        .filter_map(|item| {
            if head.starts_with("pub enum") {
                item.starts_with(char::is_uppercase).then_some(item)
            } else {
                ["pub fn ", "pub async fn ", "pub const fn "]
                    .iter()
                    .find_map(|start| item.strip_prefix(start))
            }
        });
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    names
        .map(|item| item.chars().take_while(|&c| is_part(c)).collect())
        .collect()
}

#[test]
fn the_pages_name_every_public_item() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts = vec![];
    sources(&root.join("crates/operator-runtime/src"), &mut texts);
    let mut missing = vec![];
    for (page, heads) in PAGES {
        let text = fs::read_to_string(root.join("docs").join(page)).unwrap();
        for head in heads {
            let names = names(&texts, head);
            assert!(!names.is_empty(), "nothing is in `{head}`");
            for name in names {
                // an update strategy is named as in operator.toml
                let kebab = name.chars().enumerate().flat_map(|(at, c)| {
                    (at > 0 && c.is_uppercase())
                        .then_some('-')
                        .into_iter()
                        .chain(c.to_lowercase())
                });
                let kebab: String = kebab.collect();
                let forms = [
                    format!("`{name}"),
                    format!("::{name}"),
                    format!(".{name}("),
                    format!("\"{kebab}\""),
                ];
                if !forms.iter().any(|form| text.contains(form)) {
                    missing.push(format!("docs/{page} lacks `{name}` of `{head}`"));
                }
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn methods_and_variants_are_found() {
    let text = "\nimpl A {\n    pub fn one(&self) {\n        pub fn no() {}\n    }\n    pub(crate) fn two() {}\n}\n\npub enum E {\n    /// Text\n    B(u8),\n    C {\n        d: u8,\n    },\n}\n";
    assert_eq!(names(&[text.to_owned()], "impl A"), ["one"]);
    assert_eq!(names(&[text.to_owned()], "pub enum E"), ["B", "C"]);
}
