//! Opens the project that a command works on: the config, the lock and the CRDs, as values.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::{
    kind_error::KindError,
    kinds::{self, find, is_named},
};
use crate::{
    config::{ConfigError, ConfigFile, ConfigProblem, Kind, Place, is_workspace_of},
    crd::{self, Api},
    diagnostic::{Explain, Failure, Location, Report},
    disk::{self, DiskError, Guard, RecoveryMode, Root},
    operator::ResourceType,
    plan::{LOCK, Lock, Resolution},
    render::{CRDS, RECORD, versions_path},
    rust::version_module,
    terminal::Terminal,
};

/// The file name of the config.
pub const CONFIG: &str = "operator.toml";

/// The arguments that select the project of a command.
#[derive(clap::Args, Clone, Debug)]
pub struct ProjectArgs {
    /// The Cargo.toml or the folder of the project [default: the nearest project in this folder or above it]
    #[arg(long, value_name = "PATH")]
    manifest_path: Option<PathBuf>,
}

/// The folder of a project, locked against other commands, and recovered from an interrupted one.
pub struct LockedProject {
    pub root: Root,
    guard: Guard,
}

impl LockedProject {
    pub fn at(
        args: &ProjectArgs,
        mode: RecoveryMode,
        terminal: &Terminal,
    ) -> Result<Self, Failure> {
        let root = disk::find_project(args.manifest_path.as_deref())?;
        let guard = disk::guard(root.path(), || terminal.waiting())?;
        super::recover::recover(&root, mode, terminal)?;
        Ok(Self { root, guard })
    }
}

/// A project in memory: what is on disk, with the changes that a command makes to the config and the CRDs.
pub struct OpenProject {
    pub root: Root,
    pub lock: Lock,
    pub config: ConfigFile,
    /// The texts of the config, the lock and the CRDs, by path, as they were read.
    pub inputs: BTreeMap<String, String>,
    /// The CRDs in the order of the config's kinds.
    pub apis: Vec<Api>,
    /// The names of the CRDs that this command adds or replaces.
    pub new_crds: Vec<String>,
    /// The files of CRDs that this command edits, with their new texts.
    pub edited_crds: BTreeMap<String, String>,
    /// The files of CRDs that no kind uses any more, which are removed.
    pub old_crds: Vec<String>,
    /// The files of such CRDs that are kept, because they may be the only copy.
    pub kept_crds: Vec<String>,
    /// The user's decisions about edited files.
    pub resolution: Resolution,
    /// Held until the command ends, so that two commands do not work on one project at once.
    pub _guard: Option<Guard>,
}

/// Checks that the `workspace` in `operator.toml` exists. A member has no files that only the root of a workspace needs, so a wrong path
/// would remove them.
fn check_workspace(root: &Root, workspace: &str) -> Result<Option<ConfigError>, DiskError> {
    let folder = root.join(workspace);
    let manifest = disk::read(&Root::open(&folder)?, "Cargo.toml")?;
    let project = disk::relative(&folder, root.path());
    let is_above = manifest.is_some_and(|text| is_workspace_of(&text, &project.to_string_lossy()));
    let is_found = is_above && Path::new(workspace).is_relative();
    Ok((!is_found)
        .then(|| ConfigProblem::NoWorkspace(workspace.to_owned()).at(Place::of("workspace"))))
}

impl OpenProject {
    /// Finds the project and reads it.
    pub fn at(
        args: &ProjectArgs,
        mode: RecoveryMode,
        terminal: &Terminal,
    ) -> Result<Self, Failure> {
        Self::read(LockedProject::at(args, mode, terminal)?, terminal)
    }

