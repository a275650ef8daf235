//! `regenerate`: generates all files from the config and the CRDs.

use std::time::Duration;

use super::resolve::Resolve;
use crate::{
    advice::{
        affected,
        kept_fields::{self, Listing},
        pending, pending_answers,
    },
    cli::output::{
        lines::FixCommand,
        view::{CommandResult, View},
    },
    diagnostic::{Exit, Failure},
    plan::Resolution,
    terminal::Terminal,
    workspace::{
        evolve::{Allow, Evolution},
        open::{LockedProject, OpenProject, ProjectArgs},
        origin::{self, local_runtime},
    },
};

/// Update all generated files to match operator.toml, the CRDs and this version of the tool
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    project: ProjectArgs,
    #[command(flatten)]
    resolve: Resolve,
    #[command(flatten)]
    allow: Allow,
    #[command(flatten)]
    view: View,
    /// Let rustc find the code of yours that breaks, for at most 60 seconds or as many as given; it compiles a copy of the project
    #[arg(
        long,
        value_name = "SECONDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "60",
        conflicts_with = "check"
    )]
    check_code: Option<u64>,
}

pub fn exec(args: Args, terminal: &Terminal) -> Result<Exit, Failure> {
    let locked = LockedProject::at(&args.project, args.view.recovery_mode(), terminal)?;
    let mut open = OpenProject::read(locked, terminal)?;
    open.resolution = Resolution::from(args.resolve);
    open.follow_crds()?;
    open.config
        .set_tool(env!("CARGO_PKG_VERSION"), origin::of_program().as_ref());
    let rendered = open.render(terminal)?;
    let warnings = open.warnings(&rendered);
    let converted = rendered.converted.clone();
    let plan = open.plan(rendered.tree)?;
    let mut diagnostics = rendered.diagnostics;
    diagnostics.extend(open.no_image().filter(|_| open.misses_image(&plan)));
    diagnostics.extend(local_runtime(&open.config).filter(|_| args.view.is_check()));
    let (mut reports, mut standing) = open.reports(diagnostics, &plan);
    let evolution = Evolution::of(&open, &plan, args.allow);
    reports.extend(evolution.warnings());
    reports.extend(open.abandoned_children(&plan));
    let (new, old) = kept_fields::by_plan(&converted, &plan);
    reports.extend(kept_fields::reports(&open, &plan, new, Listing::Short)?);
    standing.extend(kept_fields::reports(&open, &plan, old, Listing::Short)?);
    let mut pending = pending::reports(&open, &plan)?;
    let answers = pending_answers::reports(&open, &plan, &converted)?;
    if !args.view.is_check() {
        let limit = args.check_code.map(Duration::from_secs);
        let affected = affected::reports(&open, &plan, &evolution, &answers, limit, terminal)?;
        reports.extend(affected);
    }
    pending.extend(answers);
    let next = if pending.is_empty() {
        "cargo test"
    } else {
        "make the changes above, then cargo test"
    };
    let outcome = CommandResult {
        standing,
        pending,
        evolution,
        root: &open.root,
        reports,
        plan,
        summary: format!("{}: regenerated", open.config.name),
        next: next.into(),
        fix: FixCommand::Regenerate,
        warnings,
    };
    args.view.finish(&outcome, terminal)
}
