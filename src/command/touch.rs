//! The user's code that a plan touches: where it uses what a new schema takes away or changes.

use std::collections::{BTreeMap, BTreeSet};

use super::{failure::Failure, open::Open};
use crate::{
    diagnostic::{Code, Place, Report, Severity},
    disk::{self, Scratch},
    plan::{Change, Plan},
    project::Owner,
    terminal::Terminal,
    uses::{self, Checked, Found, Marked, Touched, Use},
};

/// The places in the user's code that what the plan changes of the types makes wrong.
pub fn reports(open: &Open, plan: &Plan, terminal: &Terminal) -> Result<Vec<Report>, Failure> {
    let is_types = |change: &&Change| {
        change.owner == Some(Owner::Tool)
            && change.path.starts_with("src/api/")
            && change.path != "src/api/mod.rs"
    };
    let mut marked: BTreeMap<&str, Marked> = BTreeMap::new();
    for change in plan.changes.iter().filter(is_types) {
        if let Some(before) = &change.before
            && let Some(found) = uses::mark(before, change.after.as_deref())
        {
            marked.insert(&change.path, found);
        }
    }
    let mut touched = Touched::default();
    for found in marked.values() {
        touched.extend(found.touched.clone());
    }
    if touched == Touched::default() {
        return Ok(vec![]);
    }
    let is_users = |path: &str| {
        let entry = open.lock.files.get(path);
        path.ends_with(".rs") && entry.is_none_or(|entry| entry.owner == Owner::User)
    };
    let files = disk::rust_files(&open.root)?;
    let texts: BTreeMap<String, String> = files
        .0
        .into_iter()
        .filter(|(path, _)| is_users(path))
        .collect();
    let by_name = |find: fn(&str, &str, &Touched) -> Vec<Use>| -> BTreeSet<Use> {
        let found = texts
            .iter()
            .flat_map(|(path, text)| find(path, text, &touched));
        found.collect()
    };
    let mut found = by_name(uses::uncovered);
    // what uses a module that goes does not get as far as its types
    let gone = plan.changes.iter().filter(|change| change.after.is_none());
    let gone = gone.filter_map(|change| marked.get(change.path.as_str()));
    let mut items = Touched::default();
    for found in gone {
        items.items.extend(found.touched.items.clone());
    }
    if items.takes() {
        found.extend(
            texts
                .iter()
                .flat_map(|(path, text)| uses::named(path, text, &items)),
        );
    }
    let mut help = "`cargo check --all-targets` tells what is left once the types are new";
    if touched.takes() {
        terminal.progress("asking cargo which code uses what goes");
        match compiled(open, plan, &marked, is_users) {
            Some(uses) => found.extend(uses),
            None => {
                found.extend(by_name(uses::named));
                help = "all were found by their names alone, as the project was not built or does not compile: after `cargo check --all-targets` rustc is asked";
            }
        }
        terminal.progress_ends();
    }
    // of one line the first is enough
    let mut lines = BTreeSet::new();
    found.retain(|at| lines.insert((at.path.clone(), at.line)));
    let count = found.len();
    let report = |(index, at): (usize, Use)| Report {
        severity: Severity::Warning,
        code: Some(Code::TouchedCode),
        subject: None,
        place: texts.get(&at.path).map(|text| place(&at, text)),
        message: at.message,
        instead: None,
        help: (index + 1 == count).then(|| help.into()),
    };
    Ok(found.into_iter().enumerate().map(report).collect())
}

fn place(at: &Use, text: &str) -> Place {
    let line = text
        .split_inclusive('\n')
        .take(at.line.saturating_sub(1))
        .map(str::len)
        .sum::<usize>();
    let column = text[line..]
        .chars()
        .take(at.column.saturating_sub(1))
        .map(char::len_utf8)
        .sum::<usize>();
    let start = line + column;
    Place::new(&at.path, 1, text, start..start + at.length)
}

/// What rustc says: of the old types with what goes marked, and of the new ones. `None` where it can't be asked.
fn compiled(
    open: &Open,
    plan: &Plan,
    marked: &BTreeMap<&str, Marked>,
    is_users: impl Fn(&str) -> bool,
) -> Option<Vec<Use>> {
    let root = std::path::absolute(&open.root).ok()?;
    let root = root.to_str()?;
    let manifest = disk::read(&open.root, MANIFEST).ok()??;
    let scratch = Scratch::new(&open.root, &uses::standalone(&manifest, root)?)?;
    let check = || Some(uses::read(&scratch.check()?, &is_users));
    for (path, marked) in marked {
        scratch.write(path, Some(&marked.text)).ok()?;
    }
    let Checked {
        deprecated,
        errors,
        is_library_broken,
        ..
    } = check()?;
    if is_library_broken || !errors.is_empty() {
        return None;
    }
    for change in &plan.changes {
        if change.path == MANIFEST {
            let manifest = uses::standalone(change.after.as_deref()?, root)?;
            scratch.write(MANIFEST, Some(&manifest)).ok()?;
        } else if !change.path.starts_with("crates/") {
            scratch.write(&change.path, change.after.as_deref()).ok()?;
        }
    }
    let new = check()?;
    // what rustc did not get to may be wrong as well
    let is_hidden = |found: &Found| new.is_unresolved || new.is_library_broken && !found.is_library;
    let told = deprecated.into_iter();
    let told = told.filter(|found| found.is_removed || is_hidden(found));
    let told = told.map(|found| Use {
        message: changed(&found.at.message),
        ..found.at
    });
    Some(told.chain(new.errors).collect())
}

/// ``use of deprecated field `a::B::c`: removed`` in our words.
fn changed(message: &str) -> String {
    let message = message
        .strip_prefix("use of deprecated ")
        .unwrap_or(message);
    match message.rsplit_once(": ") {
        Some((what, uses::REMOVED)) => format!("the {what} is removed"),
        Some((what, uses::RETYPED)) => format!("the {what} gets another type"),
        _ => message.to_owned(),
    }
}

const MANIFEST: &str = "Cargo.toml";
