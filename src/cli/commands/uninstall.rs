//! `uninstall`: removes the operator from a cluster.

use std::time::Duration;

use crate::{
    cli::output::{uninstall_lines::Output, view::Format},
    diagnostic::{Exit, Failure},
    disk::{self, RecoveryMode},
    manifests::Role,
    operator::ResourceType,
    scaffold::Scaffold,
    terminal::Terminal,
    uninstall::{
        Choice, Cluster, Ending, Installation, InstalledKind, Step, UninstallError, remove, stale,
        survey,
    },
    workspace::open::{OpenProject, ProjectArgs},
};

/// A placeholder for a project without an image. Without it, the manifests would have no Deployment, but an earlier image may have
/// installed one.
const ANY_IMAGE: &str = "none";

/// Remove the operator from a cluster; without --yes, only show what would be deleted
///
/// The objects are those that manifests/ installs, and the lease and the Secret that the operator creates. CRDs and their objects stay,
/// unless you name the CRDs: then their objects are deleted first, while the operator still runs and can remove its finalizers.
///
/// If something is not deleted in time, the command lists it, leaves the operator running, and exits with code 1. You can run it again.
#[derive(clap::Args)]
pub struct Args {
    /// Delete; without this, nothing is changed
    #[arg(long)]
    yes: bool,
    /// Delete only objects that earlier manifests installed and manifests/ no longer contains; run it when the new release works
    #[arg(long, conflicts_with_all = ["crds", "delete_namespace", "abandon_finalizers"])]
    stale: bool,
    /// Also delete all objects of this CRD, in all namespaces, and then the CRD; may be repeated
    #[arg(long = "crd", value_name = "NAME")]
    crds: Vec<String>,
    /// Also delete the namespace of the operator, if nothing else is in it
    #[arg(long)]
    delete_namespace: bool,
    /// Remove the operator although objects keep its finalizers, which nothing else removes
    #[arg(long)]
    abandon_finalizers: bool,
    /// How long to wait in total for what is being deleted, such as 90s or 5m
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    timeout: Duration,
    /// The context of the kubeconfig [default: the current one]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// The namespace in which the operator is installed [default: that of manifests/]
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    #[command(flatten)]
    project: ProjectArgs,
    /// The format of the output
    #[arg(long, value_enum, default_value_t = Format::Human, value_name = "FORMAT")]
    format: Format,
}

fn duration(text: &str) -> Result<Duration, &'static str> {
    const FORM: &str = "write a number of seconds, minutes or hours, such as 90s, 5m or 1h";
    let (number, unit) = match text.char_indices().last() {
        Some((at, 's')) => (&text[..at], 1),
        Some((at, 'm')) => (&text[..at], 60),
        Some((at, 'h')) => (&text[..at], 3600),
        _ => return Err(FORM),
    };
    let seconds: u32 = number.parse().map_err(|_| FORM)?;
    Ok(Duration::from_secs(u64::from(seconds) * unit))
}

pub fn exec(args: Args, terminal: &Terminal) -> Result<Exit, Failure> {
    let mut open = OpenProject::at(&args.project, RecoveryMode::Refuse, terminal)?;
    if open.config.image.is_none() {
        open.config.set_image(ANY_IMAGE);
    }
    let installation = open.installation(args.namespace.as_deref(), terminal)?;
    terminal.end_progress();
    // unlocks the project, so that other commands can run meanwhile
    drop(open);
    check_crds(&args.crds, &installation)?;
    let choice = Choice {
        stale: args.stale,
        crds: args.crds,
        namespace: args.delete_namespace,
        abandons_finalizers: args.abandon_finalizers,
        timeout: args.timeout,
    };
    let uninstallation = Uninstallation {
        installation,
        choice,
        context: args.context,
        deletes: args.yes,
        format: args.format,
    };
    uninstallation.run(terminal)
}

fn check_crds(names: &[String], installation: &Installation) -> Result<(), UninstallError> {
    let kinds = installation.kinds.iter();
    let known: Vec<&str> = kinds.filter_map(|kind| kind.crd.as_deref()).collect();
    match names.iter().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(UninstallError::UnknownCrd {
            name: name.clone(),
            known: match known.as_slice() {
                [] => "it installs none".to_owned(),
                known => format!("it installs {}", known.join(", ")),
            },
        }),
    }
}

struct Uninstallation {
    installation: Installation,
    choice: Choice,
    context: Option<String>,
    deletes: bool,
    format: Format,
}

