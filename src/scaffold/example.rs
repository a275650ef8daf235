//! The values for the templates of a kind's example controller, which compiles for the schema of the kind. All scaffolds use them, and
//! differ in [`Style`].

use indexmap::IndexSet;
use operator_schema::pointer::leaves;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Files, Subject, children,
    names::{self, Identity, Names},
    status,
};
use crate::{
    crd::{Api, Scope, Version},
    rust::code::literal,
    types::{Access, KindFacts, StatusFacts, Wrapped},
};

/// The differences between the examples of the scaffolds.
pub(super) struct Style {
    /// The prefix of the names of its controller templates.
    pub prefix: &'static str,
    /// The value from which the metadata of children is created: the variable and its type.
    pub source: [&'static str; 2],
    /// Whether the variable of the object is an `Arc` instead of a reference.
    pub is_shared: bool,
    /// The pattern and the value that bind `child`, the current Deployment.
    pub binds_child: &'static str,
    /// The variable of the Deployment's status.
    pub child_status: &'static str,
    /// Whether the status is passed to the runtime by its type, and so must be optional in the object.
    pub returns_status: bool,
    /// The child that the example creates for an object of the kind.
    pub child: fn(&Version) -> Child,
}

impl Style {
    /// A reference to the object, as an expression.
    pub fn object(&self, var: &str) -> String {
        if self.is_shared {
            format!("&{var}")
        } else {
            var.to_owned()
        }
    }
}

/// The kind of child that the example creates for each object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Child {
    /// A Deployment, for a kind with replicas or a scale subresource.
    Deployment,
    ConfigMap,
    /// An external resource.
    Remote,
    /// Events about the changes of the object.
    Events,
}

impl Child {
    pub(super) fn of(version: &Version) -> Self {
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
            Self::Remote => "remote.rs.j2",
            Self::Events => "events.rs.j2",
        }
    }

    /// The conditions that the templates set: if the child is as it should be, if it is not yet, and after a failure.
    pub(super) fn conditions(self) -> [Vec<Value>; 3] {
        const REFUSED: &str = "the API server refused the child: configmaps \"name\" is forbidden";
        const AS_ASKED: &str = "the thing is as the object asks for";
        let condition = |type_: &str, status: &str, reason: &str, message: &str| {
            json!({
                "type": type_, "status": status, "reason": reason, "message": message, "observedGeneration": 1,
                "lastTransitionTime": "2006-01-02T15:04:05Z", "lastUpdateTime": "2006-01-02T15:04:05Z",
            })
        };
        let ready = |status, reason, message| condition("Ready", status, reason, message);
        let synced = |status, reason, message| condition("Synced", status, reason, message);
        let (reason, message, pending) = match self {
            Self::Deployment => (
                "ReplicasReady",
                "1 of 1 replicas are ready",
                "ReplicasNotReady",
            ),
            Self::ConfigMap => (
                "Applied",
                "the ConfigMap contains the current spec",
                "ApplyFailed",
            ),
            Self::Remote => {
                let unknown = ready("Unknown", "NotObserved", "the thing could not be observed");
                return [
                    vec![
                        synced("True", "Synced", AS_ASKED),
                        ready("True", "Available", AS_ASKED),
                    ],
                    vec![
                        synced("False", "Absent", AS_ASKED),
                        ready("False", "Absent", AS_ASKED),
                    ],
                    vec![synced("False", "CreationUncertain", AS_ASKED), unknown],
                ];
            }
            Self::Events => {
                let handled = ready("True", "Handled", "the last change was handled");
                return [(); 3].map(|()| vec![handled.clone()]);
            }
        };
        [
            vec![ready("True", reason, message)],
            vec![ready("False", pending, message)],
            vec![ready("False", "ApplyFailed", REFUSED)],
        ]
    }
}

/// The image that the example runs if the object names none.
pub(super) const IMAGE: &str = "registry.k8s.io/pause:3.10";

/// The kind of the example's child, as `owns` names it.
pub(super) fn example_child(api: &Api) -> Option<&'static str> {
    match Child::of(api.storage_version()) {
        Child::Deployment => Some("apps/v1/Deployment"),
        Child::ConfigMap => Some("v1/ConfigMap"),
        Child::Remote | Child::Events => None,
    }
}

