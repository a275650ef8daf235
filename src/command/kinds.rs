//! Reads the specs that the user names, and turns them into kinds of the state: with their module and scaffold.

use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use indexmap::IndexMap;

use super::{failure::Failure, starter};
use crate::{
    crd::{self, Api, ReadError},
    disk,
    project::{IMAGE_HELP, Kind, Owned},
    rust::module_name,
    scaffold::Scaffold,
    terminal::Terminal,
    types::{self, SchemaMode},
};

/// In place of the path of a definition that is made here.
pub const STARTER: &str = "the new CRD";

/// Which kinds, and what to make of them.
#[derive(Args, Clone, Debug)]
pub struct Chosen {
    /// Only this kind of the input; with --group, the kind of a new CRD
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    #[command(flatten)]
    pub starter: starter::StarterArgs,
    /// The versions to generate Rust types for [default: the storage version]
    #[arg(long, value_delimiter = ',', value_name = "V,...")]
    pub versions: Vec<String>,
    /// The style of the controller
    #[arg(long, value_parser = scaffolds(), default_value = Scaffold::first().name, value_name = "STYLE")]
    pub scaffold: &'static Scaffold,
    /// Generate only types: no controller, and no manifest that installs the CRD
    #[arg(long, conflicts_with_all = ["scaffold", "cleanup"])]
    pub types_only: bool,
    /// Add a `cleanup` function to the reconciler, and a finalizer to its objects
    #[arg(long)]
    pub cleanup: bool,
    /// Where `crd()` of the types gets its schema from [default: derive, or embed for a large schema]
    #[arg(long, value_enum, value_name = "MODE")]
    pub schema: Option<SchemaMode>,
    /// The name of the module, if the one of the kind is already in use
    #[arg(long = "as", value_name = "NAME")]
    pub module: Option<String>,
}

/// The scaffolds by their names.
fn scaffolds() -> impl TypedValueParser<Value = &'static Scaffold> {
    let names =
        Scaffold::all().map(|scaffold| PossibleValue::new(scaffold.name).help(scaffold.about));
    PossibleValuesParser::new(names).try_map(|name| Scaffold::named(&name).ok_or("no scaffold"))
}

/// Why the kinds that were asked for can't be had.
#[derive(Debug, thiserror::Error)]
pub enum KindError {
    #[error("there is no CustomResourceDefinition in {0}")]
    None(String),
    #[error("the kind {0} is not in the input, which has {1}")]
    NotThere(String, String),
    #[error("{kind} has no version `{version}`; it has {known}")]
    Version {
        kind: String,
        version: String,
        known: String,
    },
    #[error("no kind of {0} has a controller, so there is nothing to run")]
    NoController(String),
    #[error("the version `{version}` of {kind} is not served, so no controller can watch it")]
    NotServed { kind: String, version: String },
    #[error("{0} is defined twice in the input: in {1} and in {2}")]
    Twice(String, String, String),
    #[error("the module name `{0}` is already in use by {1}")]
    Taken(String, String),
    #[error("--as applies to one kind, and the input has {0}")]
    ManyNames(usize),
    #[error("operator.toml names the spec {spec} of {kind}, but there is no such file")]
    NoSpec { kind: String, spec: String },
    #[error("{spec} should define {kind}.{group}, as operator.toml says, but it defines {defined}")]
    OtherKind {
        kind: String,
        group: String,
        spec: String,
        defined: String,
    },
    #[error("the project has no kind {0}; it has {1}")]
    Unknown(String, String),
    #[error("{0} is the name of several kinds: {1}")]
    Several(String, String),
    #[error("`{0}` is not a package name")]
    Name(String),
    #[error("{0} is already in the project, and a starter would replace its spec")]
    Starts(String),
    #[error("{0} was edited after the project was generated, and the edits would be lost")]
    SpecEdited(String),
    #[error("{0} contains more than the CRD, and all of it would be replaced")]
    MoreInSpec(String),
    #[error("{0} exists, but no [[kind]] of operator.toml names it; it would be replaced")]
    SpecExists(String),
    #[error(
        "{0} is in the project; --types-only, --cleanup, --schema and --as apply to new kinds only"
    )]
    Present(String),
    #[error("--dry-run, --diff, --check and --format need --out: without it the types are printed")]
    NoOut,
    #[error("{0} is an operator project, which generates its own types")]
    InProject(String),
    #[error("`{0}` is not the name of an image")]
    Image(String),
    #[error("{location}: {kind} {version}: {why}")]
    NoObject {
        location: String,
        kind: String,
        version: String,
        why: String,
    },
    #[error("there is no code `{0}`")]
    Code(String, Option<&'static str>),
    #[error("{0}")]
    Starter(starter::StarterError),
}