impl Uninstallation {
    fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        terminal.working("reading the cluster");
        let cluster = Cluster::connect(self.context.as_deref())?;
        let survey = if self.choice.stale {
            stale(&cluster, &self.installation)?
        } else {
            survey(&cluster, &self.installation)?
        };
        let name = &self.installation.name;
        let mut output = Output::new(name, &cluster, &survey, &self.choice, self.format);
        output.begin(self.deletes, terminal)?;
        if !output.deletes() && survey.package().is_none() {
            return output.finish("nothing to delete", Exit::Clean, terminal);
        }
        let mut kinds = survey.kinds.iter();
        let is_abandoned = kinds.any(|kind| output.is_abandoned(kind));
        let is_unconverted = survey.kinds.iter().any(|kind| output.is_unconverted(kind));
        let is_refused = (is_unconverted || is_abandoned && !self.choice.abandons_finalizers)
            && (survey.has_deployment() || survey.package().is_some());
        if is_refused {
            return output.refuse(self.deletes, terminal);
        }
        // the package manager removes everything
        if !self.deletes && !output.deletes() {
            return output.done(terminal);
        }
        if let Some(deployment) = survey.unknown_deployment()
            && survey.package().is_none()
        {
            return output.unknown_deployment(deployment, self.deletes, terminal);
        }
        if !self.deletes {
            let hint = "nothing was deleted; the same command with `--yes` deletes";
            return output.finish(hint, Exit::Clean, terminal);
        }
        let mut shown = Ok(());
        let ending = remove(&cluster, &survey, &self.choice, |step| match step {
            Step::Waits(what) => terminal.working(what),
            Step::Deleted(object) => {
                let result = output.deleted(object, terminal);
                shown = std::mem::replace(&mut shown, Ok(())).and(result);
            }
            Step::NamespaceKept { namespace, because } => {
                output.namespace_kept(&namespace, &because, terminal);
            }
        });
        terminal.end_progress();
        // an error of the cluster matters more than one of the output
        let ending = match ending {
            Ok(ending) => ending,
            Err(error) => {
                let _unprinted = output.interrupted(&error, terminal);
                return Err(error.into());
            }
        };
        shown?;
        match ending {
            Ending::Done => output.done(terminal),
            Ending::Stuck(objects) => output.stuck(&objects, terminal),
            Ending::StuckAt(object) => output.stuck_at(&object, terminal),
            Ending::CreatedAgain(object) => output.created_again(&object, terminal),
        }
    }
}

impl OpenProject {
    /// The objects that the manifests of the project install, in this namespace or by default in the one of the manifests.
    fn installation(
        &self,
        namespace: Option<&str>,
        terminal: &Terminal,
    ) -> Result<Installation, Failure> {
        let rendered = self.render(terminal)?;
        let name = self.config.name.clone();
        let objects = rendered
            .objects
            .into_iter()
            .filter(|object| !matches!(object.role, Role::Sample(_)));
        Ok(Installation {
            namespace: namespace.unwrap_or(&name).to_owned(),
            name,
            objects: objects.map(|object| object.value).collect(),
            kinds: self.installed_kinds()?,
        })
    }

    /// The kinds of the project, and those that its controllers reconcile.
    fn installed_kinds(&self) -> Result<Vec<InstalledKind>, Failure> {
        let operator = self.operator()?;
        let mut kinds: Vec<InstalledKind> = vec![];
        let own: Vec<(String, String)> = operator
            .own_kinds()
            .map(|kind| (kind.crd.group.clone(), kind.crd.names.plural.clone()))
            .collect();
        let crd = |resource: &ResourceType| {
            let key = (resource.group.clone(), resource.plural.clone());
            own.contains(&key).then(|| resource.name())
        };
        for controller in &operator.controllers {
            let path = controller.path();
            let text = disk::read(&self.root, &path)?;
            let written = text.as_deref().and_then(Scaffold::implemented);
            let written = written.and_then(|(_, controller)| controller.finalizer?.value);
            let finalizers =
                std::iter::once(controller.finalizer(&self.config.name)).chain(written);
            let resource = &controller.resource;
            let index = kinds
                .iter()
                .position(|it| {
                    (&it.resource.group, &it.resource.plural) == (&resource.group, &resource.plural)
                })
                .unwrap_or_else(|| {
                    kinds.push(InstalledKind {
                        resource: resource.clone(),
                        crd: crd(resource),
                        finalizers: vec![],
                    });
                    kinds.len() - 1
                });
            for finalizer in finalizers {
                if !kinds[index].finalizers.contains(&finalizer) {
                    kinds[index].finalizers.push(finalizer);
                }
            }
        }
        Ok(kinds)
    }
}
