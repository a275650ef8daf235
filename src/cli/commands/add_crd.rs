//! `add-crd`: adds kinds to a project, or updates the CRDs of its kinds.

use super::{finish::Ending, resolve::Resolve};
use crate::{
    cli::output::view::View,
    diagnostic::{Exit, Failure},
    terminal::Terminal,
    workspace::{
        evolve::Allow,
        kinds::{self, KindArgs},
        open::{OpenProject, ProjectArgs},
    },
};

/// Add kinds to the project, or replace the CRDs of its kinds with a new release
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo operator add-crd certificates.yaml issuers.yaml
  kustomize build config/crd | cargo operator add-crd -
  cargo operator add-crd --kind Backup --group cache.example.com
  cargo operator add-crd --types-only gateway-api/
  cargo operator add-crd certificates.yaml --scaffold controller --cache metadata")]
pub struct Args {
    /// Files or folders with CustomResourceDefinitions, or `-` for standard input; other objects in them are ignored
    #[arg(value_name = "FILE|DIR|-", conflicts_with = "group")]
    paths: Vec<String>,
    #[command(flatten)]
    chosen: KindArgs,
    #[command(flatten)]
    project: ProjectArgs,
    #[command(flatten)]
    allow: Allow,
    #[command(flatten)]
    resolve: Resolve,
    #[command(flatten)]
    view: View,
}

pub fn exec(args: Args, terminal: &Terminal) -> Result<Exit, Failure> {
    let mut open = OpenProject::at(&args.project, args.view.recovery_mode(), terminal)?;
    open.resolution = args.resolve.into();
    let crds = kinds::crds(&args.paths, &args.chosen, terminal)?;
    let names = kinds::list(crds.iter().map(|api| api.names.kind.as_str()));
    let added = open.add(crds, &args.chosen)?;
    let summary = match added {
        0 => format!("{}: the CRD of {names} is updated", open.config.name),
        _ => format!("{}: {names} added", open.config.name),
    };
    let ending = Ending {
        allow: args.allow,
        ..Ending::of(&args.view, summary)
    };
    open.finish(ending, terminal)
}