impl KindError {
    pub fn help(&self) -> String {
        match self {
            Self::None(_) => "name a file with `kind: CustomResourceDefinition`; without one, `cargo operator init DIR --kind Memcached --group cache.example.com` creates a starter".into(),
            Self::NotThere(..) => "write the kind as in `spec.names.kind`, or KIND.GROUP".into(),
            Self::Version { .. } => "choose one of these".into(),
            Self::NotServed { .. } => "set `served: true` for it, or generate only the types with --types-only".into(),
            Self::Twice(..) => "pass only one of the two".into(),
            Self::Taken(..) => "choose another with --as NAME".into(),
            Self::ManyNames(_) => "add the kinds one after the other, or choose one with --kind".into(),
            Self::NoController(_) => format!(
                "`cargo operator add-crd FILE` adds a kind with one; or set `scaffold = {:?}` of a kind in operator.toml",
                Scaffold::first().name
            ),
            Self::NoSpec { .. } => "restore it, or remove the kind's [[kind]] table from operator.toml".into(),
            Self::OtherKind { .. } => "correct `kind` and `group` in operator.toml, or the spec".into(),
            Self::Unknown(..) | Self::Several(..) => {
                "write KIND, or KIND.GROUP if several kinds have that name".into()
            }
            Self::Name(_) => "use lower-case letters, digits and `-`, beginning with a letter, and no word that Rust or cargo reserves: `--name my-operator`".into(),
            Self::SpecExists(_) => "pass that file to the command, or move it elsewhere".into(),
            Self::Starts(_) => "edit the spec in crds/, then `cargo operator regenerate`".into(),
            Self::SpecEdited(_) => "repeat the edits in the new spec, or run `cargo operator regenerate` first".into(),
            Self::Present(_) => "edit its entry in operator.toml, then `cargo operator regenerate`".into(),
            Self::NoOut => "add `--out DIR`".into(),
            Self::InProject(_) => "add the kinds with `cargo operator add-crd --types-only`, or name another folder".into(),
            Self::MoreInSpec(_) => "move everything else in it, including comments before the document, to another file".into(),
            Self::Image(_) => IMAGE_HELP.into(),
            Self::NoObject { .. } => "fix the schema if it contradicts itself; otherwise write an object by hand, or choose another kind with `--kind`".into(),
            Self::Code(_, None) => "`cargo operator explain` lists all".into(),
            Self::Code(_, Some(nearest)) => format!("the nearest code is `{nearest}`; `cargo operator explain` lists all"),
            Self::Starter(error) => error.help().into(),
        }
    }
}

/// Reads the definitions that `paths` and the options name, or makes a starter.
pub fn specs(paths: &[String], chosen: &Chosen, terminal: &Terminal) -> Result<Vec<Api>, Failure> {
    if paths.is_empty() {
        let text = starter::definition(chosen.kind.as_deref(), &chosen.starter)
            .map_err(KindError::Starter)?;
        return Ok(crd::read(STARTER, &text)?);
    }
    read(paths, chosen.kind.as_deref(), terminal)
}

/// Reads the definitions in `paths`, all or the one that is named. The errors of all files are reported.
pub fn read(
    paths: &[String],
    kind: Option<&str>,
    terminal: &Terminal,
) -> Result<Vec<Api>, Failure> {
    read_each(paths, kind, terminal, Ok)
}

/// As [`read`], and makes something of each definition at once, so that no more than one file's schemas are in memory. The largest file
/// comes first, as what is made of the others adds up meanwhile; the result is in the order of the files.
pub fn read_each<T>(
    paths: &[String],
    kind: Option<&str>,
    terminal: &Terminal,
    mut make: impl FnMut(Api) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    let inputs = disk::inputs(paths)?;
    let mut order: Vec<usize> = (0..inputs.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(inputs[*index].size));
    let mut made: Vec<Vec<T>> = inputs.iter().map(|_| vec![]).collect();
    let mut errors: Vec<(usize, Vec<ReadError>)> = vec![];
    let mut seen: IndexMap<String, (usize, String)> = IndexMap::new();
    for (count, index) in order.into_iter().enumerate() {
        let input = &inputs[index];
        terminal.progress(&format!("reading {}/{}", count + 1, inputs.len()));
        let apis = match crd::read(&input.path, &disk::input(input)?) {
            Ok(apis) if apis.is_empty() && input.named => {
                return Err(KindError::None(input.path.clone()).into());
            }
            Ok(apis) => apis,
            Err(error) => {
                errors.push((index, error));
                continue;
            }
        };
        for api in apis {
            let is_wanted = kind.is_none_or(|kind| is_named(kind, &api.names.kind, &api.group));
            let location = format!("{}:{}", api.source.path, api.source.line);
            let full_name = format!("{}.{}", api.names.kind, api.group);
            if let Some(other) = seen.insert(full_name, (index, location.clone()))
                && is_wanted
            {
                let mut locations = [other, (index, location)];
                locations.sort_by_key(|(index, _)| *index);
                let [(_, first), (_, second)] = locations;
                return Err(KindError::Twice(api.name(), first, second).into());
            }
            if is_wanted && errors.is_empty() {
                made[index].push(make(api)?);
            }
        }
    }
    terminal.end_progress();
    let made: Vec<T> = made.into_iter().flatten().collect();
    match kind {
        _ if !errors.is_empty() => {
            errors.sort_by_key(|(index, _)| *index);
            let errors: Vec<ReadError> =
                errors.into_iter().flat_map(|(_, errors)| errors).collect();
            Err(errors.into())
        }
        _ if seen.is_empty() => Err(KindError::None(paths.join(", ")).into()),
        Some(kind) if made.is_empty() => {
            seen.sort_by(|_, (a, _), _, (b, _)| a.cmp(b));
            let names = list(seen.keys().map(String::as_str));
            Err(KindError::NotThere(kind.into(), names).into())
        }
        _ => Ok(made),
    }
}

