//! Reads and merges the files of a project with arbitrary contents: `operator.toml`, `operator.lock`, and files that are merged.
//!
//! The input is text in three parts, between lines that read `=====`: base, ours and theirs.

use cargo_operator::{
    config::{ConfigFile, is_marked},
    plan::{BASE, File, LOCK, Ours, Resolution, Tree, plan},
    plan::{Entry, Lock, Owner},
};
use toml_edit::DocumentMut;

const CARGO: &str = "Cargo.toml";
const MERGED: &str = "README.md";

/// What is read is written unchanged; if one side of a merge equals the base, the result is the other side; a plan after apply is empty.
pub fn state(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let mut parts = text.split("\n=====\n");
    let base = parts.next().unwrap_or_default();
    let ours = parts.next().unwrap_or(base);
    let theirs = parts.next().unwrap_or(ours);
    for text in [base, ours, theirs] {
        read_config(text);
        read_lock(text);
    }
    for path in [CARGO, MERGED] {
        merge(path, base, ours, theirs);
        for (ours, theirs, changed) in [(base, theirs, theirs), (ours, base, ours)] {
            let Some(merged) = merge(path, base, ours, theirs) else {
                assert!(
                    is_marked(ours),
                    "a side that changed nothing is in no conflict"
                );
                continue;
            };
            let merged = merged.get(path).expect("no merge removes a file");
            // other line endings are no change
            assert_eq!(merged.replace("\r\n", "\n"), changed.replace("\r\n", "\n"));
        }
    }
    keys(base, theirs);
}

fn read_config(text: &str) {
    let Ok(file) = ConfigFile::read(text) else {
        return;
    };
    let written = file.to_string();
    let again = ConfigFile::read(&written).unwrap_or_else(|error| panic!("{error:?}\n{written}"));
    assert_eq!(file.config, again.config);
    let _ = file.check_tool("0.1.0");

    let mut edited = file.clone();
    edited.set_image("ghcr.io/me/operator:0.1.0");
    edited.set_tool("0.2.0", None);
    for index in 0..file.config.kinds.len() {
        edited.set_versions(index, vec!["v1".into(), "v9".into()]);
    }
    if let Some(kind) = file.config.kinds.first() {
        let mut kind = kind.clone();
        kind.kind = "Fuzzed".into();
        kind.crd = "crds/fuzzed.yaml".into();
        kind.module = Some("fuzzed".into());
        // these are not written, because no command sets them
        kind.watches = vec![];
        kind.reads = vec![];
        kind.rules = vec![];
        if kind.scaffold.is_none() {
            kind.owns = vec![];
        }
        edited.add_kind(kind);
    }
    if edited.config.check().is_ok() {
        let written = edited.to_string();
        let again =
            ConfigFile::read(&written).unwrap_or_else(|error| panic!("{error:?}\n{written}"));
        assert_eq!(edited.config, again.config, "{written}");
    }
}

fn read_lock(text: &str) {
    let Ok(lock) = Lock::read(text) else { return };
    let written = lock.to_text();
    let again = Lock::read(&written).unwrap_or_else(|error| panic!("{error:?}\n{written}"));
    assert_eq!(lock, again);

    // a plan removes no file of the user, whatever else the lock says
    let mut ours = Ours::default();
    for path in lock.files.keys() {
        ours.0.insert(path.clone(), path.clone());
    }
    let made = plan(
        &lock,
        &ours,
        Tree::default(),
        |_| true,
        &Resolution::default(),
    );
    let removed = made.changes.iter().filter(|change| change.after.is_none());
    for change in removed {
        let entry = lock.files.get(&change.path);
        assert!(
            entry.is_none_or(|entry| entry.owner != Owner::User),
            "{change:?}"
        );
    }
}

/// Plans and applies `theirs` in a project in which `base` was generated last and `ours` is on the disk; `None` for a conflict.
fn merge(path: &str, base: &str, ours: &str, theirs: &str) -> Option<Ours> {
    let mut disk = Ours::default();
    disk.0.insert(path.into(), ours.into());
    disk.0.insert(format!("{BASE}{path}"), base.into());
    let owner = if path == CARGO {
        Owner::Keys
    } else {
        Owner::Merged
    };
    let mut tree = Tree::default();
    tree.0.insert(
        path.into(),
        File {
            owner,
            text: theirs.into(),
            is_skeleton: false,
        },
    );

    let mut lock = Lock::default();
    lock.files.insert(path.into(), Entry::new(owner, base));
    let made = plan(&lock, &disk, tree.clone(), |_| true, &Resolution::default());
    if !made.conflicts.is_empty() {
        return None;
    }
    for change in &made.changes {
        change.diff();
        match &change.after {
            Some(text) => disk.0.insert(change.path.clone(), text.clone()),
            None => disk.0.remove(&change.path),
        };
    }
    let lock = disk
        .get(LOCK)
        .map(|text| Lock::read(text).expect("we wrote it"));
    let again = plan(
        &lock.unwrap_or_default(),
        &disk,
        tree,
        |_| true,
        &Resolution::default(),
    );
    assert!(again.changes.is_empty(), "a plan after apply: {again:?}");
    // conflict markers in the template are reported like any others
    assert!(again.conflicts.is_empty() || is_marked(theirs), "{again:?}");
    Some(disk)
}

/// Checks the merge of `Cargo.toml` where both sides differ from the base, so that no shortcut applies: the key that one side added
/// remains, and everything else is as on the other side.
fn keys(base: &str, theirs: &str) {
    let parse = |text: &str| text.parse::<DocumentMut>().ok();
    let (Some(base), Some(theirs)) = (parse(base), parse(theirs)) else {
        return;
    };
    let with = |document: &DocumentMut| {
        let mut document = document.clone();
        document.insert("fuzz-mine", toml_edit::value(true));
        document.to_string()
    };
    if base.contains_key("fuzz-mine") || theirs.contains_key("fuzz-mine") {
        return;
    }
    let (base_text, theirs_text) = (base.to_string(), theirs.to_string());
    let is_any_marked = is_marked(&base_text) || is_marked(&theirs_text);
    let Some(merged) = merge(CARGO, &base_text, &with(&base), &theirs_text) else {
        assert!(is_any_marked, "{base}\n--> {theirs}");
        return;
    };
    let merged = merged
        .get(CARGO)
        .and_then(parse)
        .expect("a merge can be read");
    let expected = parse(&with(&theirs)).expect("it was a document");
    assert!(
        equal(&merged, &expected),
        "{base}\n--> {theirs}\n==> {merged}"
    );

    let Some(merged) = merge(CARGO, &base_text, &theirs_text, &with(&base)) else {
        assert!(is_any_marked, "{base}\n--> {theirs}");
        return;
    };
    let merged = merged
        .get(CARGO)
        .and_then(parse)
        .expect("a merge can be read");
    assert!(
        equal(&merged, &expected),
        "{base}\n--> {theirs}\n==> {merged}"
    );
}

/// Whether two documents have the same values.
fn equal(one: &DocumentMut, other: &DocumentMut) -> bool {
    let plain = |document: &DocumentMut| {
        toml_edit::de::from_document::<serde_json::Value>(document.clone()).ok()
    };
    plain(one) == plain(other)
}
