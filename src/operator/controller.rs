//! The controllers of an operator, whichever table of `operator.toml` describes them: one for each kind that has a scaffold, and those that
//! have a name.

use super::{DefinedKind, KindId, ResourceType, resource::watched};
use crate::{
    config::{
        Config, ConfigError, Kind, NamedController, Owned, OwnedCache, Place, Read, Rule, Update,
        WatchedCache,
    },
    crd::{Api, Scope},
    rust::version_module,
    scaffold::{ExistingScaffold, Scaffold},
};

/// The verbs on the kinds of `watches`. A watch transfers only metadata; whole objects are read with the verbs of `reads`.
pub const WATCHED: &[&str] = &["list", "watch"];

/// A controller: what is reconciled, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Controller {
    /// The name, if a `[[controller]]` describes it. The controller of a `[[kind]]` has no name.
    pub name: Option<String>,
    /// The module of its file.
    pub module: String,
    /// The kind that it reconciles, in the version that it watches.
    pub resource: ResourceType,
    /// The same kind, if the project defines it.
    pub kind: Option<KindId>,
    /// The module of the kind's types in `src/api/`, if the project defines the kind.
    pub api_module: Option<String>,
    pub scaffold: &'static Scaffold,
    /// The scaffold as a `[[controller]]` names it.
    pub existing: Option<ExistingScaffold>,
    pub cleanup: bool,
    /// Whether its cache has only the metadata of the objects.
    pub watches_metadata: bool,
    /// Whether it writes the status subresource.
    pub has_status: bool,
    /// Whether the status is written to the object, because the kind has no status subresource.
    pub has_status_in_object: bool,
    pub owns: Vec<Child>,
    pub watches: Vec<Related>,
    pub reads: Vec<Related>,
    /// The kinds whose objects may remain after a deletion.
    pub keeps: Vec<Related>,
    pub sample_fails: Option<String>,
    /// The files of further samples.
    pub samples: Vec<String>,
    /// The fields that it does not use, such as `spec.contact`.
    pub unused_fields: Vec<String>,
    /// The permissions in addition to those that follow from the lists above.
    pub rules: Vec<Rule>,
}

/// A kind that a controller names beside the one that it reconciles.
#[derive(Clone, Debug, PartialEq)]
pub struct Related {
    /// The kind as it is written in `operator.toml`.
    pub entry: String,
    pub resource: ResourceType,
    /// The verbs that its objects need.
    pub verbs: Vec<&'static str>,
}

/// A kind of children.
#[derive(Clone, Debug, PartialEq)]
pub struct Child {
    pub related: Related,
    pub cache: Option<OwnedCache>,
    pub update: Update,
}

impl Controller {
    /// Whether a `[[kind]]` describes the controller, so that the operator owns the kind, too.
    pub fn is_own(&self) -> bool {
        self.name.is_none()
    }

    /// The name in reports: its own, or `KIND.GROUP`.
    pub fn subject(&self) -> String {
        self.name
            .clone()
            .unwrap_or_else(|| format!("{}.{}", self.resource.kind, self.resource.group))
    }

    /// `src/controllers/<module>.rs`.
    pub fn path(&self) -> String {
        format!("src/controllers/{}.rs", self.module)
    }

    /// The finalizer that the runtime uses for this controller in an operator of this name.
    pub fn finalizer(&self, operator: &str) -> String {
        match &self.name {
            None => format!("{}/{operator}", self.resource.group),
            Some(name) => format!("{operator}/{name}"),
        }
    }

    /// The kinds whose objects it requests, each with the key that lists the kind. The permissions of the operator, the requirements of the
    /// OLM bundle, and the checks of the generated tests follow from these kinds.
    pub fn requested(&self) -> impl Iterator<Item = (&'static str, &Related)> {
        let children = self.owns.iter().map(|child| ("owns", &child.related));
        let watched = self.watches.iter().map(|watched| ("watches", watched));
        let read = self.reads.iter().map(|read| ("reads", read));
        children.chain(watched).chain(read)
    }

    pub fn scope(&self) -> Scope {
        if self.resource.namespaced {
            Scope::Namespaced
        } else {
            Scope::Cluster
        }
    }

    /// The path of the kind's type in the operator's crate.
    pub fn type_path(&self) -> String {
        type_path(self.api_module.as_deref(), &self.resource)
    }
}

/// The module of the types of a kind in `src/api/`.
pub(super) fn api_module(kind: &Kind, version: &str) -> String {
    format!("{}::{}", kind.module_name(), version_module(version))
}

/// The path of a kind's type in the operator's crate.
pub(super) fn type_path(api_module: Option<&str>, resource: &ResourceType) -> String {
    match (api_module, resource.k8s_openapi_path()) {
        (None, Some(path)) => path,
        (module, _) => {
            let module = module.unwrap_or_default();
            format!("crate::api::{module}::{}", resource.kind)
        }
    }
}