/// The fields of a sample that the example does not use, such as `spec.contact`.
pub(super) fn unused_fields(api: &Api, facts: &KindFacts, sample: &Value) -> Vec<String> {
    let version = api.storage_version();
    let is_used = |field: &str| match Child::of(version) {
        Child::Deployment => {
            let replicas = replicas_access(version, facts).is_some();
            replicas && field == replicas_path(version).join(".")
                || field == "spec.image" && image(facts).is_some()
        }
        Child::ConfigMap => facts.has_spec && field.starts_with("spec"),
        Child::Remote | Child::Events => true,
    };
    let written = sample.as_object().into_iter().flatten();
    let written = written.filter(|(name, _)| !ENVELOPE.contains(&name.as_str()));
    let written: Value = written
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let leaves = leaves(&written).into_iter().map(|(_, field)| field);
    let unused: IndexSet<String> = leaves.filter(|field| !is_used(field)).collect();
    unused.into_iter().collect()
}

/// The members of an object that no controller follows.
const ENVELOPE: [&str; 4] = ["apiVersion", "kind", "metadata", "status"];

/// The image that the spec names.
pub(super) fn image(facts: &KindFacts) -> Option<Access> {
    let image = facts.access(&["spec", "image"])?;
    (image.rust_type == "String").then_some(image)
}

/// The code of `parents`, which returns the objects to reconcile after a change of a watched object.
pub(super) fn parents(scope: Scope) -> String {
    let (which, chosen) = match scope {
        Scope::Namespaced => (
            "all in its namespace, or all if it has none",
            "objects.iter().filter(|object| {\n            let namespace = &changed.metadata.namespace;\n            namespace.is_none() || object.metadata.namespace == *namespace\n        })",
        ),
        Scope::Cluster => ("all", "objects.iter()"),
    };
    let changed = match scope {
        Scope::Namespaced => "changed",
        Scope::Cluster => "_changed",
    };
    format!(
        "    /// Returns the objects to reconcile after a watched object changes: {which}.
    /// Restrict them to those that refer to it.
    fn parents(
        &self,
        {changed}: &operator_runtime::Changed,
        cache: &operator_runtime::Store<Self::Resource>,
    ) -> Vec<operator_runtime::ObjectRef<Self::Resource>> {{
        let objects = cache.state();
        let objects = {chosen};
        objects
            .map(|object| operator_runtime::ObjectRef::from_obj(&**object))
            .collect()
    }}
"
    )
}

/// The values for the templates of one kind.
#[derive(Serialize)]
struct Context<'a> {
    name: &'a str,
    crate_name: String,
    /// The name of the Rust type in the files.
    kind: String,
    /// The import of the type from its module: its name, or `Event as EventObject`.
    import: String,
    module: String,
    /// The prefix of the name of its test.
    test: String,
    version: String,
    /// The variables for an object of the kind, and for a collection of objects.
    var: String,
    objects: String,
    cleanup: bool,
    finalizer: String,
    status: bool,
    /// The status of the object, or its default, as an expression.
    status_read: String,
    /// The statements that fill the status, except for the conditions.
    status_lines: Vec<String>,
    /// The status as the type of the field in the object, without its `Option`, as an expression.
    status_value: &'static str,
    /// Whether the status depends on the current child.
    reads_child: bool,
    /// Whether the status needs the value from which the metadata of children is created.
    uses_source: bool,
    /// The value from which the metadata of children is created: the variable and its type.
    cx: &'static str,
    context: &'static str,
    /// The conditions to write, as an expression; empty where there are none.
    conditions: String,
    /// Whether the runtime knows all values of the policies in the spec.
    deletion_policy: bool,
    drift_policy: bool,
    /// Whether the deletion policy of the sample keeps its external resource.
    retains: bool,
    /// The desired number of replicas, as an expression of type `i32`.
    replicas: String,
    /// The JSON patch that increases the replicas of an object, with the variable `replicas`; empty if the result might be invalid.
    more: String,
    /// Whether the spec names an image, and the `String` expression of it.
    image: bool,
    /// Whether the example uses a default image.
    image_constant: bool,
    image_value: String,
    default_image: &'static str,
    container: String,
    /// The field of the spec whose changes the example handles.
    field: Option<ChangingField>,
    /// The spec, as an expression that can be serialized.
    spec: String,
    sample: String,
    api: String,
    child_namespace: String,
}

