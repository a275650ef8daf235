//! `src/controllers/mod.rs`: the kinds that each controller watches, according to `operator.toml`.

use std::collections::{BTreeMap, HashMap};

use super::generated_test::VersionModule;
use crate::{
    config::{OwnedCache, Update},
    operator::{Controller, Operator, ResourceType},
    rust::{
        code::{OF_FUNCTION, chain, import, indented, lines_of_chain, list, literal},
        version_module,
    },
};

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
    operator: &Operator<'_>,
    typed: impl Iterator<Item = &'a VersionModule>,
) -> String {
    let mut types = Types::of(operator, typed);
    let mut adds = vec![];
    let mut owns = operator.controllers.iter().flat_map(|it| &it.owns);
    if owns.any(|child| child.update != Update::default()) {
        types.import("operator_runtime::UpdateStrategy");
    }
    for controller in &operator.controllers {
        let mut calls = vec![];
        if controller.has_status_in_object {
            calls.push(".status_in_object()".to_owned());
        }
        for child in &controller.owns {
            let method = match child.cache {
                None => "owns",
                Some(OwnedCache::Content) => "owns_with_content",
            };
            calls.push(types.call(method, &child.related.resource));
            if child.update != Update::default() {
                calls.push(update(child.update));
            }
        }
        for watched in &controller.watches {
            calls.push(types.call("watches", &watched.resource));
        }
        adds.push(add(controller, &calls));
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
    let further = further_calls(operator);
    if further.is_empty() {
        format!("{ALL}{}", function("pub fn all", &controllers))
    } else {
        format!(
            "{}{}\n{}",
            documentation(operator),
            function("pub fn all", &lines_of_chain("controllers()", &further)),
            function("fn controllers", &controllers)
        )
    }
}

const ALL: &str = "/// All controllers, to register with an `Operator`.\n";

/// The documentation of `all`, if it adds something to the controllers.
fn documentation(operator: &Operator<'_>) -> String {
    let mut lines = vec![if operator.has_webhooks() {
        "/// All controllers and webhooks, to register with an `Operator`."
    } else {
        ALL.trim_end()
    }];
    let more = [
        (
            operator.ensured_crds().next().is_some(),
            "The operator applies its CRDs when it starts to work.",
        ),
        (
            operator.migrated_crds().next().is_some(),
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

/// The calls that add to the controllers what the operator does besides.
fn further_calls(operator: &Operator<'_>) -> Vec<String> {
    let mut calls = vec![];
    if operator.ensured_crds().next().is_some() {
        let version = "env!(\"CARGO_PKG_VERSION\")";
        calls.push(format!(
            ".ensure_crds({version}, include_str!(\"crds.json\"))"
        ));
    }
    let migrated: Vec<String> = operator
        .migrated_crds()
        .map(|api| literal(&api.name()))
        .collect();
    if !migrated.is_empty() {
        let migrated = list("&", ['[', ']'], &migrated, "");
        calls.push(format!(".migrate_storage({})", migrated.trim_end()));
    }
    if operator.has_webhooks() {
        calls.push(".webhooks(webhooks::all())".to_owned());
    }
    calls
}

/// The call that sets the update strategy of a child: `.update(UpdateStrategy::Recreate)`.
fn update(strategy: Update) -> String {
    format!(".update(UpdateStrategy::{})", strategy.variant())
}

/// The call that adds a controller.
fn add(controller: &Controller, calls: &[String]) -> String {
    let setup = format!("{}::setup", controller.module);
    let method = match controller.existing {
        Some(existing) => existing.register(),
        None => controller.scaffold.register,
    };
    let name = controller.name.iter();
    let mut arguments: Vec<String> = name.map(|name| literal(name)).collect();
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

/// The call `.method(arguments)`, with a line for each argument if the line is long.
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
    fn of<'a>(operator: &Operator<'_>, typed: impl Iterator<Item = &'a VersionModule>) -> Self {
        let kinds = operator.kinds.iter().flat_map(|kind| {
            let versions = kind.table.versions.iter();
            versions.map(move |version| (&kind.crd.group, version, &kind.crd.names))
        });
        let own = kinds.zip(typed).map(|((group, version, names), typed)| {
            let module = version_module(version);
            let path = format!("crate::api::{}::{module}::{}", typed.module, typed.root);
            let names = [group, version, &names.kind, &names.plural];
            (names.map(String::clone), path)
        });
        Self {
            own: own.collect(),
            imported: BTreeMap::from([("Controllers".to_owned(), REGISTRY.to_owned())]),
        }
    }

    /// The call for a kind: `owns::<Deployment>` with an import, or with a path if the name is already in use; `owns_named` with names if
    /// the kind has no type.
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
            // the content of a kind without a type is always cached
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
