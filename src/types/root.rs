//! The root type of a kind: whether kube-derive can express it, and the parts of its CRD besides the schema.

use operator_schema::SchemaOrBool;
use serde_json::{Map, Value, json};

use super::{
    attribute::Argument,
    derived::own,
    difference::{fits_json, has_plain_texts},
    doc::Doc,
    graph::{Shape, Type, TypeGraph},
    supplement::Supplement,
    value_form::walk,
};
use crate::{
    crd::{Api, Deprecation, PrinterColumn, Scope, Version},
    rust::code::{literal, meta},
    types::SchemaMode,
};

/// The form of the root.
pub enum Root {
    /// `#[derive(CustomResource)]` on the struct of the spec.
    Derived(Derived),
    /// A plain struct with generated impls of kube's traits.
    Plain(Plain),
}

/// The arguments of `#[kube(..)]`.
pub struct Derived {
    /// The arguments, each as text.
    pub arguments: Vec<String>,
    /// The schema of the root, without its properties.
    pub schema: Map<String, Value>,
    /// The wire names of its properties, and their types.
    pub properties: Vec<(&'static str, String)>,
}

/// The values for the impls of a plain root.
pub struct Plain {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub plural: String,
    pub namespaced: bool,
    pub short_names: Vec<String>,
    pub doc: Option<Doc>,
    /// The CRD as JSON, without the schema.
    pub definition: String,
    /// The schema as JSON, in `embed` mode.
    pub schema: Option<String>,
}

impl Root {
    /// Chooses the form of the root. In `embed` mode it is always plain, because the types do not implement `JsonSchema`.
    pub fn of(
        api: &Api,
        version: &Version,
        schema: Value,
        graph: &TypeGraph,
        mode: SchemaMode,
        supplement: &Supplement,
    ) -> Self {
        let own = own(&schema);
        if mode == SchemaMode::Derive
            && is_derivable(api, version, graph)
            && is_schema_derivable(version, &own, graph, supplement)
        {
            Self::Derived(Derived {
                arguments: arguments(api, version, graph),
                schema: own,
                properties: properties(graph),
            })
        } else {
            Self::Plain(Plain {
                group: api.group.clone(),
                version: version.name.clone(),
                kind: api.names.kind.clone(),
                plural: api.names.plural.clone(),
                namespaced: api.scope == Scope::Namespaced,
                short_names: api.names.short_names.clone(),
                doc: version
                    .schema
                    .description
                    .as_ref()
                    .map(|text| Doc::new(0, text)),
                definition: pretty(&definition(api, version)),
                schema: (mode == SchemaMode::Embed).then(|| pretty(&schema)),
            })
        }
    }
}

/// Whether kube-derive can express the root: the spec is a struct of its own, there are no fields besides spec and status, and there is a
/// status if and only if there is the status subresource.
fn is_derivable(api: &Api, version: &Version, graph: &TypeGraph) -> bool {
    let own_struct = |type_: &Type| matches!(type_, Type::Named(id) if matches!(graph.get(*id).shape, Shape::Struct(_)));
    let spec_is_struct = graph.root.iter().any(|field| {
        field.wire == "spec" && !field.optional && !field.nullable && own_struct(&field.type_)
    });
    let status = graph.root.iter().find(|field| field.wire == "status");
    let status_fits = match status {
        Some(field) => {
            field.optional
                && !field.nullable
                && version.status_subresource
                && graph.as_struct(&field.type_).is_some()
        }
        None => !version.status_subresource,
    };
    spec_is_struct
        && status_fits
        && (version.scale.is_none() || status.is_some())
        && graph
            .root
            .iter()
            .all(|field| matches!(field.wire.as_str(), "spec" | "status"))
        && api.names.list_kind == format!("{}List", api.names.kind)
        && !graph.root_keeps_unknown
}

/// Whether kube's transforms keep the schema: it must have no unions and no limits on unknown fields, and the fields of the root must have
/// no attributes.
fn is_schema_derivable(
    version: &Version,
    own: &Map<String, Value>,
    graph: &TypeGraph,
    supplement: &Supplement,
) -> bool {
    let mut is_kept = true;
    walk(&version.schema, &mut |schema| {
        let has_union = [&schema.any_of, &schema.one_of, &schema.all_of]
            .iter()
            .any(|parts| !parts.is_empty());
        let is_bool = matches!(schema.additional_properties, Some(SchemaOrBool::Bool(_)));
        // kube makes an optional int-or-string field nullable
        let becomes_nullable = schema.properties.iter().any(|(name, field)| {
            field.int_or_string && !field.nullable && !schema.required.contains(name)
        });
        is_kept &= !has_union
            && schema.not.is_none()
            && !schema.unique_items
            && !is_bool
            && !becomes_nullable;
    });
    let changes_schema = |argument: &Argument| !matches!(argument, Argument::Description(_));
    let is_below = |pointer: &String| {
        ["/properties/spec/", "/properties/status/"]
            .iter()
            .any(|field| pointer.starts_with(field))
    };
    is_kept
        && !graph
            .root
            .iter()
            .any(|field| field.schemars.iter().any(changes_schema))
        && supplement.parts.keys().all(is_below)
        && own
            .iter()
            .all(|(keyword, value)| has_plain_texts(keyword, value))
        && fits_json(&own.clone().into())
}

fn properties(graph: &TypeGraph) -> Vec<(&'static str, String)> {
    let property = |wire: &'static str| {
        let field = graph.root.iter().find(|field| field.wire == wire)?;
        match &field.type_ {
            Type::Named(id) => Some((wire, graph.get(*id).name.clone())),
            _ => None,
        }
    };
    ["spec", "status"]
        .into_iter()
        .filter_map(property)
        .collect()
}

