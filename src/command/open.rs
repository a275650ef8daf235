//! Opens the project that a command works on: the state, the lock and the specs, as values.

use std::{collections::BTreeMap, path::PathBuf};

use heck::ToKebabCase;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::{
    failure::Failure,
    kind_error::KindError,
    kinds::{self, Chosen, STARTER, Style, find, is_named},
};
use crate::{
    crd::{self, Api},
    diagnostic::Report,
    disk::{self, DiskError, Guard, RecoveryMode},
    plan::{LOCK, Resolution},
    project::{
        Kind, Lock, NamedController, ResourceType, StateFile, ToolSource, WatchedCache,
        resolve_watched, tool_source,
    },
    render::{RECORD, SPECS},
    rust::{module_name, version_module},
    terminal::Terminal,
};

/// Where the generated CI can install this program from.
pub fn own_source() -> ToolSource {
    let (program, record) = disk::install_record();
    tool_source(record.as_deref(), &program, env!("CARGO_PKG_VERSION"))
}

/// The file name of the state.
pub const STATE: &str = "operator.toml";

/// The arguments that select the project of a command.
#[derive(clap::Args, Clone, Debug)]
pub struct ProjectArgs {
    /// The Cargo.toml or the folder of the project [default: the nearest project in this folder or above it]
    #[arg(long, value_name = "PATH")]
    manifest_path: Option<PathBuf>,
}

/// The folder of a project, locked against other commands, and recovered from an interrupted one.
pub struct LockedProject {
    pub root: PathBuf,
    guard: Guard,
}

impl LockedProject {
    pub fn at(
        args: &ProjectArgs,
        mode: RecoveryMode,
        terminal: &Terminal,
    ) -> Result<Self, Failure> {
        let root = disk::find_project(args.manifest_path.as_deref())?;
        let guard = disk::guard(&root)?;
        super::recover::recover(&root, mode, terminal)?;
        Ok(Self { root, guard })
    }
}

/// A controller to be added.
pub struct NewController<'a> {
    /// The kind, as in `owns`.
    pub kind: &'a str,
    /// Its name; that of the kind, where it is absent.
    pub name: Option<&'a str>,
    /// Whether it watches the metadata of the objects only.
    pub metadata: bool,
    pub cleanup: bool,
}

/// The default name of a controller: that of its kind, such as `replica-set`.
pub fn controller_name(kind: &str) -> String {
    let kind = kind.rsplit('/').next().unwrap_or_default();
    kind.to_kebab_case()
}

/// A project in memory: what is on disk, with the changes that a command makes to the state and the specs.
pub struct OpenProject {
    pub root: PathBuf,
    pub lock: Lock,
    pub state: StateFile,
    /// The texts of the state, the lock and the specs, by path, as they were read.
    pub inputs: BTreeMap<String, String>,
    /// The specs in the order of the state's kinds.
    pub apis: Vec<Api>,
    /// The names of the specs that this command replaces; the files of other specs are not written.
    pub new_specs: Vec<String>,
    /// The files of specs that no kind uses any more.
    pub old_specs: Vec<String>,
    /// The files of such specs that have unrecorded edits and are therefore kept.
    pub kept_specs: Vec<String>,
    /// The user's decisions about edited files.
    pub resolution: Resolution,
    /// Held until the command ends, so that two commands do not work on one project at once.
    pub _guard: Option<Guard>,
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

