//! What commands do after they have changed a project: generate all files, report what that means for the user, and show or apply the plan.

use std::time::Duration;

use crate::{
    advice::{
        affected,
        kept_fields::{self, Listing},
        own_samples, pending, pending_answers,
    },
    cli::output::{
        lines::FixCommand,
        view::{CommandResult, View},
    },
    diagnostic::{Exit, Failure},
    terminal::Terminal,
    workspace::{
        evolve::{Allow, Evolution},
        open::OpenProject,
        origin::local_runtime,
    },
};

/// How a command ends.
pub struct Ending<'a> {
    pub view: &'a View,
    /// Whether breaking changes of CRDs are accepted.
    pub allow: Allow,
    /// The time in which rustc may look for the code of the user that breaks; `None` to search for names.
    pub check_code: Option<Duration>,
    /// What the command has done.
    pub summary: String,
    pub fix: FixCommand,
}

impl<'a> Ending<'a> {
    /// The ending of a command that is not about the schemas of kinds, and so refuses no change of them.
    pub fn of(view: &'a View, summary: String) -> Self {
        Self {
            view,
            allow: Allow::BREAKING,
            check_code: None,
            summary,
            fix: FixCommand::SameCommand,
        }
    }
}

impl OpenProject {
    /// Generates all files, and shows or applies the plan, with all advice about it.
    pub fn finish(&self, ending: Ending<'_>, terminal: &Terminal) -> Result<Exit, Failure> {
        let Ending { view, .. } = ending;
        let rendered = self.render(terminal)?;
        let warnings = self.warnings(&rendered);
        let converted = rendered.converted;
        let plan = self.plan(rendered.tree)?;
        let mut diagnostics = rendered.diagnostics;
        diagnostics.extend(self.no_image().filter(|_| self.misses_image(&plan)));
        diagnostics.extend(local_runtime(&self.config).filter(|_| view.is_check()));
        let (mut reports, mut standing) = self.reports(diagnostics, &plan);
        let evolution = Evolution::of(self, &plan, ending.allow);
        reports.extend(evolution.warnings());
        reports.extend(self.abandoned_children(&plan));
        let (new, old) = kept_fields::by_plan(&converted, &plan);
        reports.extend(kept_fields::reports(self, &plan, new, Listing::Short)?);
        standing.extend(kept_fields::reports(self, &plan, old, Listing::Short)?);
        let mut pending = pending::reports(self, &plan)?;
        let answers = pending_answers::reports(self, &plan, &converted)?;
        if !view.is_check() {
            let limit = ending.check_code;
            let affected = affected::reports(self, &plan, &evolution, &answers, limit, terminal)?;
            reports.extend(affected);
        }
        pending.extend(answers);
        pending.extend(own_samples::reports(self)?);
        let next = if pending.is_empty() {
            "cargo test"
        } else {
            "make the changes above, then cargo test"
        };
        let outcome = CommandResult {
            standing,
            pending,
            evolution,
            root: &self.root,
            reports,
            plan,
            summary: ending.summary,
            next: next.into(),
            fix: ending.fix,
            warnings,
        };
        view.finish(&outcome, terminal)
    }
}