/// Resolves all controllers: first those of the kinds, in the order of the kinds, then those with a name.
pub(super) fn all(
    config: &Config,
    kinds: &[DefinedKind<'_>],
    crds: &[Api],
    errors: &mut Vec<ConfigError>,
) -> Vec<Controller> {
    let mut controllers = vec![];
    for kind in kinds {
        if let Some(scaffold) = kind.table.scaffold {
            let mut related = Resolver {
                table: kind.id.place(),
                crds,
                errors,
            };
            controllers.push(of_kind(kind, scaffold, &mut related));
        }
    }
    for (index, named) in config.controllers.iter().enumerate() {
        let table = Place::of("controller").then(index);
        let definitions = kinds.iter().map(|kind| (kind.table, kind.crd));
        let resource = watched(&named.kind, definitions);
        let resource = resource.map_err(|error| error.at(table.clone().then("kind")));
        let mut related = Resolver {
            table,
            crds,
            errors,
        };
        let lists = related.lists(
            &named.owns,
            &named.watches,
            &named.reads,
            &named.keeps,
            false,
        );
        match resource {
            Ok(resource) => controllers.push(of_name(named, resource, kinds, lists)),
            Err(error) => errors.push(error),
        }
    }
    controllers
}

/// The controller of a `[[kind]]`, which reconciles the storage version.
fn of_kind(
    kind: &DefinedKind<'_>,
    scaffold: &'static Scaffold,
    related: &mut Resolver<'_>,
) -> Controller {
    let DefinedKind { id, table, crd, .. } = kind;
    let storage = crd.storage_version();
    let lists = related.lists(
        &table.owns,
        &table.watches,
        &table.reads,
        &table.keeps,
        scaffold.prunes,
    );
    Controller {
        name: None,
        module: table.module_name(),
        resource: ResourceType::of(crd, &storage.name),
        kind: Some(*id),
        api_module: Some(api_module(table, &storage.name)),
        scaffold,
        existing: None,
        cleanup: table.cleanup,
        watches_metadata: false,
        has_status: storage.status_subresource && table.versions.contains(&storage.name),
        has_status_in_object: !storage.status_subresource
            && storage.schema.properties.contains_key("status")
            && table.versions.contains(&storage.name),
        owns: lists.owns,
        watches: lists.watches,
        reads: lists.reads,
        keeps: lists.keeps,
        sample_fails: table.sample_fails.clone(),
        samples: table.samples.clone(),
        unused_fields: table.unused.clone(),
        rules: table.rules.clone(),
    }
}

/// The controller of a `[[controller]]`, which reconciles the version that its table names.
fn of_name(
    named: &NamedController,
    resource: ResourceType,
    kinds: &[DefinedKind<'_>],
    lists: Lists,
) -> Controller {
    let kind = kinds
        .iter()
        .find(|it| it.table.group == resource.group && it.table.kind == resource.kind);
    Controller {
        name: Some(named.name.clone()),
        module: named.module_name(),
        kind: kind.map(|kind| kind.id),
        api_module: kind.map(|kind| api_module(kind.table, &resource.version)),
        resource,
        scaffold: named.scaffold.own(),
        existing: Some(named.scaffold),
        cleanup: named.cleanup,
        watches_metadata: named.cache == Some(WatchedCache::Metadata),
        has_status: false,
        has_status_in_object: false,
        owns: lists.owns,
        watches: lists.watches,
        reads: lists.reads,
        keeps: lists.keeps,
        sample_fails: named.sample_fails.clone(),
        samples: named.samples.clone(),
        unused_fields: vec![],
        rules: named.rules.clone(),
    }
}

/// The lists of kinds in the table of a controller.
struct Lists {
    owns: Vec<Child>,
    watches: Vec<Related>,
    reads: Vec<Related>,
    keeps: Vec<Related>,
}

/// Resolves the kinds that one table names.
struct Resolver<'a> {
    table: Place,
    crds: &'a [Api],
    errors: &'a mut Vec<ConfigError>,
}

impl Resolver<'_> {
    /// Resolves all lists of a table. If the scaffold `prunes` children, the operator may delete them.
    fn lists(
        &mut self,
        owns: &[Owned],
        watches: &[String],
        reads: &[Read],
        keeps: &[String],
        prunes: bool,
    ) -> Lists {
        let child = |owned: &Owned| {
            let mut verbs = owned.update.verbs().to_vec();
            if prunes && !verbs.contains(&"delete") {
                verbs.push("delete");
            }
            (owned.kind.clone(), verbs)
        };
        let read = |read: &Read| {
            let verbs = read.verbs.iter().map(|verb| verb.name()).collect();
            (read.kind.clone(), verbs)
        };
        Lists {
            owns: self
                .related("owns", owns.iter().map(child))
                .into_iter()
                .zip(owns)
                .map(|(related, owned)| Child {
                    related,
                    cache: owned.cache,
                    update: owned.update,
                })
                .collect(),
            watches: self.plain("watches", watches, WATCHED),
            reads: self.related("reads", reads.iter().map(read)),
            keeps: self.plain("keeps", keeps, &[]),
        }
    }

    /// Resolves the kinds of a list without options, all with the same verbs.
    fn plain(&mut self, key: &str, names: &[String], verbs: &[&'static str]) -> Vec<Related> {
        self.related(key, names.iter().map(|name| (name.clone(), verbs.to_vec())))
    }

    /// Resolves the kinds of a list, and reports those that are not found.
    fn related(
        &mut self,
        key: &str,
        entries: impl Iterator<Item = (String, Vec<&'static str>)>,
    ) -> Vec<Related> {
        let mut found = vec![];
        for (index, (entry, verbs)) in entries.enumerate() {
            match ResourceType::named(&entry, self.crds) {
                Ok(resource) => found.push(Related {
                    entry,
                    resource,
                    verbs,
                }),
                Err(error) => {
                    let place = self.table.clone().then(key).then(index);
                    self.errors.push(error.at(place));
                }
            }
        }
        found
    }
}
