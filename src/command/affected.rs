//! Reports the user's code that a plan affects, because it uses what a new schema removes or changes.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    evolve::Evolution,
    failure::Failure,
    open::OpenProject,
    stale_paths::{MANIFEST, PackageRename, StalePaths},
};
use crate::{
    diagnostic::{Code, Location, Report, Severity},
    disk::{self, Root, Scratch},
    plan::{Change, Note, Plan},
    project::Owner,
    terminal::Terminal,
    user_code::{self, ChangedItems, CheckResult, DeprecatedUse, Marked, Use},
};

/// Reports the places in the user's code that the changes of a plan break or make obsolete, except for lines that are reported already.
pub fn reports(
    open: &OpenProject,
    plan: &Plan,
    evolution: &Evolution,
    reported: &[Report],
    terminal: &Terminal,
) -> Result<Vec<Report>, Failure> {
    let marked = marked(plan);
    let mut changed = ChangedItems::default();
    for module in marked.values() {
        changed.extend(module.changed.clone());
    }
    let stale = StalePaths::of(open, plan, evolution);
    if changed == ChangedItems::default() && stale.is_empty() {
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
    let can_break = stale.breaks() || changed != ChangedItems::default();
    let mut help = match can_break {
        true => "once the types are regenerated, `cargo check --all-targets` shows what remains"
            .to_owned(),
        false => "all of it still compiles, because the types do not change".to_owned(),
    };
    if stale.breaks() || changed.public_api {
        terminal.working("asking rustc which parts of your code the new types break");
        match check_with_rustc(open, plan, &marked, |path| texts.contains_key(path)) {
            Some(uses) => others.extend(uses),
            None => {
                others.extend(by_name(&|path, text| {
                    user_code::find_by_name(path, text, &changed)
                }));
                help = "these were found by their names alone, because the project was not built or does not compile; to let rustc find them, first run `cargo check --all-targets`".into();
            }
        }
    }
    if !stale.readmitted.is_empty() {
        help += &format!(
            "; before you release it, switch the code of the webhooks of {}: they get the objects in the storage version, and refuse all requests until their code uses it",
            stale.readmitted.join(" and ")
        );
    }
    // one report for each line is enough, preferably one with a reason
    let reported = reported.iter().filter_map(|it| it.location.as_ref());
    let mut lines: BTreeSet<(String, usize)> = reported
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
        help: (index + 1 == count).then(|| help.clone()),
    };
    let mut reports: Vec<Report> = uses.into_iter().enumerate().map(report).collect();
    if let Some(renamed) = &stale.renamed {
        reports.extend(lock_entry(open, renamed)?);
    }
    Ok(reports)
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
    let changes = plan.changes.iter().filter(is_types);
    let marked = changes.filter_map(|change| Some((change.path.as_str(), mark(change)?)));
    marked.collect()
}

/// The user's remaining code that cargo compiles.
fn texts(open: &OpenProject, plan: &Plan) -> Result<BTreeMap<String, String>, Failure> {
    let is_replaced = |path: &str| {
        let mut changes = plan.changes.iter();
        changes.any(|change| change.path == path)
    };
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

/// Reports the entry in the user's Cargo.lock that has the former name.
fn lock_entry(open: &OpenProject, renamed: &PackageRename) -> Result<Option<Report>, Failure> {
    let path = "Cargo.lock";
    let PackageRename { before, after, .. } = renamed;
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
        location: Some(Location::new(path, 1, &text, start..start + line.len())),
        instead: None,
        help: Some("`cargo update --workspace`, or any build without `--locked`, fixes it".into()),
    }))
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

impl OpenProject {
    /// The manifest and the folder of the workspace of which the project is a member. The outer `None` if they can't be read.
    fn workspace_manifest(&self) -> Option<Option<(String, String)>> {
        let Some(path) = &self.state.state.workspace else {
            return Some(None);
        };
        let folder = std::path::absolute(self.root.join(path)).ok()?;
        let text = disk::read(&Root::open(&folder).ok()?, MANIFEST).ok()??;
        Some(Some((text, folder.to_str()?.to_owned())))
    }
}

/// The uses that rustc finds, with the old types marked and with the new ones. `None` if cargo can't check the project.
fn check_with_rustc(
    open: &OpenProject,
    plan: &Plan,
    marked: &BTreeMap<&str, Marked>,
    is_users: impl Fn(&str) -> bool,
) -> Option<Vec<Use>> {
    let root = std::path::absolute(open.root.path()).ok()?;
    let root = root.to_str()?;
    let manifest = disk::read(&open.root, MANIFEST).ok()??;
    let workspace = open.workspace_manifest()?;
    let workspace = workspace.as_ref();
    let workspace = workspace.map(|(text, folder)| (text.as_str(), folder.as_str()));
    let standalone = |manifest: &str| user_code::standalone(manifest, root, workspace);
    let scratch = Scratch::new(&open.root, &standalone(&manifest)?)?;
    let check = || Some(user_code::read_messages(&scratch.check()?, &is_users));
    for (path, marked) in marked {
        scratch.write(path, Some(&marked.text)).ok()?;
    }
    let CheckResult {
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
            let manifest = standalone(change.after.as_deref()?)?;
            scratch.write(MANIFEST, Some(&manifest)).ok()?;
        } else {
            scratch.write(&change.path, change.after.as_deref()).ok()?;
        }
    }
    let new = check()?;
    // code that rustc did not check may be affected as well
    let is_hidden = |deprecated_use: &DeprecatedUse| {
        new.is_unresolved || new.is_library_broken && !deprecated_use.is_library
    };
    let deprecated = deprecated.into_iter();
    let deprecated =
        deprecated.filter(|deprecated_use| deprecated_use.is_removed || is_hidden(deprecated_use));
    let uses = deprecated.map(|deprecated_use| Use {
        message: describe(&deprecated_use.at.message),
        ..deprecated_use.at
    });
    Some(uses.chain(new.errors).collect())
}

/// Rewrites rustc's message ``use of deprecated field `a::B::c`: removed``.
fn describe(message: &str) -> String {
    let message = message
        .strip_prefix("use of deprecated ")
        .unwrap_or(message);
    match message.rsplit_once(": ") {
        Some((what, user_code::REMOVED)) => format!("the {what} is removed"),
        Some((what, user_code::RETYPED)) => format!("the type of the {what} changes"),
        _ => message.to_owned(),
    }
}
