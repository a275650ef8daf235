//! `init`: creates a project.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use crate::{
    cli::output::{
        lines::FixCommand,
        view::{CommandResult, View},
    },
    config::{ConfigFile, Runtime, is_package_name},
    diagnostic::{Exit, Failure, Report, Severity},
    disk::{self, RecoveryMode, Root},
    plan::{Lock, Resolution},
    scaffold::ExistingScaffold,
    terminal::Terminal,
    workspace::{
        adding::{NewController, controller_name},
        evolve::Evolution,
        kind_error::KindError,
        kinds::{self, KindArgs, ScaffoldArg},
        member,
        open::OpenProject,
        origin::{self, RuntimeArg, local_runtime},
        recover::recover,
    },
};

/// Create a project with an operator for one or more kinds, or without kinds
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo operator init memcached-operator --crd memcached.yaml
  cargo operator init memcached-operator --kind Memcached --group cache.example.com
  cargo operator init pod-printer --controller v1/Pod
  cargo operator init pod-hooks --controller v1/Pod --scaffold handlers
  helm template cert-manager | cargo operator init cert-operator --crd - --kind Certificate")]
pub struct Args {
    /// The folder of the project, which is created
    dir: PathBuf,
    /// The name of the package and of the objects that deploy it [default: the name of the folder]
    #[arg(long)]
    name: Option<String>,
    /// A file or folder with CustomResourceDefinitions, or `-` for standard input; can be repeated
    #[arg(long = "crd", value_name = "FILE|DIR|-", conflicts_with = "group")]
    crds: Vec<String>,
    /// A built-in kind to reconcile, as GROUP/VERSION/KIND, or as VERSION/KIND for the core group, in the style controller (default) or
    /// handlers; can be repeated
    #[arg(long = "controller", value_name = "KIND", conflicts_with_all = ["crds", "kind", "group", "types_only", "versions", "schema"])]
    controllers: Vec<String>,
    #[command(flatten)]
    chosen: KindArgs,
    /// Where the runtime comes from: `version`, `git`, `git=URL#REV`, `path` or `path=FOLDER` [default: from where this program was installed]
    #[arg(long, value_name = "SOURCE")]
    runtime: Option<RuntimeArg>,
    /// Make a project of its own in a folder below a cargo workspace, not a member of the workspace
    #[arg(long)]
    no_workspace: bool,
    #[command(flatten)]
    view: View,
}

pub fn exec(args: Args, terminal: &Terminal) -> Result<Exit, Failure> {
    let guard = disk::guard(&disk::parent(&args.dir), || terminal.waiting())?;
    // an interrupted `init` is rolled back, because this one writes its own files
    let mode = match args.view.recovery_mode() {
        RecoveryMode::Finish => RecoveryMode::RollBack,
        mode => mode,
    };
    let root = Root::open(&args.dir)?;
    recover(&root, mode, terminal)?;
    disk::check_vacant(&root)?;
    let name = args.name.unwrap_or_else(|| disk::name(&args.dir));
    if !is_package_name(&name) {
        return Err(KindError::Name(name).into());
    }
    let runtime = origin::runtime(args.runtime, &args.dir)?;
    let workspace = if args.no_workspace {
        None
    } else {
        member::enclosing(&args.dir)?
    };
    let path = workspace.as_ref().map(|it| member::path_to(it, &args.dir));
    let mut open = OpenProject {
        root,
        lock: Lock::default(),
        inputs: BTreeMap::new(),
        config: ConfigFile::new(&name, env!("CARGO_PKG_VERSION"), &runtime, path.as_deref())?,
        apis: vec![],
        new_crds: vec![],
        edited_crds: Default::default(),
        old_crds: vec![],
        kept_crds: vec![],
        resolution: Resolution::default(),
        _guard: Some(guard),
    };
    let is_empty =
        args.crds.is_empty() && args.chosen.kind.is_none() && args.chosen.starter.group.is_none();
    let scaffold = check(&args.controllers, &args.chosen, is_empty)?;
    for kind in &args.controllers {
        open.add_controller(NewController {
            kind,
            name: args.chosen.module.as_deref(),
            scaffold,
            cache: args.chosen.cache,
            cleanup: args.chosen.cleanup,
        })?;
    }
    if !is_empty {
        open.add(
            kinds::crds(&args.crds, &args.chosen, terminal)?,
            &args.chosen,
        )?;
    }
    let mut rendered = open.render(terminal)?;
    rendered.diagnostics.extend(open.no_image());
    rendered.diagnostics.extend(local_runtime(&open.config));
    let warnings = open.warnings(&rendered);
    let paths = rendered.tree.0.keys();
    let is_there = |path: &&String| disk::exists(&open.root, path);
    let kept: Vec<String> = paths.filter(is_there).cloned().collect();
    open.resolution.adopt.clone_from(&kept);
    let mut plan = open.plan(rendered.tree)?;
    plan.notes.clear();
    if let Some(workspace) = &workspace {
        member::inherit(&mut plan, workspace);
    }
    let next = if open.has_controllers() {
        "operator dev"
    } else {
        "test"
    };
    let (mut reports, standing) = open.reports(rendered.diagnostics, &plan);
    reports.extend(existing_files_note(&kept));
    let outcome = CommandResult {
        root: &open.root,
        evolution: Evolution::default(),
        reports,
        standing,
        pending: vec![],
        plan,
        summary: format!("{name}: {}", described(&open)),
        next: format!("cd {} && cargo {next}", args.dir.display()),
        fix: FixCommand::SameCommand,
        warnings,
    };
    let writes = args.view.writes();
    let finish = || args.view.finish(&outcome, terminal);
    if let Some(workspace) = &workspace {
        member::report(workspace, &args.dir, &name, terminal);
    }
    let exit = match &workspace {
        Some(workspace) if writes => member::join(workspace, &args.dir, &name, finish)?,
        _ => finish()?,
    };
    if workspace.is_none() && writes && exit == Exit::Clean {
        complete_lock(&args.dir, &runtime, terminal);
    }
    Ok(exit)
}