    /// Reads the project; the errors of all invalid specs are reported.
    pub fn read(
        LockedProject { root, guard }: LockedProject,
        terminal: &Terminal,
    ) -> Result<Self, Failure> {
        terminal.working("reading the project");
        let missing = || DiskError::NoProject(root.display().to_string());
        let text = disk::read(&root, STATE)?.ok_or_else(missing)?;
        let path = disk::shown(&root.join(STATE));
        let failed = |error| Failure::state(&error, &path, &text);
        let state = StateFile::read(&text).map_err(failed)?;
        state
            .check_tool(env!("CARGO_PKG_VERSION"))
            .map_err(failed)?;
        // an error of a spec, at the place where the state names it
        let named = |error: KindError| {
            let (KindError::NoSpec { spec, .. } | KindError::OtherKind { spec, .. }) = &error
            else {
                return error.into();
            };
            let word = format!("{spec:?}");
            let range = text.find(&word).map(|start| start..start + word.len());
            Failure::within(
                Report::error(error.to_string(), error.help()),
                &path,
                &text,
                range,
            )
        };
        let mut inputs = BTreeMap::from([(STATE.to_owned(), text.clone())]);
        let lock = match disk::read(&root, LOCK)? {
            Some(text) => {
                let lock = Lock::read(&text)?;
                inputs.insert(LOCK.to_owned(), text);
                lock
            }
            None => Lock::default(),
        };
        for kind in &state.state.kinds {
            let Some(text) = disk::read(&root, &kind.spec)? else {
                let (kind, spec) = (kind.kind.clone(), kind.spec.clone());
                return Err(named(KindError::NoSpec { kind, spec }));
            };
            inputs.insert(kind.spec.clone(), text);
        }
        let read = |kind: &Kind| -> Result<Api, Failure> {
            let path = disk::shown(&root.join(&kind.spec));
            find(crd::read(&path, &inputs[&kind.spec])?, kind).map_err(named)
        };
        let (mut apis, mut errors) = (vec![], vec![]);
        let read_apis: Vec<_> = state.state.kinds.par_iter().map(read).collect();
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
                state,
                apis,
                new_specs: vec![],
                old_specs: vec![],
                kept_specs: vec![],
                resolution: Resolution::default(),
                _guard: Some(guard),
            })
        } else {
            Err(Failure::of(errors))
        }
    }

    /// Adds kinds. If a kind already exists, its spec is replaced. Returns the number of new kinds.
    pub fn add(&mut self, specs: Vec<Api>, chosen: &Chosen) -> Result<usize, Failure> {
        chosen.check_metadata()?;
        let mut added = 0;
        let new = |api: &Api| !self.apis.iter().any(|known| known.name() == api.name());
        let new = specs.iter().filter(|api| new(api)).count();
        if chosen.module.is_some() && new > 1 {
            return Err(KindError::ManyNames(new).into());
        }
        for api in specs {
            self.new_specs.push(api.name());
            let kinds = &self.state.state.kinds;
            match kinds
                .iter()
                .position(|kind| kind.kind == api.names.kind && kind.group == api.group)
            {
                Some(index) => {
                    let kind = &kinds[index];
                    let spec = &kind.spec;
                    let text = disk::read(&self.root, spec)?.unwrap_or_default();
                    if api.source.path == STARTER {
                        return Err(KindError::Starts(kind.full_name()).into());
                    }
                    if self.is_edited(&self.apis[index])? && self.apis[index].text != api.text {
                        return Err(KindError::SpecEdited(spec.clone()).into());
                    }
                    if crd::holds_more(&text) {
                        return Err(KindError::MoreInSpec(spec.clone()).into());
                    }
                    check_present(kind, chosen)?;
                    self.apis[index] = api;
                    self.follow_versions(index, &chosen.versions)?;
                }
                None => {
                    let kind = kinds::kind(&api, chosen, kinds)?;
                    let present = disk::read(&self.root, &kind.spec)?;
                    let is_ours = kinds.iter().any(|other| other.spec == kind.spec);
                    if !is_ours && present.is_some_and(|present| present != api.text) {
                        return Err(KindError::SpecExists(kind.spec).into());
                    }
                    let version = kind.versions.first().map_or("", String::as_str);
                    let watched = format!("{}/{version}/{}", kind.group, kind.kind);
                    self.state.add_kind(kind);
                    self.apis.push(api);
                    added += 1;
                    if chosen.style() == Style::Existing {
                        self.add_controller(NewController {
                            kind: &watched,
                            name: chosen.module.as_deref(),
                            metadata: chosen.metadata,
                            cleanup: chosen.cleanup,
                        })?;
                    }
                }
            }
        }
        self.state.state.check()?;
        Ok(added)
    }

    /// Adds a controller of a kind that exists without the operator. Returns its name.
    pub fn add_controller(&mut self, new: NewController<'_>) -> Result<String, Failure> {
        let state = &self.state.state;
        let kinds = state.kinds.iter().zip(&self.apis);
        let resource = resolve_watched(new.kind, kinds)?;
        let name = match new.name {
            Some(name) => name.to_owned(),
            None => controller_name(&resource.kind),
        };
        let named = state.controllers.iter().find(|it| it.name == name);
        let own = state
            .kinds
            .iter()
            .find(|kind| kind.has_controller() && kind.module_name() == module_name(&name));
        let taken = named.map(|it| it.kind.clone());
        if let Some(kind) = taken.or(own.map(Kind::full_name)) {
            return Err(KindError::ControllerTaken(name, kind).into());
        }
        self.state.add_controller(NamedController {
            name: name.clone(),
            kind: new.kind.to_owned(),
            cache: new.metadata.then_some(WatchedCache::Metadata),
            cleanup: new.cleanup,
            owns: vec![],
            watches: vec![],
            reads: vec![],
            keeps: vec![],
            sample_fails: None,
            rules: vec![],
        });
        self.state.state.check()?;
        Ok(name)
    }

    /// Whether anything is reconciled.
    pub fn has_controllers(&self) -> bool {
        let state = &self.state.state;
        !state.controllers.is_empty() || state.kinds.iter().any(Kind::has_controller)
    }

    /// Updates the versions of a kind to match its spec: a version that no longer exists is removed, and a new storage version is added.
    pub fn follow_versions(&mut self, index: usize, wanted: &[String]) -> Result<(), Failure> {
        let (kind, api) = (&self.state.state.kinds[index], &self.apis[index]);
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
            self.state.set_versions(index, versions);
        }
        Ok(())
    }

    /// If a kind gets its first controller, and the state names no children, adds the child of the example to `owns`, so that the project's
    /// tests pass.
    pub fn follow_scaffold(&mut self, index: usize) -> Result<(), Failure> {
        let kind = &self.state.state.kinds[index];
        let Some(scaffold) = kind.scaffold else {
            return Ok(());
        };
        let Some(child) = (scaffold.example_child)(&self.apis[index]) else {
            return Ok(());
        };
        let path = format!("src/controllers/{}.rs", kind.module_name());
        let is_there =
            self.lock.files.contains_key(&path) || disk::read(&self.root, &path)?.is_some();
        if !is_there {
            self.state.own_example(index, child);
        }
        Ok(())
    }

    /// The kinds and the named controllers, for an error.
    pub fn names(&self) -> String {
        let state = &self.state.state;
        let kinds = state.kinds.iter().map(|kind| kind.kind.as_str());
        let controllers = state.controllers.iter().map(|it| it.name.as_str());
        kinds::list(kinds.chain(controllers))
    }

    /// The error about a name that is neither that of a kind nor that of a controller.
    pub fn unknown(&self, name: &str) -> Result<KindError, Failure> {
        let project = self.project();
        let controllers = project.controllers()?;
        let reconciling = controllers.iter().filter_map(|controller| {
            let ResourceType { kind, group, .. } = &controller.resource;
            let named = controller.named()?;
            is_named(name, kind, group).then_some(named.name.as_str())
        });
        let reconciling: Vec<&str> = reconciling.collect();
        Ok(match reconciling.as_slice() {
            [] => KindError::Unknown(name.into(), self.names()),
            names => KindError::NotDefined(name.into(), names.join(", ")),
        })
    }

    /// Whether the spec is not the one that the project was generated from.
    fn is_edited(&self, api: &Api) -> Result<bool, DiskError> {
        let record = disk::read(&self.root, &record(api))?;
        Ok(record.is_some_and(|record| record != api.text))
    }

    /// Takes out the controller of this name.
    pub fn remove_controller(&mut self, name: &str) -> Option<NamedController> {
        let mut controllers = self.state.state.controllers.iter();
        let index = controllers.position(|it| it.name == name)?;
        Some(self.state.remove_controller(index))
    }

    /// Removes the one kind that `name` means, and its spec, if the file contains nothing else and no edits that only it has. A name that
    /// differs in case is not enough: it may have been the name of a controller that was already removed.
    pub fn remove(&mut self, name: &str) -> Result<Api, Failure> {
        let kinds = &self.state.state.kinds;
        let named = |(_, kind): &(usize, &Kind)| *name == kind.kind || *name == kind.full_name();
        let matching: Vec<(usize, &Kind)> = kinds.iter().enumerate().filter(named).collect();
        let index = match matching.as_slice() {
            [(index, _)] => *index,
            [] => {
                let mut kinds = kinds.iter();
                let near = kinds.find(|kind| is_named(name, &kind.kind, &kind.group));
                return Err(match near {
                    Some(kind) => KindError::OtherCase(name.into(), kind.full_name()),
                    None => self.unknown(name)?,
                }
                .into());
            }
            several => {
                let known: Vec<String> = several.iter().map(|(_, kind)| kind.full_name()).collect();
                let known = known.join(", ");
                return Err(KindError::Several(name.into(), known).into());
            }
        };
        let kind = &kinds[index];
        let mut controllers = self.state.state.controllers.iter();
        let is_of = |controller: &&NamedController| {
            let mut parts = controller.kind.split('/');
            parts.next() == Some(&kind.group) && parts.next_back() == Some(&kind.kind)
        };
        if let Some(controller) = controllers.find(is_of) {
            let name = controller.name.clone();
            return Err(KindError::Reconciled(kind.full_name(), name).into());
        }
        let spec = self.state.remove_kind(index).spec;
        let is_shared = self.state.state.kinds.iter().any(|kind| kind.spec == spec);
        let text = disk::read(&self.root, &spec)?.unwrap_or_default();
        let api = &self.apis[index];
        let is_recorded = disk::read(&self.root, &record(api))?.is_some();
        let is_uncommitted = !disk::uncommitted(&self.root, [spec.as_str()].into_iter()).is_empty();
        let is_edited = !is_recorded || is_uncommitted || self.is_edited(api)?;
        if !is_shared && !is_edited && !crd::holds_more(&text) {
            self.old_specs.push(spec);
        } else if !is_shared {
            self.kept_specs.push(spec);
        }
        Ok(self.apis.remove(index))
    }
}

