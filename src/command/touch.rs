//! The user's code that a plan touches: where it uses what a new schema takes away or changes.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    evolve::Evolution,
    failure::Failure,
    left::{Leaving, MANIFEST, Renamed},
    open::Open,
};
use crate::{
    diagnostic::{Code, Place, Report, Severity},
    disk::{self, Scratch},
    plan::{Change, Note, Plan},
    project::Owner,
    terminal::Terminal,
    uses::{self, Checked, Found, Marked, Touched, Use},
};

/// The places in the user's code that what the plan changes makes wrong.
pub fn reports(
    open: &Open,
    plan: &Plan,
    evolution: &Evolution,
    terminal: &Terminal,
) -> Result<Vec<Report>, Failure> {
    let marked = marked(plan);
    let mut touched = Touched::default();
    for found in marked.values() {
        touched.extend(found.touched.clone());
    }
    let leaving = Leaving::of(open, plan, evolution);
    if touched == Touched::default() && leaving.is_empty() {
        return Ok(vec![]);
    }
    let texts = texts(open, plan)?;
    let by_name = |find: &dyn Fn(&str, &str) -> Vec<Use>| -> BTreeSet<Use> {
        texts
            .iter()
            .flat_map(|(path, text)| find(path, text))
            .collect()
    };
    let mut found = by_name(&|path, text| leaving.find(path, text));
    let mut others = by_name(&|path, text| uses::uncovered(path, text, &touched));
    let can_break = leaving.breaks() || touched != Touched::default();
    let mut help = match can_break {
        true => "once the types are regenerated, `cargo check --all-targets` shows what remains",
        false => "all of it still compiles, because the types do not change",
    };
    if leaving.breaks() || touched.surface {
        terminal.working("asking rustc which of your code the new types break");
        match compiled(open, plan, &marked, |path| texts.contains_key(path)) {
            Some(uses) => others.extend(uses),
            None => {
                others.extend(by_name(&|path, text| uses::named(path, text, &touched)));
                help = "these were found by their names alone, because the project was not built or does not compile; run `cargo check --all-targets` first, and rustc is asked";
            }
        }
    }
    // of one line the first is enough, and best what says why
    let mut lines = BTreeSet::new();
    let mut first = |at: &Use| lines.insert((at.path.clone(), at.line));
    found.retain(&mut first);
    others.retain(&mut first);
    found.extend(others);
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
    let mut reports: Vec<Report> = found.into_iter().enumerate().map(report).collect();
    if let Some(renamed) = &leaving.renamed {
        reports.extend(locked(open, renamed)?);
    }
    Ok(reports)
}

/// The modules that the plan gives other types, marked.
fn marked(plan: &Plan) -> BTreeMap<&str, Marked> {
    let is_types = |change: &&Change| {
        change.owner == Some(Owner::Tool)
            && change.path.starts_with("src/api/")
            && change.path != "src/api/mod.rs"
    };
    let mark = |change: &Change| uses::mark(change.before.as_ref()?, change.after.as_ref()?);
    let changes = plan.changes.iter().filter(is_types);
    let marked = changes.filter_map(|change| Some((change.path.as_str(), mark(change)?)));
    marked.collect()
}

/// The user's code that stays, and that cargo compiles.
fn texts(open: &Open, plan: &Plan) -> Result<BTreeMap<String, String>, Failure> {
    let goes = |path: &str| {
        let mut changes = plan.changes.iter();
        changes.any(|change| change.path == path && change.after.is_none())
    };
    // no module of the tool's declares it any more
    let is_left = |path: &str| {
        let is_orphan =
            |note: &Note| matches!(note, Note::Orphan(orphan) if orphan.as_str() == path);
        path.starts_with("src/controllers/") && plan.notes.iter().any(is_orphan)
    };
    let is_users = |path: &str| {
        let entry = open.lock.files.get(path);
        entry.is_none_or(|entry| entry.owner == Owner::User) && !goes(path) && !is_left(path)
    };
    let files = disk::rust_files(&open.root)?.0.into_iter();
    Ok(files.filter(|(path, _)| is_users(path)).collect())
}

/// The entry of Cargo.lock, which is the user's, that has the former name.
fn locked(open: &Open, renamed: &Renamed) -> Result<Option<Report>, Failure> {
    let path = "Cargo.lock";
    let Renamed { before, after, .. } = renamed;
    let line = format!("name = \"{before}\"");
    let Some(text) = disk::read(&open.root, path)? else {
        return Ok(None);
    };
    let Some(start) = text.find(&line) else {
        return Ok(None);
    };
    Ok(Some(Report {
        severity: Severity::Warning,
        code: Some(Code::TouchedCode),
        subject: None,
        message: format!("the package `{before}` is now `{after}`, so `--locked` fails"),
        place: Some(Place::new(path, 1, &text, start..start + line.len())),
        instead: None,
        help: Some("`cargo update --workspace`, or any build without `--locked`, fixes it".into()),
    }))
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
        Some((what, uses::RETYPED)) => format!("the type of the {what} changes"),
        _ => message.to_owned(),
    }
}
