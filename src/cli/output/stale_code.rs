//! Refuses to generate manifests for stale code. Both depend on `operator.toml` and the CRDs, and must agree on the paths of webhooks, on
//! permissions and on conversions. Reads the project; writes nothing.

use super::lines::{self, part};
use crate::{
    diagnostic::{Exit, Failure, Report},
    disk,
    plan::{self, LOCK, Plan, Resolution, Tree},
    render::{CRDS, RECORD},
    workspace::{
        evolve::{Allow, Evolution},
        open::{CONFIG, OpenProject},
    },
};

/// The maximum number of files that the error lists.
const MAX_LISTED: usize = 5;

impl OpenProject {
    /// Fails if `regenerate` would change the code, with the exit code of `regenerate --check`.
    pub fn refuse_stale_code(&self, tree: &Tree, is_state_stale: bool) -> Result<(), Failure> {
        let plan = self.code_plan(tree)?;
        let mut stale: Vec<String> = vec![];
        if is_state_stale {
            stale.push(format!("stale {}: update {CONFIG}", part(CONFIG)));
        }
        stale.extend(lines::list(&plan, true).lines().map(str::to_owned));
        // an edited file is stale only if its generated text has changed
        let is_new = |path: &String| {
            let file = tree.0.get(path);
            file.is_none_or(|file| !self.lock.is_pristine(path, &file.text))
        };
        let edited = plan.conflicts.iter().map(|conflict| &conflict.path);
        let edited = edited.filter(|path| is_new(path));
        stale.extend(edited.map(|path| format!("edited {}: {path}", part(path))));
        if stale.is_empty() {
            return Ok(());
        }
        let evolution = Evolution::of(self, &plan, Allow::default());
        let mut reports = evolution.reports();
        if let Some(last) = reports.last_mut() {
            last.help = None;
        }
        let more = stale.len().saturating_sub(MAX_LISTED);
        stale.truncate(MAX_LISTED);
        if more > 0 {
            stale.push(format!("and {more} more"));
        }
        let (exit, help) = if evolution.is_refused() {
            (
                Exit::Breaking,
                "correct the CRD or operator.toml, or accept the breaking changes with `cargo operator regenerate --allow-breaking`",
            )
        } else {
            (
                Exit::Drift,
                "run `cargo operator regenerate`, then the same command again",
            )
        };
        let message =
            "nothing was written, because the code was generated from another operator.toml or CRD";
        reports.push(Report {
            instead: Some(stale.join("\n")),
            ..Report::error(message, help)
        });
        Err(Failure { reports, exit })
    }

    /// The changes of the code that the operator is built from, and of the records of its CRDs and types.
    fn code_plan(&self, tree: &Tree) -> Result<Plan, Failure> {
        let files = tree.0.iter().filter(|(path, _)| is_code(path));
        let files = files.map(|(path, file)| (path.clone(), file.clone()));
        let tree = Tree(files.collect());
        let ours = disk::read_tree(&self.root, self.paths(&tree))?;
        let tree = self.seeds_formatted(tree, &ours);
        let mut plan = plan::plan(&self.lock, &ours, tree, is_code, &Resolution::default());
        plan.changes.retain(|change| change.path != LOCK);
        // the code first: the user knows it better than the records
        plan.changes.sort_by_key(|change| change.is_bookkeeping());
        Ok(plan)
    }
}

fn is_code(path: &str) -> bool {
    let folders = ["src/", CRDS, RECORD];
    folders.iter().any(|folder| path.starts_with(folder))
}