    /// Reads the project; the errors of all invalid CRDs are reported.
    pub fn read(
        LockedProject { root, guard }: LockedProject,
        terminal: &Terminal,
    ) -> Result<Self, Failure> {
        terminal.working("reading the project");
        let missing = || DiskError::NoProject(root.path().display().to_string());
        let text = disk::read(&root, CONFIG)?.ok_or_else(missing)?;
        let path = disk::shown(&root.join(CONFIG));
        let failed = |errors: &[ConfigError]| mistakes(errors, &path, &text);
        let config = ConfigFile::read(&text).map_err(|errors| failed(&errors))?;
        config
            .check_tool(env!("CARGO_PKG_VERSION"))
            .map_err(|error| failed(&[error]))?;
        if let Some(workspace) = &config.config.workspace
            && let Some(error) = check_workspace(&root, workspace)?
        {
            return Err(failed(&[error]));
        }
        // locates an error about the file of a CRD where the config names the file
        let named = |error: KindError| {
            let (KindError::NoCrd { crd, .. } | KindError::OtherKind { crd, .. }) = &error else {
                return error.into();
            };
            let index = config.kinds.iter().position(|kind| kind.crd == *crd);
            let place = index.map(|index| Place::of("kind").then(index).then("crd"));
            let range = place.and_then(|it| it.range(&text));
            Failure::at(range.map(|it| Location::new(&path, 1, &text, it)), &error)
        };
        for (place, sample) in config.samples() {
            if disk::read(&root, sample)?.is_none() {
                let range = place.range(&text);
                let location = range.map(|it| Location::new(&path, 1, &text, it));
                return Err(Failure::at(location, &KindError::NoSample(sample.clone())));
            }
        }
        let mut inputs = BTreeMap::from([(CONFIG.to_owned(), text.clone())]);
        let lock = match disk::read(&root, LOCK)? {
            Some(text) => {
                let lock = Lock::read(&text)?;
                inputs.insert(LOCK.to_owned(), text);
                lock
            }
            None => Lock::default(),
        };
        for kind in &config.config.kinds {
            let Some(text) = disk::read(&root, &kind.crd)? else {
                let (kind, crd) = (kind.kind.clone(), kind.crd.clone());
                return Err(named(KindError::NoCrd { kind, crd }));
            };
            inputs.insert(kind.crd.clone(), text);
        }
        let read = |kind: &Kind| -> Result<Api, Failure> {
            let path = disk::shown(&root.join(&kind.crd));
            find(crd::read(&path, &inputs[&kind.crd])?, kind).map_err(named)
        };
        let (mut apis, mut errors) = (vec![], vec![]);
        let read_apis: Vec<_> = config.config.kinds.par_iter().map(read).collect();
        for result in read_apis {
            match result {
                Ok(api) => apis.push(api),
                Err(failure) => errors.extend(failure.reports),
            }
        }
        if errors.is_empty() {
            Ok(Self {
                root,
                inputs,
                lock,
                config,
                apis,
                new_crds: vec![],
                edited_crds: BTreeMap::new(),
                old_crds: vec![],
                kept_crds: vec![],
                resolution: Resolution::default(),
                _guard: Some(guard),
            })
        } else {
            Err(Failure::of(errors))
        }
    }

    /// The location of a place in `operator.toml`, as it was read.
    pub fn location(&self, place: &Place) -> Option<Location> {
        let text = self.inputs.get(CONFIG)?;
        let path = disk::shown(&self.root.join(CONFIG));
        Some(Location::new(&path, 1, text, place.range(text)?))
    }

    /// Whether anything is reconciled.
    pub fn has_controllers(&self) -> bool {
        let config = &self.config;
        !config.controllers.is_empty() || config.kinds.iter().any(Kind::has_controller)
    }

    /// Whether there is something to run: a controller or a webhook.
    pub fn is_runnable(&self) -> bool {
        let is_served = |(kind, api): (&Kind, &Api)| {
            !kind.webhooks.is_empty() || kind.is_converted(api, self.was_converted(kind))
        };
        self.has_controllers()
            || !self.config.webhooks.is_empty()
            || self.config.kinds.iter().zip(&self.apis).any(is_served)
    }

