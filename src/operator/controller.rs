//! The controllers of a project, whichever table of `operator.toml` describes them: one for each kind that has a scaffold, and those that have
//! a name.

use super::{
    Project, ResourceError, ResourceType,
    resource::{builtin_kinds, resolve, resolve_watched},
};
use crate::config::Kind;
use crate::config::NamedController;
use crate::config::Owned;
use crate::config::Read;
use crate::config::Rule;
use crate::config::WatchedCache;
use crate::{
    crd::{Api, Scope},
    rust::version_module,
    scaffold::Scaffold,
};

/// A controller: what is reconciled, and how.
#[derive(Clone, Debug)]
pub struct Controller<'a> {
    /// Whose table it has.
    pub table: Table<'a>,
    /// The module of its file.
    pub module: String,
    /// The kind that it reconciles, in the version that it watches.
    pub resource: ResourceType,
    /// Where the project defines that kind.
    pub definition: Option<(&'a Kind, &'a Api)>,
    pub scaffold: &'static Scaffold,
    pub cleanup: bool,
    pub owns: &'a [Owned],
    pub watches: &'a [String],
    pub reads: &'a [Read],
    pub keeps: &'a [String],
    pub sample_fails: Option<&'a str>,
    pub rules: &'a [Rule],
}

/// The table of a controller in `operator.toml`.
#[derive(Clone, Copy, Debug)]
pub enum Table<'a> {
    /// `[[kind]]`: the kind is the operator's own.
    Kind(&'a Kind),
    /// `[[controller]]`.
    Controller(&'a NamedController),
}

impl<'a> Controller<'a> {
    /// That of a `[[controller]]` table.
    pub fn named(&self) -> Option<&'a NamedController> {
        match self.table {
            Table::Kind(_) => None,
            Table::Controller(named) => Some(named),
        }
    }

    /// What reports call it: its name, or `KIND.GROUP`.
    pub fn subject(&self) -> String {
        match self.table {
            Table::Kind(kind) => kind.full_name(),
            Table::Controller(named) => named.name.clone(),
        }
    }

    /// `src/controllers/<module>.rs`.
    pub fn path(&self) -> String {
        format!("src/controllers/{}.rs", self.module)
    }

    /// The finalizer that the runtime takes for its own, for an operator of this name.
    pub fn finalizer(&self, operator: &str) -> String {
        match self.table {
            Table::Kind(kind) => format!("{}/{operator}", kind.group),
            Table::Controller(named) => format!("{operator}/{}", named.name),
        }
    }

    /// Whether its cache has only the metadata of the objects.
    pub fn watches_metadata(&self) -> bool {
        let named = self.named();
        named.is_some_and(|named| named.cache == Some(WatchedCache::Metadata))
    }

    pub fn scope(&self) -> Scope {
        if self.resource.namespaced {
            Scope::Namespaced
        } else {
            Scope::Cluster
        }
    }

    /// The module and the name of the kind's type, if the project does not define the kind.
    pub fn foreign_type(&self) -> Option<(String, String)> {
        self.resource.foreign_type()
    }

    /// The path of the kind's type in the operator's crate.
    pub fn type_path(&self) -> String {
        type_path(self.definition, &self.resource)
    }

    /// The module of the kind's types in `src/api/`, if the project defines the kind.
    pub fn api_module(&self) -> Option<String> {
        api_module(self.definition, &self.resource)
    }
}

/// The module of a kind's types in `src/api/`, if the project defines the kind.
pub(super) fn api_module(
    definition: Option<(&Kind, &Api)>,
    resource: &ResourceType,
) -> Option<String> {
    let (kind, _) = definition?;
    let version = version_module(&resource.version);
    Some(format!("{}::{version}", kind.module_name()))
}

/// The path of a kind's type in the operator's crate.
pub(super) fn type_path(definition: Option<(&Kind, &Api)>, resource: &ResourceType) -> String {
    match (
        api_module(definition, resource),
        resource.k8s_openapi_path(),
    ) {
        (None, Some(path)) => path,
        (module, _) => {
            let module = module.unwrap_or_default();
            format!("crate::api::{module}::{}", resource.kind)
        }
    }
}

impl Project {
    /// All controllers: those of the kinds, in their order, then those with a name.
    pub fn controllers(&self) -> Result<Vec<Controller<'_>>, ResourceError> {
        let of_kinds = self.kinds().filter_map(|(kind, api)| {
            let scaffold = kind.scaffold?;
            Some(Ok(of_kind(kind, api, scaffold)))
        });
        let named = self
            .config
            .controllers
            .iter()
            .map(|named| self.named(named));
        of_kinds.chain(named).collect()
    }

    /// The kind of a Rust type, by the path of the type: one of `src/api/`, or a built-in kind.
    pub fn kind_of_type(&self, path: &[String]) -> Option<ResourceType> {
        if let [_, api, module, version, _] = path
            && api == "api"
            && path[0] != "k8s_openapi"
        {
            let (kind, api) = self
                .kinds()
                .find(|(kind, _)| kind.module_name() == *module)?;
            let version = api
                .versions
                .iter()
                .find(|it| version_module(&it.name) == *version)?;
            let name = format!("{}/{}/{}", kind.group, version.name, kind.kind);
            return resolve(&name, std::slice::from_ref(api)).ok();
        }
        let path = path.join("::");
        builtin_kinds()
            .filter_map(|name| resolve(&name, &[]).ok())
            .find(|resource| resource.k8s_openapi_path().as_ref() == Some(&path))
    }

    fn named<'a>(&'a self, named: &'a NamedController) -> Result<Controller<'a>, ResourceError> {
        let resource = resolve_watched(&named.kind, self.kinds())?;
        let definition = self
            .kinds()
            .find(|(kind, _)| kind.group == resource.group && kind.kind == resource.kind);
        Ok(Controller {
            table: Table::Controller(named),
            module: named.module_name(),
            resource,
            definition,
            scaffold: Scaffold::first(),
            cleanup: named.cleanup,
            owns: &named.owns,
            watches: &named.watches,
            reads: &named.reads,
            keeps: &named.keeps,
            sample_fails: named.sample_fails.as_deref(),
            rules: &named.rules,
        })
    }
}

fn of_kind<'a>(kind: &'a Kind, api: &'a Api, scaffold: &'static Scaffold) -> Controller<'a> {
    Controller {
        table: Table::Kind(kind),
        module: kind.module_name(),
        resource: ResourceType::of(api, &api.storage_version().name),
        definition: Some((kind, api)),
        scaffold,
        cleanup: kind.cleanup,
        owns: &kind.owns,
        watches: &kind.watches,
        reads: &kind.reads,
        keeps: &kind.keeps,
        sample_fails: kind.sample_fails.as_deref(),
        rules: &kind.rules,
    }
}