fn arguments(api: &Api, version: &Version, graph: &TypeGraph) -> Vec<String> {
    let set = |key: &str, value: &str| format!("{key} = {}", literal(value));
    let mut arguments = vec![
        set("group", &api.group),
        set("version", &version.name),
        set("kind", &api.names.kind),
        set("plural", &api.names.plural),
    ];
    if api.names.singular != api.names.kind.to_lowercase() {
        arguments.push(set("singular", &api.names.singular));
    }
    if graph.root_name != api.names.kind {
        arguments.push(set("root", &graph.root_name));
    }
    if api.scope == Scope::Namespaced {
        arguments.push("namespaced".into());
    }
    if let Some(doc) = &version.schema.description {
        arguments.push(set("doc", doc));
    }
    let status = graph.root.iter().find(|field| field.wire == "status");
    if let Some(Type::Named(id)) = status.map(|field| &field.type_) {
        arguments.push(set("status", &graph.get(*id).name));
    }
    arguments.push("schema = \"manual\"".into());
    arguments.push("derive = \"PartialEq\"".into());
    if graph.root.iter().any(|field| {
        field.wire == "spec"
            && graph
                .as_struct(&field.type_)
                .is_some_and(|spec| spec.has_default)
    }) {
        arguments.push("derive = \"Default\"".into());
    }
    arguments.extend(
        api.names
            .short_names
            .iter()
            .map(|name| set("shortname", name)),
    );
    arguments.extend(
        api.names
            .categories
            .iter()
            .map(|name| set("category", name)),
    );
    if let Some(scale) = &version.scale {
        let mut paths = vec![
            set("spec_replicas_path", &scale.spec_replicas_path),
            set("status_replicas_path", &scale.status_replicas_path),
        ];
        paths.extend(
            scale
                .label_selector_path
                .iter()
                .map(|path| set("label_selector_path", path)),
        );
        arguments.push(meta("scale", &paths));
    }
    // as JSON, because clippy reports two columns of the same type as duplicates if they are written as arguments
    let columns = version.printer_columns.iter().map(printer_column);
    arguments.extend(columns.map(|column| set("printcolumn", &column.to_string())));
    arguments.extend(
        version
            .selectable_fields
            .iter()
            .map(|path| set("selectable", path)),
    );
    if !version.served {
        arguments.push("served = false".into());
    }
    if !version.storage {
        arguments.push("storage = false".into());
    }
    match &version.deprecated {
        Deprecation::No => {}
        Deprecation::Yes => arguments.push("deprecated".into()),
        Deprecation::WithWarning(warning) => arguments.push(set("deprecated", warning)),
    }
    arguments
}

/// Formats a value as JSON with a line for each keyword.
pub fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("a value can be written")
}

/// The CRD with only this version, without its schema.
fn definition(api: &Api, version: &Version) -> Value {
    let mut names = json!({
        "kind": api.names.kind, "listKind": api.names.list_kind, "plural": api.names.plural, "singular": api.names.singular,
    });
    put(&mut names, "shortNames", list(&api.names.short_names));
    put(&mut names, "categories", list(&api.names.categories));
    let mut entry =
        json!({"name": version.name, "served": version.served, "storage": version.storage});
    match &version.deprecated {
        Deprecation::No => {}
        Deprecation::Yes => put(&mut entry, "deprecated", Some(true.into())),
        Deprecation::WithWarning(warning) => {
            put(&mut entry, "deprecated", Some(true.into()));
            put(
                &mut entry,
                "deprecationWarning",
                Some(warning.as_str().into()),
            );
        }
    }
    let mut subresources = json!({});
    put(
        &mut subresources,
        "status",
        version.status_subresource.then(|| json!({})),
    );
    put(&mut subresources, "scale", version.scale.as_ref().map(|scale| {
        let mut value = json!({"specReplicasPath": scale.spec_replicas_path, "statusReplicasPath": scale.status_replicas_path});
        put(&mut value, "labelSelectorPath", scale.label_selector_path.as_deref().map(Value::from));
        value
    }));
    put(
        &mut entry,
        "subresources",
        Some(subresources).filter(|value| *value != json!({})),
    );
    let columns: Vec<Value> = version.printer_columns.iter().map(printer_column).collect();
    put(
        &mut entry,
        "additionalPrinterColumns",
        (!columns.is_empty()).then_some(Value::Array(columns)),
    );
    let selectable: Vec<Value> = version
        .selectable_fields
        .iter()
        .map(|path| json!({"jsonPath": path}))
        .collect();
    put(
        &mut entry,
        "selectableFields",
        (!selectable.is_empty()).then_some(Value::Array(selectable)),
    );
    let mut definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": api.name()},
        "spec": {
            "group": api.group,
            "names": names,
            "scope": match api.scope { Scope::Namespaced => "Namespaced", Scope::Cluster => "Cluster" },
        },
    });
    put(
        &mut definition["spec"],
        "versions",
        Some(Value::Array(vec![entry])),
    );
    definition
}

fn printer_column(column: &PrinterColumn) -> Value {
    let mut value = json!({"name": column.name, "type": column.type_});
    put(
        &mut value,
        "format",
        column.format.as_deref().map(Value::from),
    );
    put(
        &mut value,
        "description",
        column.description.as_deref().map(Value::from),
    );
    put(&mut value, "priority", column.priority.map(Value::from));
    put(
        &mut value,
        "jsonPath",
        Some(column.json_path.as_str().into()),
    );
    value
}

fn list(names: &[String]) -> Option<Value> {
    (!names.is_empty()).then(|| names.into())
}

fn put(object: &mut Value, key: &str, value: Option<Value>) {
    let object: Option<&mut Map<String, Value>> = object.as_object_mut();
    if let (Some(object), Some(value)) = (object, value) {
        object.insert(key.into(), value);
    }
}
