//! `remove`: removes a kind, a named controller or the webhooks of a kind from the project.

use super::{finish::Ending, resolve::Resolve};
use crate::{
    cli::output::view::View,
    crd,
    diagnostic::{Exit, Failure},
    disk,
    terminal::Terminal,
    workspace::open::{OpenProject, ProjectArgs},
};

/// Remove a kind, a controller or the webhooks of a kind from the project: its entry in operator.toml, its CRD, and its files that nobody edited
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo operator remove Widget --dry-run
  cargo operator remove Certificate.cert-manager.io
  cargo operator remove pod-printer
  cargo operator remove v1/Pod
  cargo operator remove Widget --webhooks")]
pub struct Args {
    /// The kind, as KIND or KIND.GROUP with its upper-case letters, the name of the controller, or the built-in kind of a [[webhook]]
    #[arg(value_name = "KIND|CONTROLLER")]
    name: String,
    /// Remove only the webhooks of the kind
    #[arg(long)]
    webhooks: bool,
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
    let webhooks = if args.webhooks {
        Some(open.remove_webhooks(&args.name)?)
    } else {
        open.remove_webhook_table(&args.name)
    };
    let controller = match webhooks {
        Some(_) => None,
        None => open.remove_controller(&args.name),
    };
    let removed = match (webhooks, controller) {
        (Some(kind), _) => format!("the webhooks of {kind} removed"),
        (None, Some(controller)) => format!("the controller {} removed", controller.name),
        (None, None) => {
            let api = open.remove(&args.name)?;
            let kind = &api.names.kind;
            let removed = match (open.old_crds.first(), open.kept_crds.first()) {
                (Some(crd), _) => format!("{kind} and its CRD {crd} removed"),
                (None, Some(crd)) if !crd::has_other_content(&open.inputs[crd]) => {
                    let path = disk::shown(&open.root.join(crd));
                    format!("{kind} removed, but not its CRD, which `rm {path}` removes")
                }
                (None, _) => format!("{kind} removed"),
            };
            format!(
                "{removed}; clusters still have the CRD {}, and deleting it deletes its objects",
                api.name()
            )
        }
    };
    let summary = format!("{}: {removed}", open.config.name);
    open.finish(Ending::of(&args.view, summary), terminal)
}
