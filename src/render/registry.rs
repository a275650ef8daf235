//! `src/controllers/mod.rs`: the kinds that each controller watches, according to `operator.toml`.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::{
    chain::{Argument, Call, Chain, chain},
    generated_test::Typed,
    layout::{ensured_crds, migrated_crds},
};
use crate::{
    crd::Api,
    project::{Controller, OwnedCache, Project, ResourceError, ResourceType, Update, resolve},
    rust::version_module,
    rustfmt::{import, literal, skip},
};

/// The kinds that a controller declares.
pub struct Watched {
    /// The owned kinds, with their verbs.
    pub owns: Vec<(ResourceType, Vec<&'static str>)>,
    pub watches: Vec<ResourceType>,
    /// The kinds that are read, with their verbs.
    pub reads: Vec<(ResourceType, Vec<&'static str>)>,
    /// The kinds whose objects may remain after a deletion.
    pub keeps: Vec<ResourceType>,
}

impl Watched {
    pub fn of(controller: &Controller<'_>, apis: &[Api]) -> Result<Self, ResourceError> {
        let all = |names: &[String]| {
            names
                .iter()
                .map(|name| resolve(name, apis))
                .collect::<Result<Vec<_>, _>>()
        };
        let reads = controller.reads.iter().map(|read| {
            let verbs = read.verbs.iter().map(|verb| verb.name());
            Ok((resolve(&read.kind, apis)?, verbs.collect()))
        });
        let prunes = controller.scaffold.prunes;
        let owns = controller.owns.iter().map(|owned| {
            let mut verbs = owned.update.verbs().to_vec();
            if prunes && !verbs.contains(&"delete") {
                verbs.push("delete");
            }
            Ok((resolve(&owned.kind, apis)?, verbs))
        });
        Ok(Self {
            owns: owns.collect::<Result<_, _>>()?,
            watches: all(controller.watches)?,
            reads: reads.collect::<Result<_, _>>()?,
            keeps: all(controller.keeps)?,
        })
    }
}

/// The parts of the registry.
#[derive(Serialize)]
pub struct Registry {
    /// The imports from k8s-openapi.
    foreign_imports: String,
    runtime_import: String,
    /// The imports of the project's own types, after a blank line.
    own_imports: String,
    /// The function with all controllers.
    all: String,
}

/// The registry of a project; `typed` are the project's types:
///
/// ```text
/// pub fn all() -> Controllers {
///     Controllers::new()
///         .add(memcached::setup, |watches| watches.owns::<Deployment>())
///         .add_named("pod-printer", pod_printer::setup, |watches| watches)
/// }
/// ```
pub fn registry<'a>(
    project: &Project,
    typed: impl Iterator<Item = &'a Typed>,
) -> Result<Registry, ResourceError> {
    let mut types = Types::of(project, typed);
    let mut adds = vec![];
    let mut has_strategy = false;
    for controller in project.controllers()? {
        let watched = Watched::of(&controller, &project.apis)?;
        let owns = watched.owns.iter().zip(controller.owns);
        let owns = owns.flat_map(|((resource, _), owned)| {
            let method = match owned.cache {
                None => "owns",
                Some(OwnedCache::Content) => "owns_with_content",
            };
            let update = Some(owned.update).filter(|it| *it != Update::default());
            [Some(types.call(method, resource)), update.map(self::update)]
        });
        let owns: Vec<Call> = owns.flatten().collect();
        let watches = watched.watches.iter();
        let watches = watches.map(|resource| types.call("watches", resource));
        let calls: Vec<Call> = owns.into_iter().chain(watches).collect();
        let mut owns = controller.owns.iter();
        has_strategy |= owns.any(|owned| owned.update != Update::default());
        adds.push(add(&controller, calls));
    }
    let controllers = chain(&Chain {
        root: "Controllers::new()".into(),
        calls: adds,
    });
    let function = |name: &str, chain: &str| {
        let text = format!("{name}() -> Controllers {{\n{chain}}}\n");
        format!("{}{text}", skip(&text))
    };
    let more = Chain {
        root: "controllers()".into(),
        calls: more(project),
    };
    let all = match more.calls.is_empty() {
        true => format!("{ALL}{}", function("pub fn all", &controllers)),
        false => format!(
            "{}{}\n{}",
            documentation(project),
            function("pub fn all", &chain(&more)),
            function("fn controllers", &controllers)
        ),
    };
    let [foreign_imports, own_imports] = types.imports();
    Ok(Registry {
        runtime_import: match has_strategy {
            true => "use operator_runtime::{Controllers, UpdateStrategy};".into(),
            false => "use operator_runtime::Controllers;".into(),
        },
        foreign_imports,
        own_imports,
        all,
    })
}

const ALL: &str = "/// All controllers, to register with an `Operator`.\n";

/// What the function with all controllers returns, if it adds something to them.
fn documentation(project: &Project) -> String {
    let mut lines = vec![match project.has_webhooks() {
        true => "/// All controllers and webhooks, to register with an `Operator`.",
        false => ALL.trim_end(),
    }];
    let more = [
        (
            ensured_crds(project).next().is_some(),
            "The operator applies its CRDs when it starts to work.",
        ),
        (
            migrated_crds(project).next().is_some(),
            "The operator migrates stored objects when the storage version of their CRD has changed.",
        ),
    ];
    let more = more.iter().filter(|(is_on, _)| *is_on);
    let more: Vec<String> = more.map(|(_, text)| format!("/// {text}")).collect();
    if !more.is_empty() {
        lines.push("///");
        lines.extend(more.iter().map(String::as_str));
    }
    lines.join("\n") + "\n"
}

/// What is added to the controllers.
fn more(project: &Project) -> Vec<Call> {
    let mut calls = vec![];
    if ensured_crds(project).next().is_some() {
        let version = "env!(\"CARGO_PKG_VERSION\")".to_owned();
        let crds = "include_str!(\"crds.json\")".to_owned();
        calls.push(Call::of_texts("ensure_crds", vec![version, crds]));
    }
    let migrated: Vec<String> = migrated_crds(project)
        .map(|api| literal(&api.name()))
        .collect();
    if !migrated.is_empty() {
        let migrated = vec![Argument::Array(migrated)];
        calls.push(Call::new("migrate_storage", migrated));
    }
    if project.has_webhooks() {
        let all = vec!["webhooks::all()".to_owned()];
        calls.push(Call::of_texts("webhooks", all));
    }
    calls
}

/// `.update(UpdateStrategy::Recreate)`.
fn update(strategy: Update) -> Call {
    let strategy = format!("UpdateStrategy::{}", strategy.variant());
    Call::of_texts("update", vec![strategy])
}

/// The call that adds a controller.
fn add(controller: &Controller<'_>, calls: Vec<Call>) -> Call {
    let root = "watches".to_owned();
    let closure = Argument::Closure(Chain { root, calls });
    let setup = Argument::Text(format!("{}::setup", controller.module));
    match controller.named() {
        Some(named) => {
            let name = Argument::Text(literal(&named.name));
            Call::new("add_named", vec![name, setup, closure])
        }
        None => Call::new(controller.scaffold.register, vec![setup, closure]),
    }
}

/// The imports from the runtime.
const RESERVED: [&str; 2] = ["Controllers", "UpdateStrategy"];

/// The types that the registry uses.
struct Types {
    /// The paths of the project's types, by group, version, kind and plural.
    own: HashMap<[String; 4], String>,
    /// The imported paths, by their last segments.
    imported: BTreeMap<String, String>,
}

impl Types {
    fn of<'a>(project: &Project, typed: impl Iterator<Item = &'a Typed>) -> Self {
        let kinds = project.kinds().flat_map(|(kind, api)| {
            let versions = kind.versions.iter();
            versions.map(move |version| (kind, api, version))
        });
        let own = kinds.zip(typed).map(|((kind, api, version), typed)| {
            let module = version_module(version);
            let path = format!("crate::api::{}::{module}::{}", typed.module, typed.root);
            (
                [&kind.group, version, &kind.kind, &api.names.plural].map(String::clone),
                path,
            )
        });
        Self {
            own: own.collect(),
            imported: BTreeMap::new(),
        }
    }