/// The path of the spec from which the project was last generated.
fn record(api: &Api) -> String {
    format!("{SPECS}{}.yaml", api.name())
}

/// Rejects options that change a kind of the project, because `add-crd` replaces only its spec.
fn check_present(kind: &Kind, chosen: &Chosen) -> Result<(), KindError> {
    let name = kind.full_name();
    match (chosen.scaffold, kind.scaffold) {
        (Some(Style::Existing), None) => {
            let version = kind.versions.first().map_or("", String::as_str);
            let name = format!("{}/{version}/{}", kind.group, kind.kind);
            return Err(KindError::Typed(name));
        }
        (Some(Style::Own(wanted)), None) => return Err(KindError::TypesOnly(name, wanted.name)),
        (Some(style), Some(scaffold)) if style != Style::Own(scaffold) => {
            return Err(KindError::OtherStyle {
                kind: name,
                scaffold: scaffold.name,
                wanted: style.name(),
                controller: format!("src/controllers/{}.rs", kind.module_name()),
            });
        }
        _ => {}
    }
    let mut passed = chosen.passed();
    passed.retain(|option| !["--scaffold", "--versions"].contains(option));
    match passed.is_empty() {
        true => Ok(()),
        false => Err(KindError::Present(name, passed.join(", "))),
    }
}
