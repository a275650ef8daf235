//! `src/controllers/<kind>.rs` and `tests/<kind>.rs`: an example that is true for the schema of its kind.

use serde::Serialize;

use super::template::fill;
use crate::{
    crd::{Api, Scope, Version},
    project::{Kind, is_keyword, module_name, version_module},
    rustfmt::literal,
    types::{Access, KindFacts},
};

/// What the example keeps for each object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Child {
    /// For a kind that has replicas or the scale subresource.
    Deployment,
    ConfigMap,
}

impl Child {
    fn of(version: &Version) -> Self {
        let spec = version.schema.properties.get("spec");
        let replicas = spec.and_then(|spec| spec.properties.get("replicas"));
        let counts = replicas.is_some_and(|replicas| replicas.type_.as_deref() == Some("integer"));
        if counts || version.scale.is_some() {
            Self::Deployment
        } else {
            Self::ConfigMap
        }
    }

    fn template(self) -> &'static str {
        match self {
            Self::Deployment => "deployment.rs.j2",
            Self::ConfigMap => "config_map.rs.j2",
        }
    }
}

/// The kind of the example's child, as `owns` names it.
pub fn example_child(api: &Api) -> &'static str {
    match Child::of(api.storage_version()) {
        Child::Deployment => "apps/v1/Deployment",
        Child::ConfigMap => "v1/ConfigMap",
    }
}

/// What the templates of one kind place.
#[derive(Serialize)]
struct Context<'a> {
    name: &'a str,
    crate_name: String,
    /// The Rust type.
    kind: &'a str,
    module: String,
    version: String,
    /// An object of the kind, and the collection of them, as variables.
    var: String,
    objects: String,
    cleanup: bool,
    finalizer: String,
    status: bool,
    /// Statements that fill the status, but for the conditions.
    status_lines: Vec<String>,
    /// The conditions to write, as an expression; empty where there are none.
    conditions: String,
    /// `i32` expression.
    replicas: String,
    /// The patch of an object that asks for one replica more, as JSON with the variable `replicas`; empty where it might not be valid.
    more: String,
    /// Whether the spec names an image, and the `String` expression of it.
    image: bool,
    /// Whether the example brings an image of its own.
    image_constant: bool,
    image_value: String,
    container: String,
    /// The spec, as an expression that serialises.
    spec: String,
    sample: String,
    api: &'static str,
    child_namespace: String,
}

/// The texts of the controller and of its test.
pub fn files(project: &str, kind: &Kind, api: &Api, facts: &KindFacts) -> (String, String) {
    let version = api.storage_version();
    let child = Child::of(version);
    let (var, objects) = variables(api);
    let image = facts
        .access(&["spec", "image"])
        .filter(|found| found.rust_type == "String");
    let (scope_api, child_namespace) = match api.scope {
        Scope::Namespaced => (
            "Api::namespaced(server.client(), server.namespace())",
            "server.namespace()".into(),
        ),
        Scope::Cluster => ("Api::all(server.client())", format!("{project:?}")),
    };
    let status = facts.status.as_ref().filter(|status| status.has_default);
    let status_lines = status
        .map(|_| status_lines(child, version, facts, &var))
        .unwrap_or_default();
    let tells = writes_status(version, facts);
    let conditions = match status.and_then(|status| status.conditions.as_ref()) {
        Some(conditions) if conditions.optional => {
            format!("status.{}.get_or_insert_default()", conditions.ident)
        }
        Some(conditions) => format!("&mut status.{}", conditions.ident),
        None => String::new(),
    };
    let context = Context {
        name: project,
        crate_name: project.replace('-', "_"),
        kind: &facts.root,
        module: kind.module_name(),
        version: version_module(&version.name),
        cleanup: kind.cleanup,
        finalizer: format!("{}/{project}", api.group),
        status: tells,
        status_lines,
        conditions,
        replicas: replicas(version, facts, &var),
        more: more(version),
        image: image.is_some(),
        image_constant: image
            .as_ref()
            .is_none_or(|image| image.is_optional() && image.read_defaulted(&var).is_none()),
        image_value: match &image {
            Some(image) => match image.read_defaulted(&var) {
                Some(value) => value,
                None if image.is_optional() => {
                    format!("{}.unwrap_or_else(|| IMAGE.into())", image.read(&var))
                }
                None => image.read(&var),
            },
            None => "IMAGE.into()".into(),
        },
        container: literal(&api.names.singular),
        spec: if facts.has_spec {
            format!("&{var}.spec")
        } else {
            format!("&{var}.metadata.name")
        },
        sample: format!("{}.yaml", api.name()),
        api: scope_api,
        child_namespace,
        var,
        objects,
    };
    (
        fill(&format!("src/controllers/{}", child.template()), &context),
        fill(&format!("tests/{}", child.template()), &context),
    )
}

