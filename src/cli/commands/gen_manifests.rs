//! `gen-manifests`: generates only the manifests, for code that is up to date.

use super::resolve::Resolve;
use crate::{
    cli::output::{
        lines::FixCommand,
        view::{CommandResult, View},
    },
    config::{Packaging, is_image},
    diagnostic::{Exit, Failure},
    terminal::Terminal,
    workspace::{
        evolve::Evolution,
        kind_error::KindError,
        open::{OpenProject, ProjectArgs},
        origin::local_runtime,
    },
};

/// Update manifests/, and set the image of the operator
#[derive(clap::Args)]
pub struct Args {
    /// The operator's image, which is stored in operator.toml
    #[arg(long, value_name = "NAME[:TAG][@DIGEST]")]
    image: Option<String>,
    /// Also generate a Helm chart, which is stored in operator.toml
    #[arg(long)]
    helm: bool,
    /// Also generate a bundle for the Operator Lifecycle Manager, which is stored in operator.toml
    #[arg(long)]
    olm: bool,
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
    if let Some(image) = &args.image {
        if !is_image(image) {
            return Err(KindError::Image(image.clone()).into());
        }
        open.config.set_image(image);
    }
    for (is_asked, packaging) in [(args.helm, Packaging::Helm), (args.olm, Packaging::Olm)] {
        if is_asked {
            open.config.add_packaging(packaging);
        }
    }
    open.config.check()?;
    let is_state_stale = open.follow_crds()?;
    let mut rendered = open.render(terminal)?;
    open.refuse_stale_code(&rendered.tree, is_state_stale)?;
    rendered.diagnostics.extend(open.no_image());
    rendered.diagnostics.extend(local_runtime(&open.config));
    let plan = open.plan_for(rendered.tree, |path| {
        // the workflows have jobs for what is packaged
        let folders = [
            "manifests/",
            "charts/",
            "bundle/",
            "catalog/",
            ".github/workflows/",
        ];
        // a test compares what the Deployment sets with the flags that the program requires
        let files = ["crds/kustomization.yaml", "tests/all/generated.rs"];
        folders.iter().any(|folder| path.starts_with(folder)) || files.contains(&path)
    })?;
    let (reports, standing) = open.reports(rendered.diagnostics, &plan);
    let outcome = CommandResult {
        root: &open.root,
        evolution: Evolution::default(),
        reports,
        standing,
        pending: vec![],
        plan,
        summary: format!("{}: manifests/", open.config.name),
        next: match open.config.image {
            Some(_) if args.helm => {
                let name = &open.config.name;
                format!("helm install {name} charts/{name} --namespace {name} --create-namespace")
            }
            Some(_) => "kubectl apply --server-side -k manifests/".into(),
            None => "cargo operator gen-manifests --image NAME:TAG".into(),
        },
        fix: FixCommand::SameCommand,
        warnings: 0,
    };
    args.view.finish(&outcome, terminal)
}
