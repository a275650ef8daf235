//! The paths that code should no longer name after a plan: removed modules, and versions that are no longer served or stored.

use std::collections::BTreeSet;

use crate::{
    evolution,
    plan::{Change, Plan},
    rust::version_module,
    user_code::{self, StalePath, Use},
    workspace::{evolve::Evolution, open::OpenProject},
};

/// The stale paths of a plan, by reason.
pub struct StalePaths {
    removed: Vec<StalePath>,
    outdated: Vec<StalePath>,
}

impl StalePaths {
    pub fn of(open: &OpenProject, plan: &Plan, evolution: &Evolution) -> Self {
        Self {
            removed: removed(open, plan),
            outdated: outdated(open, evolution),
        }
    }

    /// Whether code may no longer compile.
    pub fn breaks(&self) -> bool {
        !self.removed.is_empty()
    }

    pub fn is_empty(&self) -> bool {
        !self.breaks() && self.outdated.is_empty()
    }

    /// The places in a file that name a stale path.
    pub fn find(&self, path: &str, text: &str) -> Vec<Use> {
        let mut uses = user_code::find_stale_paths(path, text, &self.removed);
        // code that still compiles is reported once for each file
        let mut reported = BTreeSet::new();
        let outdated = user_code::find_stale_paths(path, text, &self.outdated).into_iter();
        uses.extend(outdated.filter(|at| reported.insert(at.message.clone())));
        uses
    }
}

/// The removed modules; code that names them does not compile.
fn removed(open: &OpenProject, plan: &Plan) -> Vec<StalePath> {
    let mut stale = vec![];
    for change in plan.changes.iter().filter(|change| change.after.is_none()) {
        let Some((module, version)) = version_of(&change.path) else {
            continue;
        };
        let kinds = &open.config.kinds;
        if let Some(index) = kinds.iter().position(|kind| kind.module_name() == module) {
            let stored = &open.apis[index].storage_version().name;
            stale.push(StalePath {
                path: vec!["api".into(), module.into(), version.into()],
                message: format!(
                    "`api::{module}::{version}` is removed; objects are stored as {stored}"
                ),
            });
            continue;
        }
        // a kind whose module was renamed has the same types in the new module
        let is_same = |new: &&Change| {
            new.before.is_none()
                && new.after == change.before
                && version_of(&new.path).is_some_and(|(_, new)| new == version)
        };
        let moved = plan.changes.iter().find(is_same);
        let moved = moved.and_then(|new| Some(version_of(&new.path)?.0));
        for folder in ["api", "controllers"] {
            stale.push(StalePath {
                path: vec![folder.into(), module.into()],
                message: match moved {
                    Some(new) => format!("`{folder}::{module}` is now `{folder}::{new}`"),
                    None => format!("`{folder}::{module}` is removed"),
                },
            });
        }
    }
    stale.sort();
    stale.dedup_by(|a, b| a.path == b.path);
    stale
}

/// The module and the version of a path: `src/api/widget/v1.rs` gives `widget` and `v1`.
fn version_of(path: &str) -> Option<(&str, &str)> {
    let path = path.strip_prefix("src/api/")?.strip_suffix(".rs")?;
    path.split_once('/')
}

/// The versions that code should no longer use, although it compiles.
fn outdated(open: &OpenProject, evolution: &Evolution) -> Vec<StalePath> {
    let mut stale = vec![];
    for evolved in &evolution.kinds {
        let kind = &open.config.kinds[evolved.index];
        let stored = &open.apis[evolved.index].storage_version().name;
        let mut add = |version: &str, message: String| {
            let path = ["api", &kind.module_name(), &version_module(version)];
            stale.push(StalePath {
                path: path.map(str::to_owned).to_vec(),
                message,
            });
        };
        let has_types = |version: &String| kind.versions.contains(version);
        for (difference, _) in &evolved.differences {
            match (difference.change, &difference.version) {
                (evolution::Change::VersionUnserved, Some(version)) if has_types(version) => add(
                    version,
                    format!(
                        "{version} of {} is no longer served, so its requests get 404; objects are stored as {stored}",
                        kind.kind
                    ),
                ),
                (evolution::Change::StorageMoved, _)
                    if has_types(&evolved.stored)
                        && (kind.has_controller() || !kind.webhooks.is_empty()) =>
                {
                    add(
                        &evolved.stored,
                        format!(
                            "{stored} of {} is now the storage version, and this uses {}",
                            kind.kind, evolved.stored
                        ),
                    );
                }
                _ => {}
            }
        }
    }
    // only the first reason for a path is reported; failing requests are later in `differences`, but are worse
    stale.reverse();
    stale
}
