//! `add-controller`: adds a controller of a kind that exists without the operator.

use super::{finish::Ending, resolve::Resolve};
use crate::{
    cli::output::view::View,
    diagnostic::{Exit, Failure},
    scaffold::ExistingScaffold,
    terminal::Terminal,
    workspace::{
        adding::NewController,
        kinds::Cache,
        open::{OpenProject, ProjectArgs},
    },
};

/// Add a controller of a built-in kind, or of a kind of which the project has only types
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo operator add-controller v1/Pod
  cargo operator add-controller apps/v1/Deployment --as rollout-notifier
  cargo operator add-controller v1/Secret --cache objects
  cargo operator add-controller v1/Namespace --scaffold handlers")]
pub struct Args {
    /// The kind, as GROUP/VERSION/KIND, or as VERSION/KIND for the core group
    kind: String,
    /// The name of the controller [default: the name of the kind, such as `replica-set`]
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// The style of the controller
    #[arg(long, value_enum, default_value_t, value_name = "STYLE")]
    scaffold: ExistingScaffold,
    /// What the controller is given of each object [default: metadata, or objects for handlers and for a kind of which the project has types]
    #[arg(long, value_enum, value_name = "PART")]
    cache: Option<Cache>,
    /// Add a finalizer to the objects, and a method for objects that are being deleted to the controller
    #[arg(long)]
    cleanup: bool,
    #[command(flatten)]
    project: ProjectArgs,
    #[command(flatten)]
    resolve: Resolve,
    #[command(flatten)]
    view: View,
}

pub fn exec(args: Args, terminal: &Terminal) -> Result<Exit, Failure> {
    let mut open = OpenProject::at(&args.project, args.view.recovery_mode(), terminal)?;
    open.resolution = args.resolve.into();
    let name = open.add_controller(NewController {
        kind: &args.kind,
        name: args.name.as_deref(),
        scaffold: args.scaffold,
        cache: args.cache,
        cleanup: args.cleanup,
    })?;
    let summary = format!("{}: the controller {name} added", open.config.name);
    open.finish(Ending::of(&args.view, summary), terminal)
}
