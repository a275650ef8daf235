//! `src/controllers/mod.rs`: the kinds that each controller watches, according to `operator.toml`.

use std::collections::{BTreeMap, HashMap};

use super::generated_test::Typed;
use crate::{
    config::{OwnedCache, Update},
    crd::Api,
    operator::{Controller, Project, ResourceError, ResourceType, resolve},
    rust::{
        code::{OF_FUNCTION, chain, import, indented, lines_of_chain, list, literal},
        version_module,
    },
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
) -> Result<String, ResourceError> {
    let mut types = Types::of(project, typed);
    let mut adds = vec![];
    let controllers = project.controllers()?;
    let mut owns = controllers.iter().flat_map(|it| it.owns);
    if owns.any(|owned| owned.update != Update::default()) {
        types.import("operator_runtime::UpdateStrategy");
    }
    for controller in controllers {
        let watched = Watched::of(&controller, &project.apis)?;
        let owns: Vec<String> = watched
            .owns
            .iter()
            .zip(controller.owns)
            .flat_map(|((resource, _), owned)| {
                let method = match owned.cache {
                    None => "owns",
                    Some(OwnedCache::Content) => "owns_with_content",
                };
                let update = Some(owned.update).filter(|it| *it != Update::default());
                [Some(types.call(method, resource)), update.map(self::update)]
            })
            .flatten()
            .collect();
        let watches = watched
            .watches
            .iter()
            .map(|resource| types.call("watches", resource));
        let calls: Vec<String> = owns.into_iter().chain(watches).collect();
        adds.push(add(&controller, &calls));
    }
    let imports = types.imports();
    let controllers = lines_of_chain("Controllers::new()", &adds);
    let function = |name: &str, body: &str| {
        format!(
            "{OF_FUNCTION}{name}() -> Controllers {{\n{}\n}}\n",
            indented(body)
        )
    };
    let controllers = if imports.is_empty() {
        controllers
    } else {
        format!("{imports}\n{controllers}")
    };
    let more = more(project);
    Ok(if more.is_empty() {
        format!("{ALL}{}", function("pub fn all", &controllers))
    } else {
        format!(
            "{}{}\n{}",
            documentation(project),
            function("pub fn all", &lines_of_chain("controllers()", &more)),
            function("fn controllers", &controllers)
        )
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
            project.ensured_crds().next().is_some(),
            "The operator applies its CRDs when it starts to work.",
        ),
        (
            project.migrated_crds().next().is_some(),
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
fn more(project: &Project) -> Vec<String> {
    let mut calls = vec![];
    if project.ensured_crds().next().is_some() {
        let version = "env!(\"CARGO_PKG_VERSION\")";
        calls.push(format!(
            ".ensure_crds({version}, include_str!(\"crds.json\"))"
        ));
    }
    let migrated: Vec<String> = project
        .migrated_crds()
        .map(|api| literal(&api.name()))
        .collect();
    if !migrated.is_empty() {
        let migrated = list("&", ['[', ']'], &migrated, "");
        calls.push(format!(".migrate_storage({})", migrated.trim_end()));
    }
    if project.has_webhooks() {
        calls.push(".webhooks(webhooks::all())".to_owned());
    }
    calls
}

/// `.update(UpdateStrategy::Recreate)`.
fn update(strategy: Update) -> String {
    format!(".update(UpdateStrategy::{})", strategy.variant())
}

/// The call that adds a controller.
fn add(controller: &Controller<'_>, calls: &[String]) -> String {
    let setup = format!("{}::setup", controller.module);
    let (method, mut arguments) = match controller.named() {
        Some(named) => ("add_named", vec![literal(&named.name)]),
        None => (controller.scaffold.register, vec![]),
    };
    arguments.extend([setup, closure("watches", calls)]);
    register(method, &arguments)
}

/// `.method(arguments)`, with a line for each argument if the line is long. The body of a closure in braces begins on the line of the
/// method.
pub fn register(method: &str, arguments: &[String]) -> String {
    if arguments.last().is_some_and(|last| last.ends_with('}')) {
        format!(".{method}({})", arguments.join(", "))
    } else {
        call(method, arguments)
    }
}

/// `.method(arguments)`, with a line for each argument if the line is long.
fn call(method: &str, arguments: &[String]) -> String {
    let call = list(&format!(".{method}"), ['(', ')'], arguments, "");
    call.trim_end().to_owned()
}

/// A closure that calls methods of its parameter, whose body is in braces if it is long.
pub fn closure(parameter: &str, calls: &[String]) -> String {
    let body = chain(parameter, calls);
    if body.contains('\n') {
        format!("|{parameter}| {{\n{}\n}}", indented(&body))
    } else {
        format!("|{parameter}| {body}")
    }
}

/// The type of the registry, which the file imports.
const REGISTRY: &str = "operator_runtime::Controllers";

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
            kind.versions
                .iter()
                .map(move |version| (kind, api, version))
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
            imported: BTreeMap::from([("Controllers".to_owned(), REGISTRY.to_owned())]),
        }
    }

    /// `owns::<Deployment>` with an import, or with a path if the name is already in use; `owns_named` with the names of a kind without a
    /// type.
    fn call(&mut self, method: &str, resource: &ResourceType) -> String {
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
            let names = names.map(|word| literal(&word));
            return call(&format!("{method}{scope}_named"), &names);
        };
        format!(".{method}::<{}>()", self.import(&path))
    }

    /// Imports a path, unless the name is already in use. Returns the name or the path.
    fn import<'a>(&mut self, path: &'a str) -> &'a str {
        let name = path.rsplit("::").next().unwrap_or(path);
        let imported = self.imported.entry(name.to_owned());
        if imported.or_insert_with(|| path.to_owned()) == path {
            name
        } else {
            path
        }
    }

    /// All imports, those of other crates first.
    fn imports(&self) -> String {
        let mut modules: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for path in self.imported.values().filter(|path| *path != REGISTRY) {
            if let Some((module, name)) = path.rsplit_once("::") {
                modules.entry(module).or_default().push(name.to_owned());
            }
        }
        let (own, others): (Vec<_>, Vec<_>) = modules
            .iter()
            .partition(|(module, _)| module.starts_with("crate::"));
        others
            .into_iter()
            .chain(own)
            .map(|(module, names)| import(module, names))
            .collect()
    }
}
