//! Reads the CRDs that the user names, and turns them into kinds of the config: with their module and scaffold.

use clap::{
    Args, ValueEnum,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use indexmap::IndexMap;

use super::{kind_error::KindError, starter};
use crate::{
    config::{Kind, Owned},
    crd::{self, Api, ReadError},
    diagnostic::Failure,
    disk, render,
    rust::module_name,
    scaffold::{EXISTING, EXISTING_ABOUT, Scaffold},
    terminal::Terminal,
    types::{self, SchemaMode},
};

/// The source that is shown for a starter CRD, instead of a path.
pub const STARTER: &str = "the new CRD";

/// The options that select kinds and their scaffold.
#[derive(Args, Clone, Debug)]
pub struct KindArgs {
    /// Only this kind of the input; with --group, the kind of a new CRD
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    #[command(flatten)]
    pub starter: starter::StarterArgs,
    /// The versions to generate Rust types for [default: the storage version]
    #[arg(long, value_delimiter = ',', value_name = "V,...")]
    pub versions: Vec<String>,
    /// The style of the controller [default: reconciler]
    #[arg(long, value_parser = styles(), value_name = "STYLE")]
    pub scaffold: Option<ScaffoldArg>,
    /// Generate only types: no controller, and no manifest that installs the CRD
    #[arg(long, conflicts_with_all = ["scaffold", "cleanup"])]
    pub types_only: bool,
    /// Add a finalizer to the objects, and a method for objects that are being deleted to the controller
    #[arg(long)]
    pub cleanup: bool,
    /// With the style controller: what it is given of each object [default: metadata of a built-in kind, objects of the kind of a CRD]
    #[arg(long, value_enum, value_name = "PART")]
    pub cache: Option<Cache>,
    /// Where `crd()` of the types gets its schema from [default: derive, or embed for a large schema]
    #[arg(long, value_enum, value_name = "MODE")]
    pub schema: Option<SchemaMode>,
    /// The name of the module, if the one of the kind is already in use; with the style controller, the name of the controller
    #[arg(long = "as", value_name = "NAME")]
    pub module: Option<String>,
}

impl KindArgs {
    /// The chosen style, or the default one.
    pub fn style(&self) -> ScaffoldArg {
        self.scaffold.unwrap_or(ScaffoldArg::Own(Scaffold::first()))
    }

    /// Rejects `--cache` for the controllers of the CRDs, if their kinds are the operator's own.
    pub fn check_cache(&self) -> Result<(), KindError> {
        if self.cache.is_some() && self.style() != ScaffoldArg::Existing {
            Err(KindError::Cache)
        } else {
            Ok(())
        }
    }

    /// The options that apply to a kind, and were passed.
    pub fn passed(&self) -> Vec<&'static str> {
        let options = [
            ("--versions", !self.versions.is_empty()),
            ("--scaffold", self.scaffold.is_some()),
            ("--types-only", self.types_only),
            ("--cleanup", self.cleanup),
            ("--cache", self.cache.is_some()),
            ("--schema", self.schema.is_some()),
            ("--as", self.module.is_some()),
        ];
        let passed = options.into_iter().filter(|(_, is_passed)| *is_passed);
        passed.map(|(name, _)| name).collect()
    }
}

/// The part of each object that a controller of the style `controller` watches and caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Cache {
    /// Names, labels, annotations and the like
    Metadata,
    /// Whole objects
    Objects,
}

/// The style of a controller, as it is chosen on the command line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScaffoldArg {
    /// The style of the controller of a kind that the operator owns.
    Own(&'static Scaffold),
    /// A controller with a name, of a kind whose CRD something else installs.
    Existing,
}

impl ScaffoldArg {
    pub fn name(self) -> &'static str {
        match self {
            Self::Own(scaffold) => scaffold.name,
            Self::Existing => EXISTING,
        }
    }
}

/// The styles by their names.
fn styles() -> impl TypedValueParser<Value = ScaffoldArg> {
    let names = Scaffold::all()
        .map(|scaffold| (scaffold.name, scaffold.about))
        .chain([(EXISTING, EXISTING_ABOUT)])
        .map(|(name, about)| PossibleValue::new(name).help(about));
    PossibleValuesParser::new(names).try_map(|name| match name.as_str() {
        EXISTING => Ok(ScaffoldArg::Existing),
        name => Scaffold::named(name)
            .map(ScaffoldArg::Own)
            .ok_or("no scaffold"),
    })
}

/// Reads the CRDs that `paths` and the options select, or creates a starter CRD.
pub fn crds(paths: &[String], chosen: &KindArgs, terminal: &Terminal) -> Result<Vec<Api>, Failure> {
    if paths.is_empty() {
        let text = starter::definition(chosen.kind.as_deref(), &chosen.starter)?;
        return Ok(crd::read(STARTER, &text)?);
    }
    read_each(paths, chosen.kind.as_deref(), terminal, |api| {
        Ok(api.without_server_fields())
    })
}

