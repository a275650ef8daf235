//! Every relative link of `README.md`, `CHANGELOG.md` and `docs/` leads to a file that exists, and to a heading of it.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = fs::read_dir(root.join("docs")).unwrap();
    let docs = docs.map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> = docs
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .chain(["README.md", "CHANGELOG.md"].map(|name| root.join(name)))
        .collect();
    pages.sort();
    pages
}

/// The lines outside of code blocks, with the spans of code in them blanked.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let mut prose = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            let parts = line.split('`').enumerate();
            prose.extend(parts.map(|(at, part)| if at % 2 == 0 { part } else { "" }));
        }
        prose.push('\n');
    }
    prose
}

/// The targets of `[text](target)` and `[name]: target`.
fn targets(text: &str) -> Vec<String> {
    let prose = prose(text);
    let inline = prose.split("](").skip(1);
    let inline = inline.filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()));
    let named = prose.lines().filter_map(|line| {
        let (_, target) = line.strip_prefix('[')?.split_once("]: ")?;
        Some(target.trim().to_owned())
    });
    inline.chain(named).collect()
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let mut anchors = BTreeSet::new();
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let title = line.trim_start_matches('#');
        if !is_code && title.len() < line.len() && title.starts_with(' ') {
            let kept = title.trim().chars().filter_map(|c| match c {
                ' ' => Some('-'),
                c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
                _ => None,
            });
            anchors.insert(kept.collect::<String>().to_lowercase());
        }
    }
    anchors
}

#[test]
fn every_relative_link_has_a_target() {
    let mut broken = vec![];
    let mut count = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for target in targets(&text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            count += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let path = match file {
                "" => page.clone(),
                file => page.parent().unwrap().join(file),
            };
            let is_there = match anchor {
                "" => path.exists(),
                anchor => {
                    fs::read_to_string(&path).is_ok_and(|text| anchors(&text).contains(anchor))
                }
            };
            if !is_there {
                broken.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(count > 10, "{count}");
}

#[test]
fn links_and_headings_are_found() {
    let text = "# A `code` title, twice\n[a](b.md#c) and `[no](link)`\n```\n# no heading\n[no](x)\n```\n[name]: d.md\n";
    assert_eq!(targets(text), ["b.md#c", "d.md"]);
    assert_eq!(
        anchors(text),
        BTreeSet::from(["a-code-title-twice".to_owned()])
    );
}