/// Whether the example knows a field of the status.
pub fn writes_status(version: &Version, facts: &KindFacts) -> bool {
    let status = facts.status.as_ref().filter(|status| status.has_default);
    status.is_some_and(|status| {
        status.conditions.is_some()
            || !status_lines(Child::of(version), version, facts, "").is_empty()
    })
}

/// Names that the templates use for something else.
const USED: [&str; 16] = [
    "applied",
    "client",
    "config_map",
    "config_maps",
    "cx",
    "deployment",
    "deployments",
    "labels",
    "made",
    "name",
    "operator",
    "others",
    "pod",
    "replicas",
    "server",
    "status",
];

fn variables(api: &Api) -> (String, String) {
    let var = module_name(&api.names.kind);
    let objects = module_name(&api.names.plural);
    let usable = |name: &str| !USED.contains(&name) && !is_keyword(name);
    if usable(&var) && usable(&objects) && var != objects {
        (var, objects)
    } else {
        ("object".into(), "objects".into())
    }
}

/// Where the wanted number of replicas stands.
fn replicas_path(version: &Version) -> Vec<&str> {
    let by_scale = version
        .scale
        .as_ref()
        .map(|scale| scale.spec_replicas_path.as_str());
    let path = by_scale.unwrap_or(".spec.replicas");
    path.trim_start_matches('.').split('.').collect()
}

/// Not where a bound, a rule or a union of the schema may forbid it.
fn more(version: &Version) -> String {
    let mut schema = &version.schema;
    let mut patch = "replicas + 1".to_owned();
    let path = replicas_path(version);
    for wire in &path {
        let has_union =
            !(schema.one_of.is_empty() && schema.any_of.is_empty() && schema.all_of.is_empty());
        let Some(property) = schema.properties.get(*wire) else {
            return String::new();
        };
        if !schema.validations.is_empty() || has_union || schema.not.is_some() {
            return String::new();
        }
        schema = property;
    }
    if schema.maximum.is_some() || schema.enum_.is_some() || !schema.validations.is_empty() {
        return String::new();
    }
    for wire in path.iter().rev() {
        patch = format!("{{{wire:?}: {patch}}}");
    }
    patch
}

/// How many replicas are wanted, as `i32`.
fn replicas(version: &Version, facts: &KindFacts, var: &str) -> String {
    let path = replicas_path(version);
    let Some(access) = facts.access(&path) else {
        return "1".into();
    };
    let default = access
        .default
        .as_ref()
        .and_then(serde_json::Value::as_i64)
        .unwrap_or(1);
    let value = match access.read_defaulted(var) {
        Some(value) => value,
        None if access.is_optional() => format!("{}.unwrap_or({default})", access.read(var)),
        None => access.read(var),
    };
    match access.rust_type.as_str() {
        "i32" => value,
        _ => format!("i32::try_from({value}).unwrap_or(i32::MAX)"),
    }
}

fn status_lines(child: Child, version: &Version, facts: &KindFacts, var: &str) -> Vec<String> {
    let mut lines = vec![];
    let mut set = |access: Option<Access>, rust_type: &str, value: String| {
        let Some(access) =
            access.filter(|access| access.is_shallow() && access.rust_type == rust_type)
        else {
            return;
        };
        let value = if access.is_optional() {
            value
        } else {
            format!("{value}.unwrap_or_default()")
        };
        lines.push(format!("status.{} = {value};", access.ident()));
    };
    set(
        facts.access(&["status", "observedGeneration"]),
        "i64",
        format!("{var}.metadata.generation"),
    );
    let (Child::Deployment, Some(scale)) = (child, &version.scale) else {
        return lines;
    };
    let at = |path: &str| {
        let path: Vec<&str> = path.trim_start_matches('.').split('.').collect();
        facts
            .access(&path)
            .filter(|access| path[0] == "status" && access.is_shallow())
    };
    if let Some(replicas) = at(&scale.status_replicas_path)
        && let "i32" | "i64" = replicas.rust_type.as_str()
    {
        let widen = if replicas.rust_type == "i64" {
            ".map(i64::from)"
        } else {
            ""
        };
        let zero = if replicas.is_last_optional() {
            ""
        } else {
            ".unwrap_or_default()"
        };
        // of a child that could not be applied, nothing new is known
        lines.push("if let Ok(child) = &applied {".into());
        lines.push("    let observed = child.status.as_ref();".into());
        lines.push(format!(
            "    status.{} = observed.and_then(|status| status.replicas){widen}{zero};",
            replicas.ident()
        ));
        lines.push("}".into());
    }
    if let Some(selector) = scale.label_selector_path.as_deref().and_then(at)
        && selector.rust_type == "String"
    {
        let text = "labels.iter().map(|(key, value)| format!(\"{key}={value}\")).collect::<Vec<_>>().join(\",\")";
        let text = if selector.is_last_optional() {
            format!("Some({text})")
        } else {
            text.into()
        };
        lines.push(format!("let labels = labels(&{var}, cx);"));
        lines.push(format!("status.{} = {text};", selector.ident()));
    }
    lines
}