    /// Whether the operator converted between versions of the kind when the project was last generated.
    pub fn was_converted(&self, kind: &Kind) -> bool {
        let entry = self.lock.files.get(&versions_path(&kind.module_name()));
        entry.is_some_and(|entry| !entry.orphaned)
    }

    /// Updates the config to match the CRDs and scaffolds. Returns whether it has changed.
    pub fn follow_crds(&mut self) -> Result<bool, Failure> {
        let before = self.config.to_string();
        for index in 0..self.apis.len() {
            self.follow_versions(index, &[])?;
            self.follow_scaffold(index)?;
        }
        Ok(self.config.to_string() != before)
    }

    /// Updates the versions of a kind to match its CRD: a version that no longer exists is removed, and a new storage version is added.
    pub fn follow_versions(&mut self, index: usize, wanted: &[String]) -> Result<(), Failure> {
        let (kind, api) = (&self.config.kinds[index], &self.apis[index]);
        let wanted = match wanted {
            [] => {
                let mut known = kind.versions.clone();
                let had_types = |version: &str| {
                    let module = kind.module_name();
                    let record = format!("{RECORD}{module}/{}", version_module(version));
                    self.lock.files.contains_key(&record)
                };
                known.retain(|version| api.version(version).is_some() || !had_types(version));
                known
            }
            wanted => wanted.to_vec(),
        };
        let versions = kinds::versions(api, kind, &wanted)?;
        if versions != kind.versions {
            self.config.set_versions(index, versions);
        }
        Ok(())
    }

    /// If a kind gets its first controller, adds the child of the example to `owns`, and the fields that it does not use to `unused`, unless
    /// the config has these keys, so that the project's tests pass.
    fn follow_scaffold(&mut self, index: usize) -> Result<(), Failure> {
        let kind = &self.config.kinds[index];
        let Some(scaffold) = kind.scaffold else {
            return Ok(());
        };
        let path = format!("src/controllers/{}.rs", kind.module_name());
        let is_there =
            self.lock.files.contains_key(&path) || disk::read(&self.root, &path)?.is_some();
        if !is_there {
            let api = &self.apis[index];
            let unused = kinds::unused_fields(api, scaffold, kind.schema);
            let child = (scaffold.example_child)(api);
            self.config.follow_example(index, child, unused);
        }
        Ok(())
    }

    /// The kinds and the named controllers, for an error.
    pub fn names(&self) -> String {
        let config = &self.config;
        let kinds = config.kinds.iter().map(|kind| kind.kind.as_str());
        let controllers = config.controllers.iter().map(|it| it.name.as_str());
        kinds::list(kinds.chain(controllers))
    }

    /// The error about a name that is neither that of a kind nor that of a controller.
    pub fn unknown(&self, name: &str) -> Result<KindError, Failure> {
        let operator = self.operator()?;
        let reconciling: Vec<&str> = operator
            .controllers
            .iter()
            .filter_map(|controller| {
                let ResourceType { kind, group, .. } = &controller.resource;
                let own = controller.name.as_deref()?;
                is_named(name, kind, group).then_some(own)
            })
            .collect();
        Ok(match reconciling.as_slice() {
            [] => KindError::Unknown(name.into(), self.names()),
            names => KindError::NotDefined(name.into(), names.join(", ")),
        })
    }

    /// Whether the CRD is not the one that the project was generated from.
    pub fn is_edited(&self, api: &Api) -> Result<bool, DiskError> {
        let record = disk::read(&self.root, &record(api))?;
        Ok(record.is_some_and(|record| record != api.text))
    }
}

/// The path of the CRD from which the project was last generated.
pub fn record(api: &Api) -> String {
    format!("{CRDS}{}.yaml", api.name())
}

/// The mistakes in a text of `operator.toml`, each with its line.
pub fn mistakes(errors: &[ConfigError], path: &str, text: &str) -> Failure {
    let report = |error: &ConfigError| Report {
        location: error.range(text).map(|it| Location::new(path, 1, text, it)),
        ..error.report()
    };
    Failure::of(errors.iter().map(report).collect())
}