/// The files of a kind in a style.
pub(super) fn files(subject: &Subject<'_>, style: &Style) -> Files {
    let child = (style.child)(subject.api.storage_version());
    let paths = [
        format!("src/controllers/{}", style.prefix),
        "tests/all/".to_owned(),
    ];
    let paths = paths.map(|path| path + child.template());
    let [controller, test] = names::fill(paths, Identity::of(subject), |names| {
        context(subject, style, names)
    });
    Files {
        controller,
        test,
        children: children::snapshot(subject, child),
        writes_status: status(subject, style, "").is_some(),
    }
}

/// The status that the example writes; `None` if it writes none.
fn status(subject: &Subject<'_>, style: &Style, var: &str) -> Option<status::Example> {
    let is_required = |status: &StatusFacts| status.wrapped == Wrapped::Bare;
    if style.returns_status && subject.facts.status.as_ref().is_some_and(is_required) {
        return None;
    }
    let version = subject.api.storage_version();
    let child = (style.child)(version);
    status::example(child, version, subject.facts, subject.sample, style, var)
}

fn context<'a>(subject: &Subject<'a>, style: &Style, names: Names) -> Context<'a> {
    let Subject {
        operator: project,
        api,
        facts,
        ..
    } = *subject;
    let version = api.storage_version();
    let var = names.var;
    let image = image(facts);
    let namespace = if subject.in_namespaces {
        "support::NAMESPACES[0]"
    } else {
        "server.namespace()"
    };
    let (scope_api, child_namespace) = match api.scope {
        Scope::Namespaced => (
            format!("Api::namespaced(server.client(), {namespace})"),
            namespace.to_owned(),
        ),
        Scope::Cluster => ("Api::all(server.client())".into(), literal(project)),
    };
    let status = status(subject, style, &var);
    let is_written = status.is_some();
    let status = status.unwrap_or_default();
    let is_nested = facts
        .status
        .as_ref()
        .is_some_and(|it| it.wrapped == Wrapped::Nested);
    let reads_child = !status.conditions.is_empty() || status.reads_child;
    let uses_source =
        reads_child && (style.child)(version) == Child::Deployment || status.reads_labels;
    let [cx, context] = style.source;
    Context {
        name: project,
        crate_name: names.crate_name,
        kind: names.kind,
        import: names.import,
        test: names.module.trim_end_matches('_').to_owned(),
        module: names.module,
        version: names.version,
        cleanup: subject.cleanup,
        finalizer: format!("{}/{project}", api.group),
        status: is_written,
        status_read: status.read,
        status_lines: status.lines,
        status_value: if is_nested { "Some(status)" } else { "status" },
        reads_child,
        uses_source,
        cx,
        context,
        conditions: status.conditions,
        deletion_policy: has_policies(version, "deletionPolicy", &DELETION_POLICIES),
        drift_policy: has_policies(version, "driftPolicy", &DRIFT_POLICIES),
        retains: retains(version, subject.sample),
        replicas: replicas(version, facts, &var),
        more: more_replicas(version, facts, subject.sample),
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
        default_image: IMAGE,
        container: literal(&api.names.singular),
        field: changing_field(version, facts, &var),
        spec: if facts.has_spec {
            format!("&{var}.spec")
        } else {
            format!("&{var}.metadata.name")
        },
        sample: format!("{}.yaml", api.name()),
        api: scope_api,
        child_namespace,
        var,
        objects: names.objects,
    }
}

/// The values that `DeletionPolicy::of_spec` and `DriftPolicy::of_spec` of `operator-runtime` know, in any case.
const DELETION_POLICIES: [&str; 5] = ["delete", "retain", "orphan", "abandon", "none"];
const DRIFT_POLICIES: [&str; 2] = ["repair", "report"];

/// Whether a field of the spec has only these values, or is absent.
fn has_policies(version: &Version, field: &str, known: &[&str]) -> bool {
    let spec = version.schema.properties.get("spec");
    let Some(field) = spec.and_then(|spec| spec.properties.get(field)) else {
        return true;
    };
    let is_known = |value: &Value| {
        let value = value.as_str().map(str::to_lowercase);
        value.is_some_and(|value| known.contains(&value.as_str()))
    };
    field
        .enum_
        .as_ref()
        .is_some_and(|values| values.iter().all(is_known))
}