/// Lets cargo add the dependencies to Cargo.lock.
fn complete_lock(dir: &Path, runtime: &Runtime, terminal: &Terminal) {
    terminal.working("completing Cargo.lock");
    let note = origin::complete_lock(dir, runtime);
    terminal.end_progress();
    if let Some(note) = note {
        terminal.status(&note);
    }
}

/// Describes the project by the kinds that it defines or reconciles.
fn described(open: &OpenProject) -> String {
    let kinds = open.apis.iter().map(|api| api.names.kind.as_str());
    let mut kinds: Vec<&str> = kinds.collect();
    for controller in &open.config.controllers {
        let name = controller.kind.rsplit('/').next().unwrap_or_default();
        if !kinds.contains(&name) {
            kinds.push(name);
        }
    }
    if kinds.is_empty() {
        "an empty project".into()
    } else {
        format!("an operator for {}", kinds::list(kinds.into_iter()))
    }
}

/// The note about files that existed before the project.
fn existing_files_note(kept: &[String]) -> Option<Report> {
    let first = kept.first()?;
    let names = kinds::list(kept.iter().map(String::as_str));
    Some(Report {
        severity: Severity::Note,
        ..Report::error(
            format!("left as it was: {names}"),
            format!(
                "`cargo operator regenerate --diff --reset {first}` shows what would be generated"
            ),
        )
    })
}

/// Rejects options that would be ignored, and controllers that would have the same name. Returns the scaffold of the controllers.
fn check(
    controllers: &[String],
    chosen: &KindArgs,
    is_empty: bool,
) -> Result<ExistingScaffold, KindError> {
    let default = ExistingScaffold::default();
    let passed = chosen.passed();
    if controllers.is_empty() {
        return if is_empty && !passed.is_empty() {
            Err(KindError::NoKind(passed.join(", ")))
        } else {
            Ok(default)
        };
    }
    let scaffold = chosen.scaffold.map_or(default.name(), ScaffoldArg::name);
    let named = ExistingScaffold::named(scaffold);
    let scaffold = named.ok_or(KindError::ControllerStyle(scaffold))?;
    let names: Vec<String> = controllers.iter().map(|it| controller_name(it)).collect();
    for (index, name) in names.iter().enumerate() {
        let Some(earlier) = names[..index].iter().position(|other| other == name) else {
            continue;
        };
        let (first, second) = (controllers[earlier].clone(), controllers[index].clone());
        return Err(if first == second {
            KindError::TwiceController(first)
        } else {
            KindError::TwiceName(first, second, name.clone())
        });
    }
    if chosen.module.is_some() && controllers.len() > 1 {
        Err(KindError::ManyNames(controllers.len()))
    } else {
        Ok(scaffold)
    }
}
