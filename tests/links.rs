//! Every link of `README.md`, `CHANGELOG.md` and `docs/` to a file of this repository leads to one that exists, and to a heading of it;
//! every path in backticks on the pages for contributors exists; and the book (`docs/SUMMARY.md`) has every page of `docs/`.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The starts of links to files and folders of this repository. The book has only `docs/`, so its readers need these links for the others.
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

/// The lines outside of code blocks, each split at its backticks: every second part is a span of code.
fn lines(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let mut is_code = false;
    text.lines().map(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if is_code || is_fence {
            vec![]
        } else {
            line.split('`').collect()
        }
    })
}

/// The lines outside of code blocks, without the spans of code in them.
fn prose(text: &str) -> String {
    let prose = lines(text).map(|parts| parts.into_iter().step_by(2).collect::<String>() + "\n");
    prose.collect()
}

/// The files and folders below a folder, except for those that are built, as paths from the root.
fn tree(folder: &Path, paths: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("target") || path.ends_with(".git") {
            continue;
        }
        paths.push(path.strip_prefix(root()).unwrap().display().to_string());
        if path.is_dir() {
            tree(&path, paths);
        }
    }
}

/// Whether a span of code is a path: below a folder of the root, or with the end of a folder or a file.
fn is_path(span: &str) -> bool {
    const ENDS: [&str; 9] = [
        "/", ".j2", ".json", ".lock", ".md", ".py", ".rs", ".toml", ".yaml",
    ];
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./<>*".contains(c);
    let first = span.split_once('/').map(|(first, _)| first);
    let is_below = first.is_some_and(|it| !it.is_empty() && root().join(it).is_dir());
    span.chars().all(is_plain)
        && !["/", "-", "..", "target/"]
            .iter()
            .any(|start| span.starts_with(start))
        && (is_below
            || ENDS
                .iter()
                .any(|end| span.len() > end.len() && span.ends_with(end)))
}

/// Whether a path has this end, in which `<name>`, `*` and a word in capitals are any text.
fn has_end(path: &str, end: &str) -> bool {
    let matches = |part: &str, pattern: &str| {
        let is_any =
            pattern.chars().all(|c| c.is_ascii_uppercase()) && !root().join(pattern).exists();
        let (start, rest) = pattern.split_once(['<', '*']).unwrap_or((pattern, ""));
        let rest = rest.split_once('>').map_or(rest, |(_, rest)| rest);
        if pattern.contains(['<', '*']) {
            part.starts_with(start) && part.ends_with(rest)
        } else {
            is_any || part == pattern
        }
    };
    let mut parts = path.rsplit('/');
    let mut patterns = end.trim_end_matches('/').rsplit('/');
    patterns.all(|pattern| parts.next().is_some_and(|part| matches(part, pattern)))
}

/// A path on a page starts at the root, or in the folder that its sentence is about, such as a crate or a generated project.
#[test]
fn every_path_on_the_pages_for_contributors_exists() {
    let mut paths = vec![];
    tree(root(), &mut paths);
    let mut missing = vec![];
    let mut count = 0;
    for page in ["README.md", "docs/ARCHITECTURE.md", "docs/CONTRIBUTING.md"] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        for (index, parts) in lines(&text).enumerate() {
            let spans = parts.into_iter().skip(1).step_by(2);
            for span in spans.filter(|span| is_path(span)) {
                count += 1;
                if !root().join(span).exists() && !paths.iter().any(|path| has_end(path, span)) {
                    missing.push(format!("{page}:{}: no such file: {span}", index + 1));
                }
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(count > 100, "{count}");
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
fn paths_are_found_among_spans_of_code() {
    for path in ["src/crd", "crds/", "kind_files.rs", "tests/all/<kind>.rs"] {
        assert!(is_path(path), "{path}");
    }
    for other in [
        "apps/v1/Deployment",
        "--check",
        "/metrics",
        "../a.rs",
        "a b.rs",
        "kind",
    ] {
        assert!(!is_path(other), "{other}");
    }
    assert!(has_end("tests/upgrades/0.1.0", "upgrades/VERSION"));
    assert!(has_end(
        "a/src/controllers/memcached.rs",
        "src/controllers/<kind>.rs"
    ));
    assert!(!has_end("a/b.rs", "c/b.rs"));
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
