//! `regenerate`: generates all files from the config and the CRDs.

use std::time::Duration;

use super::{finish::Ending, resolve::Resolve};
use crate::{
    cli::output::{lines::FixCommand, view::View},
    diagnostic::{Exit, Failure},
    plan::Resolution,
    terminal::Terminal,
    workspace::{
        evolve::Allow,
        open::{LockedProject, OpenProject, ProjectArgs},
        origin,
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
    let ending = Ending {
        view: &args.view,
        allow: args.allow,
        check_code: args.check_code.map(Duration::from_secs),
        summary: format!("{}: regenerated", open.config.name),
        fix: FixCommand::Regenerate,
    };
    open.finish(ending, terminal)
}
