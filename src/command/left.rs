//! What code should no longer name once a plan is carried out: modules that go, versions that are no longer served or stored, the project's
//! former name.

use std::collections::BTreeSet;

use super::{
    evolve::{Evolution, Evolved},
    open::Open,
};
use crate::{
    evolution,
    plan::{Change, Plan},
    rust::version_module,
    uses::{self, Left, Rescoped, Use},
};

/// All of it.
pub struct Leaving {
    gone: Vec<Left>,
    outdated: Vec<Left>,
    rescoped: Vec<Rescoped>,
    pub renamed: Option<Renamed>,
}

/// The former and the new name of the package, and of its library.
pub struct Renamed {
    pub before: String,
    pub after: String,
    library: (String, String),
}

impl Leaving {
    pub fn of(open: &Open, plan: &Plan, evolution: &Evolution) -> Self {
        Self {
            gone: gone(open, plan),
            outdated: outdated(open, evolution),
            rescoped: rescoped(open, evolution),
            renamed: renamed(plan),
        }
    }

    /// Whether code can cease to compile.
    pub fn breaks(&self) -> bool {
        !(self.gone.is_empty() && self.rescoped.is_empty()) || self.renamed.is_some()
    }

    pub fn is_empty(&self) -> bool {
        !self.breaks() && self.outdated.is_empty()
    }

    /// The places in a file.
    pub fn find(&self, path: &str, text: &str) -> Vec<Use> {
        let mut found = uses::leads(path, text, &self.gone);
        found.extend(uses::scoped(path, text, &self.rescoped));
        // what compiles is told once for each file
        let mut told = BTreeSet::new();
        let outdated = uses::leads(path, text, &self.outdated).into_iter();
        found.extend(outdated.filter(|at| told.insert(at.message.clone())));
        if let Some(renamed) = &self.renamed {
            found.extend(renamed.find(path, text));
        }
        found
    }
}

impl Renamed {
    fn find(&self, path: &str, text: &str) -> Vec<Use> {
        let Self {
            before,
            after,
            library: (old, new),
        } = self;
        let message = format!("if this names the operator, write `{after}` instead of `{before}`");
        let mut found = uses::literals(path, text, before, &message);
        if old != new {
            let library = Left {
                path: vec![old.clone()],
                message: format!("the crate `{old}` is now `{new}`"),
            };
            found.extend(uses::leads(path, text, &[library]));
        }
        found
    }
}

/// What goes, so that code which names it does not compile.
fn gone(open: &Open, plan: &Plan) -> Vec<Left> {
    let mut left = vec![];
    for change in plan.changes.iter().filter(|change| change.after.is_none()) {
        let Some((module, version)) = version_of(&change.path) else {
            continue;
        };
        let kinds = &open.state.state.kinds;
        if let Some(index) = kinds.iter().position(|kind| kind.module_name() == module) {
            let stored = &open.apis[index].storage_version().name;
            left.push(Left {
                path: vec!["api".into(), module.into(), version.into()],
                message: format!(
                    "`api::{module}::{version}` is removed; objects are stored as {stored}"
                ),
            });
            continue;
        }
        // a kind with another module has the same types there
        let is_same = |new: &&Change| {
            new.before.is_none()
                && new.after == change.before
                && version_of(&new.path).is_some_and(|(_, new)| new == version)
        };
        let moved = plan.changes.iter().find(is_same);
        let moved = moved.and_then(|new| Some(version_of(&new.path)?.0));
        for folder in ["api", "controllers"] {
            left.push(Left {
                path: vec![folder.into(), module.into()],
                message: match moved {
                    Some(new) => format!("`{folder}::{module}` is now `{folder}::{new}`"),
                    None => format!("`{folder}::{module}` is removed"),
                },
            });
        }
    }
    left.sort();
    left.dedup_by(|a, b| a.path == b.path);
    left
}

/// `src/api/widget/v1.rs` is of the module `widget` and the version `v1`.
fn version_of(path: &str) -> Option<(&str, &str)> {
    let path = path.strip_prefix("src/api/")?.strip_suffix(".rs")?;
    path.split_once('/')
}

/// The versions that code should leave though it compiles with them.
fn outdated(open: &Open, found: &Evolution) -> Vec<Left> {
    let mut left = vec![];
    for evolved in &found.kinds {
        let kind = &open.state.state.kinds[evolved.index];
        let stored = &open.apis[evolved.index].storage_version().name;
        let mut leave = |version: &str, message: String| {
            let path = ["api", &kind.module_name(), &version_module(version)];
            left.push(Left {
                path: path.map(str::to_owned).to_vec(),
                message,
            });
        };
        let has_types = |version: &String| kind.versions.contains(version);
        for (found, _) in &evolved.differences {
            match (found.change, &found.version) {
                (evolution::Change::VersionUnserved, Some(version)) if has_types(version) => leave(
                    version,
                    format!(
                        "{version} of {} is no longer served, so its requests get 404; objects are stored as {stored}",
                        kind.kind
                    ),
                ),
                (evolution::Change::StorageMoved, _)
                    if kind.has_controller() && has_types(&evolved.stored) =>
                {
                    leave(
                        &evolved.stored,
                        format!(
                            "{stored} of {} is now the storage version, and this uses {}",
                            kind.kind, evolved.stored
                        ),
                    )
                }
                _ => {}
            }
        }
    }
    // of one version the last goes first: that its requests fail is worse
    left.reverse();
    left
}

/// The kinds with another scope.
fn rescoped(open: &Open, found: &Evolution) -> Vec<Rescoped> {
    let has_moved = |kind: &&Evolved| {
        let mut changes = kind.differences.iter().map(|(found, _)| found.change);
        changes.any(|change| change == evolution::Change::ScopeChanged)
    };
    let kinds = found.kinds.iter().filter(has_moved);
    kinds
        .map(|kind| Rescoped {
            kind: open.apis[kind.index].names.kind.clone(),
            scope: open.apis[kind.index].scope,
        })
        .collect()
}

/// Whether the package gets another name.
fn renamed(plan: &Plan) -> Option<Renamed> {
    let change = plan.changes.iter().find(|found| found.path == MANIFEST)?;
    let names = |text: &Option<String>| {
        let manifest: toml_edit::DocumentMut = text.as_ref()?.parse().ok()?;
        let name = |table: &str| manifest.get(table)?.get("name")?.as_str();
        let package = name("package")?;
        let library = name("lib").map_or_else(|| package.replace('-', "_"), str::to_owned);
        Some((package.to_owned(), library))
    };
    let (before, old) = names(&change.before)?;
    let (after, new) = names(&change.after)?;
    (before != after).then_some(Renamed {
        before,
        after,
        library: (old, new),
    })
}

pub const MANIFEST: &str = "Cargo.toml";