    /// `owns::<Deployment>` with an import, or with a path if the name is already in use; `owns_named` with the names of a kind without a
    /// type.
    fn call(&mut self, method: &str, resource: &ResourceType) -> Call {
        let ResourceType {
            group,
            version,
            kind,
            plural,
            namespaced,
        } = resource;
        let names = [group, version, kind, plural].map(String::clone);
        let Some(path) = self
            .own
            .get(&names)
            .cloned()
            .or(resource.k8s_openapi_path())
        else {
            let scope = if *namespaced { "" } else { "_cluster" };
            // the content of such a kind is cached anyway
            let method = method.trim_end_matches("_with_content");
            let names = names.map(|word| literal(&word)).to_vec();
            return Call::of_texts(format!("{method}{scope}_named"), names);
        };
        let name = path.rsplit("::").next().unwrap_or(&path).to_owned();
        let is_free = !RESERVED.contains(&&*name);
        let imported = self
            .imported
            .entry(name.clone())
            .or_insert_with(|| path.clone());
        let shown = if is_free && *imported == path {
            name
        } else {
            path
        };
        Call::new(format!("{method}::<{shown}>"), vec![])
    }

    /// The imports from k8s-openapi, and those of the project's types.
    fn imports(&self) -> [String; 2] {
        let mut modules: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for path in self.imported.values() {
            let split = path.rsplit_once("::");
            if let Some((module, name)) = split.filter(|it| !RESERVED.contains(&it.1)) {
                modules.entry(module).or_default().push(name.to_owned());
            }
        }
        let of = |root: &str| {
            let modules = modules
                .iter()
                .filter(|(module, _)| module.starts_with(root));
            modules
                .map(|(module, names)| import(module, names))
                .collect()
        };
        [of("k8s_openapi"), of("crate")]
    }
}