/// Whether the deletion policy of a sample, or by default of the schema, keeps its external resource.
fn retains(version: &Version, sample: Option<&Value>) -> bool {
    let field = "deletionPolicy";
    let spec = version.schema.properties.get("spec");
    let default = spec.and_then(|spec| spec.properties.get(field)?.default.as_ref());
    let policy = sample
        .and_then(|sample| sample["spec"].get(field))
        .or(default)
        .and_then(Value::as_str)
        .map(str::to_lowercase)
        .unwrap_or_default();
    has_policies(version, field, &DELETION_POLICIES)
        && DELETION_POLICIES[1..].contains(&policy.as_str())
}

/// A field of the spec.
#[derive(Serialize)]
struct ChangingField {
    /// The name in the CRD.
    name: String,
    /// The name of the method that handles its changes.
    method: String,
    rust_type: String,
    /// The value, as an expression.
    value: String,
}

/// The first number of the spec, or the first boolean. A text may be long, or secret.
fn changing_field(version: &Version, facts: &KindFacts, var: &str) -> Option<ChangingField> {
    let spec = version.schema.properties.get("spec")?;
    let find = |types: &[&str]| {
        spec.properties
            .keys()
            .filter(|name| name.chars().all(|c| c.is_ascii_alphanumeric()))
            .find_map(|name| {
                let access = facts.access(&["spec", name])?;
                let is_wanted = types.contains(&access.rust_type.as_str());
                is_wanted.then_some((name.clone(), access))
            })
    };
    let (name, access) = find(&["i32", "i64"]).or_else(|| find(&["bool"]))?;
    Some(ChangingField {
        // the identifier of a keyword ends with `_`
        method: format!("{}_changed", access.ident().trim_end_matches('_')),
        rust_type: if access.is_optional() {
            format!("Option<{}>", access.rust_type)
        } else {
            access.rust_type.clone()
        },
        value: access.read(var),
        name,
    })
}

/// The field with the desired number of replicas.
pub(super) fn replicas_path(version: &Version) -> Vec<&str> {
    let path = version
        .scale
        .as_ref()
        .map_or(".spec.replicas", |scale| scale.spec_replicas_path.as_str());
    path.trim_start_matches('.').split('.').collect()
}

/// The JSON patch that increases the replicas; empty if a bound, a rule or a union of the schema may forbid that, or if the sample lacks
/// the field.
fn more_replicas(version: &Version, facts: &KindFacts, sample: Option<&Value>) -> String {
    let path = replicas_path(version);
    if replicas_access(version, facts).is_none() {
        return String::new();
    }
    let mut schema = &version.schema;
    let mut object = sample;
    let mut patch = "replicas + 1".to_owned();
    for wire in &path {
        let has_union =
            !(schema.one_of.is_empty() && schema.any_of.is_empty() && schema.all_of.is_empty());
        let Some(property) = schema.properties.get(*wire) else {
            return String::new();
        };
        if !schema.validations.is_empty()
            || has_union
            || schema.not.is_some()
            || !object.is_some_and(Value::is_object)
        {
            return String::new();
        }
        object = object.and_then(|object| object.get(*wire));
        schema = property;
    }
    let has_union =
        !(schema.one_of.is_empty() && schema.any_of.is_empty() && schema.all_of.is_empty());
    if schema.maximum.is_some()
        || schema.multiple_of.is_some()
        || schema.enum_.is_some()
        || schema.not.is_some()
        || has_union
        || !schema.validations.is_empty()
    {
        return String::new();
    }
    for wire in path.iter().rev() {
        patch = format!("{{{}: {patch}}}", literal(wire));
    }
    patch
}

/// The field with the desired number of replicas, if it is an integer.
pub(super) fn replicas_access(version: &Version, facts: &KindFacts) -> Option<Access> {
    let access = facts.access(&replicas_path(version))?;
    matches!(access.rust_type.as_str(), "i32" | "i64").then_some(access)
}

/// The desired number of replicas, as `i32`.
fn replicas(version: &Version, facts: &KindFacts, var: &str) -> String {
    let Some(access) = replicas_access(version, facts) else {
        return "1".into();
    };
    let default = access.default.as_ref().and_then(Value::as_i64);
    let value = match access.read_defaulted(var) {
        Some(value) => value,
        None if access.is_optional() => {
            let default = default.and_then(|default| i32::try_from(default).ok());
            format!("{}.unwrap_or({})", access.read(var), default.unwrap_or(1))
        }
        None => access.read(var),
    };
    match access.rust_type.as_str() {
        "i32" => value,
        _ => format!("i32::try_from({value}).unwrap_or(i32::MAX)"),
    }
}
