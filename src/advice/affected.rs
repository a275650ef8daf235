//! Reports the user's code that a plan affects, because it uses what a new schema removes or changes.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{check_code, stale_paths::StalePaths};
use crate::{
    diagnostic::{Code, Failure, Location, Report, Severity},
    disk,
    plan::{Change, Note, Owner, Plan},
    terminal::Terminal,
    user_code::{self, ChangedItems, Marked, Use},
    workspace::{evolve::Evolution, open::OpenProject},
};

/// Reports the places in the user's code that the changes of a plan break or make obsolete, except for lines that were already reported.
/// They are found by their names, or by rustc, if `rustc` allows it some time.
pub fn reports(
    open: &OpenProject,
    plan: &Plan,
    evolution: &Evolution,
    reported: &[Report],
    rustc: Option<Duration>,
    terminal: &Terminal,
) -> Result<Vec<Report>, Failure> {
    let marked = marked(plan);
    let mut changed = ChangedItems::default();
    for module in marked.values() {
        changed.extend(module.changed.clone());
    }
    let stale = StalePaths::of(open, plan, evolution);
    // only rustc finds the uses of what has no name, such as a trait that is no longer implemented
    let rustc = rustc.filter(|_| stale.breaks() || !marked.is_empty());
    if changed == ChangedItems::default() && stale.is_empty() && rustc.is_none() {
        return Ok(vec![]);
    }
    let texts = texts(open, plan)?;
    let by_name = |find: &dyn Fn(&str, &str) -> Vec<Use>| -> BTreeSet<Use> {
        texts
            .iter()
            .flat_map(|(path, text)| find(path, text))
            .collect()
    };
    let mut uses = by_name(&|path, text| stale.find(path, text));
    let mut others = by_name(&|path, text| user_code::find_non_exhaustive(path, text, &changed));
    let by_rustc = match rustc {
        Some(limit) => check_code::uses(
            open,
            plan,
            &marked,
            limit,
            |path| texts.contains_key(path),
            terminal,
        )?,
        None => None,
    };
    let can_break = stale.breaks()
        || changed != ChangedItems::default()
        || by_rustc.as_ref().is_some_and(|uses| !uses.is_empty());
    let help = match (can_break, rustc) {
        (false, _) => "all of it still compiles, because the types do not change",
        (true, None) => {
            "these were found by their names; before the types change, `cargo operator regenerate --check-code` lets rustc find them, and afterwards `cargo check --all-targets`"
        }
        (true, Some(_)) => {
            "once the types are regenerated, `cargo check --all-targets` shows what remains"
        }
    };
    let by_names = || by_name(&|path, text| user_code::find_by_name(path, text, &changed));
    others.extend(by_rustc.unwrap_or_else(by_names));
    // one report for each line is enough, preferably one with a reason
    let mut lines: BTreeSet<(String, usize)> = reported
        .iter()
        .filter_map(|it| it.location.as_ref())
        .map(|location| (location.path.clone(), location.line))
        .collect();
    let mut first = |at: &Use| lines.insert((disk::shown(&open.root.join(&at.path)), at.line));
    uses.retain(&mut first);
    others.retain(&mut first);
    uses.extend(others);
    let count = uses.len();
    let report = |(index, at): (usize, Use)| Report {
        severity: Severity::Warning,
        code: Some(Code::TouchedCode),
        subject: None,
        location: texts.get(&at.path).map(|text| location(&at, text)),
        message: at.message,
        instead: None,
        help: (index + 1 == count).then(|| help.to_owned()),
    };
    Ok(uses.into_iter().enumerate().map(report).collect())
}

/// The modules whose types the plan changes, with their changed items marked.
fn marked(plan: &Plan) -> BTreeMap<&str, Marked> {
    let is_types = |change: &&Change| {
        change.owner == Some(Owner::Tool)
            && change.path.starts_with("src/api/")
            && change.path.ends_with(".rs")
            && change.path != "src/api/mod.rs"
    };
    let mark = |change: &Change| user_code::mark(change.before.as_ref()?, change.after.as_ref()?);
    plan.changes
        .iter()
        .filter(is_types)
        .filter_map(|change| Some((change.path.as_str(), mark(change)?)))
        .collect()
}

/// The user's remaining code that cargo compiles.
fn texts(open: &OpenProject, plan: &Plan) -> Result<BTreeMap<String, String>, Failure> {
    let is_replaced = |path: &str| plan.changes.iter().any(|change| change.path == path);
    // no generated module declares it any more
    let is_orphan = |path: &str| {
        let is_noted =
            |note: &Note| matches!(note, Note::Orphan(orphan) if orphan.as_str() == path);
        path.starts_with("src/controllers/") && plan.notes.iter().any(is_noted)
    };
    let is_users = |path: &str| {
        let entry = open.lock.files.get(path);
        entry.is_none_or(|entry| entry.owner == Owner::User)
            && !is_replaced(path)
            && !is_orphan(path)
    };
    let files = disk::rust_files(&open.root)?.0.into_iter();
    Ok(files.filter(|(path, _)| is_users(path)).collect())
}

fn location(at: &Use, text: &str) -> Location {
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
    Location::new(&at.path, 1, text, start..start + at.length)
}
