//! Every link of `README.md`, `CHANGELOG.md` and `docs/` to a file of this repository leads to one that exists, and to a heading of it;
//! and the book (`docs/SUMMARY.md`) has every page of `docs/`.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// A file of this repository, or a folder, for readers of the book: it has only `docs/`.
const FILES: [&str; 2] = [
    concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/"),
    concat!(env!("CARGO_PKG_REPOSITORY"), "/tree/main/"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn pages() -> Vec<PathBuf> {
    let root = root();
    let docs = fs::read_dir(root.join("docs")).unwrap();
    let mut pages: Vec<PathBuf> = docs
        .map(|entry| entry.unwrap().path())
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
    let inline = prose
        .split("](")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()));
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

/// Why a link of a page is dead, on the page or in the book.
fn fault(page: &Path, target: &str) -> Option<&'static str> {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let in_repository = FILES.iter().find_map(|start| file.strip_prefix(start));
    let path = match in_repository {
        Some(file) => root().join(file),
        None if target.contains("://") || target.starts_with("mailto:") => return None,
        None if file.is_empty() => page.to_owned(),
        None => page.parent().unwrap().join(file),
    };
    let is_in_the_book = page.parent() == Some(&root().join("docs"));
    if in_repository.is_none() && is_in_the_book && file.contains("../") {
        return Some("not in the book: link to the repository");
    }
    let has_anchor =
        |anchor| fs::read_to_string(&path).is_ok_and(|it| anchors(&it).contains(anchor));
    let exists = match anchor {
        "" => path.exists(),
        anchor => has_anchor(anchor),
    };
    (!exists).then_some("no such file or heading")
}

#[test]
fn every_link_within_the_repository_has_a_target() {
    let mut broken = vec![];
    let mut count = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for target in targets(&text) {
            count += 1;
            let fault = fault(&page, &target);
            broken.extend(fault.map(|it| format!("{}: {target}: {it}", page.display())));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(count > 100, "{count}");
}

#[test]
fn the_book_has_every_page_once() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let mut listed = targets(&summary);
    listed.sort();
    let mut expected: Vec<_> = pages()
        .into_iter()
        .filter(|page| page.parent() != Some(root()))
        .map(|page| page.file_name().unwrap().to_str().unwrap().to_owned())
        .filter(|name| name != "SUMMARY.md")
        .collect();
    expected.sort();
    assert_eq!(
        listed, expected,
        "docs/SUMMARY.md lists each page of docs/ once"
    );
}

/// The controllers of the golden projects are the examples of the book.
#[test]
fn the_page_of_programs_links_to_every_controller() {
    let page = fs::read_to_string(root().join("docs/programs.md")).unwrap();
    let links = targets(&page);
    let mut missing = vec![];
    for scaffold in fs::read_dir(root().join("scaffolds")).unwrap() {
        let controllers = scaffold.unwrap().path().join("src/controllers");
        for controller in fs::read_dir(controllers).unwrap() {
            let controller = controller.unwrap().path();
            let path = controller.strip_prefix(root()).unwrap().to_str().unwrap();
            let is_linked = links.iter().any(|link| link.ends_with(path));
            if controller.extension().is_some_and(|it| it == "rs")
                && !path.ends_with("/mod.rs")
                && !is_linked
            {
                missing.push(path.to_owned());
            }
        }
    }
    assert!(missing.is_empty(), "docs/programs.md lacks {missing:#?}");
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