/// The state's entry for a new kind; `present` are the kinds that the project has.
pub fn kind(api: &Api, chosen: &Chosen, present: &[Kind]) -> Result<Kind, Failure> {
    let scaffold = (!chosen.types_only).then_some(chosen.scaffold);
    let own = module_name(&api.names.kind);
    let taken = |name: &str| present.iter().find(|kind| kind.module_name() == name);
    let module = match (&chosen.module, taken(&own)) {
        (Some(name), _) => Some(name.clone()),
        (None, None) => None,
        (None, Some(_)) => {
            // the first label of the group, and as many more as tell it from the others
            let labels: Vec<&str> = api.group.split('.').collect();
            let names = (1..=labels.len())
                .map(|count| format!("{own}_{}", module_name(&labels[..count].join("_"))));
            let names: Vec<String> = names.collect();
            names
                .iter()
                .find(|name| taken(name).is_none())
                .or(names.last())
                .cloned()
        }
    };
    if let Some(module) = &module
        && let Some(other) = taken(module)
    {
        return Err(
            KindError::Taken(module.clone(), format!("{}.{}", other.kind, other.group)).into(),
        );
    }
    let mut kind = Kind {
        kind: api.names.kind.clone(),
        group: api.group.clone(),
        spec: format!("crds/{}.yaml", api.name()),
        versions: vec![],
        module,
        scaffold,
        schema: SchemaMode::default(),
        cleanup: chosen.cleanup,
        owns: vec![],
        watches: vec![],
        reads: vec![],
        keeps: vec![],
        sample_fails: None,
        rules: vec![],
    };
    kind.versions = versions(api, &kind, &chosen.versions)?;
    kind.schema = match chosen.schema {
        Some(mode) => mode,
        None => types::mode(kind.versions.iter().filter_map(|name| api.version(name))),
    };
    if let Some(scaffold) = scaffold {
        kind.owns = vec![Owned::new((scaffold.example_child)(api))];
    }
    Ok(kind)
}

/// The versions that get types: those that were asked for, or else the storage version, which a controller must be able to watch.
pub fn versions(api: &Api, kind: &Kind, wanted: &[String]) -> Result<Vec<String>, KindError> {
    let storage = api.storage_version();
    let mut versions = wanted.to_vec();
    if let Some(version) = versions
        .iter()
        .find(|version| api.version(version).is_none())
    {
        return Err(KindError::Version {
            kind: kind.kind.clone(),
            version: version.clone(),
            known: list(api.versions.iter().map(|version| version.name.as_str())),
        });
    }
    if kind.has_controller() && !storage.served {
        return Err(KindError::NotServed {
            kind: kind.kind.clone(),
            version: storage.name.clone(),
        });
    }
    if versions.is_empty() || kind.has_controller() && !versions.contains(&storage.name) {
        versions.push(storage.name.clone());
    }
    Ok(versions)
}

/// The definition of `kind` among those of its spec.
pub fn find(apis: Vec<Api>, kind: &Kind) -> Result<Api, KindError> {
    let name = |api: &Api| format!("{}.{}", api.names.kind, api.group);
    let defined: Vec<String> = apis.iter().map(name).collect();
    apis.into_iter()
        .find(|api| api.names.kind == kind.kind && api.group == kind.group)
        .ok_or_else(|| KindError::OtherKind {
            kind: kind.kind.clone(),
            group: kind.group.clone(),
            spec: kind.spec.clone(),
            defined: list(defined.iter().map(String::as_str)),
        })
}

/// Whether `wanted`, KIND or KIND.GROUP, names the kind.
pub fn is_named(wanted: &str, kind: &str, group: &str) -> bool {
    wanted.eq_ignore_ascii_case(kind) || wanted.eq_ignore_ascii_case(&format!("{kind}.{group}"))
}

pub fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() {
        "none".into()
    } else {
        names.join(", ")
    }
}