/// Reads all CRDs in `paths`, or only the selected one. The errors of all files are reported. Each CRD is converted immediately, so that
/// the schemas of only one file can be in memory. The largest file is read first, while few results are in memory; the results are in the
/// order of the files.
pub fn read_each<T>(
    paths: &[String],
    kind: Option<&str>,
    terminal: &Terminal,
    mut make: impl FnMut(Api) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    let inputs = disk::inputs(paths)?;
    let mut order: Vec<usize> = (0..inputs.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(inputs[*index].size));
    let mut results: Vec<Vec<T>> = inputs.iter().map(|_| vec![]).collect();
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
                results[index].push(make(api)?);
            }
        }
    }
    terminal.end_progress();
    let results: Vec<T> = results.into_iter().flatten().collect();
    match kind {
        _ if !errors.is_empty() => {
            errors.sort_by_key(|(index, _)| *index);
            let errors: Vec<ReadError> =
                errors.into_iter().flat_map(|(_, errors)| errors).collect();
            Err(errors.into())
        }
        _ if seen.is_empty() => Err(KindError::None(paths.join(", ")).into()),
        Some(kind) if results.is_empty() => {
            seen.sort_by(|_, (a, _), _, (b, _)| a.cmp(b));
            let names = list(seen.keys().map(String::as_str));
            Err(KindError::NotThere(kind.into(), names).into())
        }
        _ => Ok(results),
    }
}

/// The table in `operator.toml` of a new kind; `present` are the kinds that the project has.
pub fn kind(api: &Api, chosen: &KindArgs, present: &[Kind]) -> Result<Kind, Failure> {
    let scaffold = match chosen.style() {
        ScaffoldArg::Own(scaffold) => Some(scaffold).filter(|_| !chosen.types_only),
        ScaffoldArg::Existing => None,
    };
    let own = module_name(&api.names.kind);
    let taken = |name: &str| present.iter().find(|kind| kind.module_name() == name);
    let named = chosen
        .module
        .as_ref()
        .filter(|_| chosen.style() != ScaffoldArg::Existing);
    let module = match (named, taken(&own)) {
        (Some(name), _) => Some(name.clone()),
        (None, None) => None,
        (None, Some(_)) => {
            // the first label of the group, and as many more as make the name unique
            let labels: Vec<&str> = api.group.split('.').collect();
            let names: Vec<String> = (1..=labels.len())
                .map(|count| format!("{own}_{}", module_name(&labels[..count].join("_"))))
                .collect();
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
        crd: format!("crds/{}.yaml", api.name()),
        module,
        scaffold,
        cleanup: chosen.cleanup && scaffold.is_some(),
        ..Kind::default()
    };
    kind.versions = match chosen.style() {
        ScaffoldArg::Existing if chosen.versions.is_empty() => {
            vec![watched_version(api).to_owned()]
        }
        _ => versions(api, &kind, &chosen.versions)?,
    };
    kind.schema = match chosen.schema {
        Some(mode) => mode,
        None => types::mode(kind.versions.iter().filter_map(|name| api.version(name))),
    };
    if let Some(scaffold) = scaffold {
        kind.owns = (scaffold.example_child)(api)
            .map(Owned::new)
            .into_iter()
            .collect();
        kind.unused = unused_fields(api, scaffold, kind.schema);
    }
    Ok(kind)
}

/// The fields of the generated sample that the example of the scaffold does not use.
pub fn unused_fields(api: &Api, scaffold: &Scaffold, mode: SchemaMode) -> Vec<String> {
    let storage = api.storage_version();
    let facts = types::module(api, storage, mode).facts;
    render::sample(api, storage)
        .map(|sample| (scaffold.unused_fields)(api, &facts, &sample))
        .unwrap_or_default()
}

/// The version in which a controller watches a kind that something else installs: the storage version, if it is served.
fn watched_version(api: &Api) -> &str {
    let storage = api.storage_version();
    let served = api.versions.iter().find(|version| version.served);
    match (storage.served, served) {
        (false, Some(served)) => &served.name,
        _ => &storage.name,
    }
}

/// An error at a place in a CRD.
pub fn at(api: &Api, pointer: &str, error: &KindError) -> Failure {
    Failure::at(api.locations(&[pointer]).pop(), error)
}

/// The versions that get types: the requested ones, or else the storage version, which a controller must be able to watch.
pub fn versions(api: &Api, kind: &Kind, wanted: &[String]) -> Result<Vec<String>, Failure> {
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
        }
        .into());
    }
    if kind.has_controller() && !storage.served {
        let error = KindError::NotServed {
            kind: kind.kind.clone(),
            version: storage.name.clone(),
        };
        let pointer = format!("/spec/versions/{}/served", storage.index);
        return Err(at(api, &pointer, &error));
    }
    if versions.is_empty() || kind.has_controller() && !versions.contains(&storage.name) {
        versions.push(storage.name.clone());
    }
    Ok(versions)
}

/// The CRD of `kind`, among those in its file.
pub fn find(apis: Vec<Api>, kind: &Kind) -> Result<Api, KindError> {
    let name = |api: &Api| format!("{}.{}", api.names.kind, api.group);
    let defined: Vec<String> = apis.iter().map(name).collect();
    apis.into_iter()
        .find(|api| api.names.kind == kind.kind && api.group == kind.group)
        .ok_or_else(|| KindError::OtherKind {
            kind: kind.kind.clone(),
            group: kind.group.clone(),
            crd: kind.crd.clone(),
            defined: list(defined.iter().map(String::as_str)),
        })
}

/// Whether `wanted`, KIND or KIND.GROUP, names the kind.
pub fn is_named(wanted: &str, kind: &str, group: &str) -> bool {
    wanted.eq_ignore_ascii_case(kind) || wanted.eq_ignore_ascii_case(&format!("{kind}.{group}"))
}

/// Formats names for a message.
pub fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() {
        "none".into()
    } else {
        names.join(", ")
    }
}
