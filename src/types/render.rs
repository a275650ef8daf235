//! A graph as the text of a module.
//!
//! ```text
//! /// What is wanted.
//! #[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
//! #[serde(rename_all = "camelCase")]
//! pub struct WidgetSpec {
//!     /// How many there are.
//!     #[serde(default, skip_serializing_if = "Option::is_none")]
//!     pub replicas: Option<i32>,
//! }
//! ```

use super::{
    doc::comment,
    graph::{Definition, Field, Shape, Struct, Type, TypeGraph, Variant},
    name::camel,
    root::{Plain, Root},
};
use crate::{
    project::SchemaMode,
    rustfmt::{Written, alias, attribute, bracketed, derive, literal},
};

pub fn module(graph: &TypeGraph, root: &Root, mode: SchemaMode) -> String {
    let mut body = String::new();
    if let Root::Plain(plain) = root {
        body += &plain_root(graph, plain, mode);
    }
    let writer = Writer { graph, mode };
    for definition in &graph.definitions {
        body.push('\n');
        body += &writer.definition(definition, root);
    }
    imports(graph, root, mode) + &body + &support(graph, root, mode)
}

/// What attributes refer to, where any does.
fn support(graph: &TypeGraph, root: &Root, mode: SchemaMode) -> String {
    let mut text = String::new();
    if all_fields(graph).any(Field::keeps_null) {
        text += PRESENT;
    }
    if graph.root_keeps_unknown && matches!(root, Root::Plain(_)) {
        text += UNKNOWN_FIELDS;
    }
    if mode == SchemaMode::Derive && all_types(graph).any(holds_any_inside) {
        text += ANY_VALUE;
    }
    text
}

const PRESENT: &str = "
/// Reads what is there, so that `null` and an absent field stay two things.
fn present<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: serde::Deserializer<'de>,
{
    T::deserialize(deserializer).map(Some)
}
";

const UNKNOWN_FIELDS: &str = "
/// Reads what is left of an object; its type knows `apiVersion` and `kind`.
fn unknown_fields<'de, D>(deserializer: D) -> Result<BTreeMap<String, serde_json::Value>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    let mut fields = BTreeMap::deserialize(deserializer)?;
    fields.retain(|name: &String, _| name != \"apiVersion\" && name != \"kind\");
    Ok(fields)
}
";

const ANY_VALUE: &str = "
/// Stands in schemas for a value of any type.
struct AnyValue;

impl JsonSchema for AnyValue {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        \"AnyValue\".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({\"x-kubernetes-preserve-unknown-fields\": true})
    }
}
";

/// Only what the module uses.
fn imports(graph: &TypeGraph, root: &Root, mode: SchemaMode) -> String {
    let uses = |wanted: &Type| all_types(graph).any(|type_| type_.any(&|found| found == wanted));
    let maps = all_types(graph).any(|type_| type_.any(&|found| matches!(found, Type::Map(_))))
        || structs(graph).any(|found| found.keeps_unknown)
        || graph.root_keeps_unknown;
    let mut text = String::new();
    if maps {
        text += "use std::collections::BTreeMap;\n\n";
    }
    if matches!(root, Root::Plain(_)) {
        text += "use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;\n";
    }
    let mut api = vec![];
    if uses(&Type::Quantity) {
        api.push("api::resource::Quantity");
    }
    if uses(&Type::Condition) {
        api.push("apis::meta::v1::Condition");
    }
    if uses(&Type::IntOrString) {
        api.push("util::intstr::IntOrString");
    }
    text += &match api.as_slice() {
        [] => String::new(),
        [one] => format!("use k8s_openapi::apimachinery::pkg::{one};\n"),
        many => {
            let names = many.join(", ");
            let line = format!("use k8s_openapi::apimachinery::pkg::{{{names}}};\n");
            if line.len() <= 101 {
                line
            } else {
                line.replace(&names, &format!("\n    {names},\n"))
            }
        }
    };
    if matches!(root, Root::Derived(_)) {
        text += "use kube::CustomResource;\n";
    }
    if mode == SchemaMode::Derive {
        text += "use schemars::JsonSchema;\n";
    }
    let serialize = !graph.definitions.is_empty() || matches!(root, Root::Plain(_));
    text + if serialize {
        "use serde::{Deserialize, Serialize};\n"
    } else {
        "use serde::Deserialize;\n"
    }
}

fn structs(graph: &TypeGraph) -> impl Iterator<Item = &Struct> {
    graph
        .definitions
        .iter()
        .filter_map(|definition| match &definition.shape {
            Shape::Struct(found) => Some(found),
            _ => None,
        })
}

fn all_fields(graph: &TypeGraph) -> impl Iterator<Item = &Field> {
    let fields = structs(graph).flat_map(|found| &found.fields);
    fields.chain(&graph.root)
}

fn all_types(graph: &TypeGraph) -> impl Iterator<Item = &Type> {
    all_fields(graph).map(|field| &field.type_)
}

/// Whether values of any type are where no attribute of the field reaches them. `serde_json::Value` derives a schema that says nothing,
/// which is not structural.
fn holds_any_inside(type_: &Type) -> bool {
    let is_outer = *type_ == Type::Any || *type_ == Type::Map(Box::new(Type::Any));
    !is_outer && type_.any(&|found| *found == Type::Any)
}

struct Writer<'a> {
    graph: &'a TypeGraph,
    mode: SchemaMode,
}

impl Writer<'_> {
    fn definition(&self, definition: &Definition, root: &Root) -> String {
        let doc = comment(0, definition.doc.as_deref());
        match &definition.shape {
            Shape::Alias(first) => alias(&definition.name, &self.graph.get(*first).name),
            Shape::Enum(variants) => doc + &self.enumeration(&definition.name, variants),
            Shape::Struct(found) => {
                let kube = match root {
                    Root::Derived(arguments) if self.is_spec(definition) => {
                        Some(arguments.as_slice())
                    }
                    _ => None,
                };
                doc + &self.structure(&definition.name, found, kube)
            }
        }
    }

    fn is_spec(&self, definition: &Definition) -> bool {
        self.graph.root.iter().any(|field| {
            field.wire == "spec"
                && matches!(&field.type_, Type::Named(id) if std::ptr::eq(self.graph.get(*id), definition))
        })
    }

    fn structure(&self, name: &str, found: &Struct, kube: Option<&[String]>) -> String {
        let mut names = vec!["Clone", "Debug"];
        if found.has_default {
            names.push("Default");
        }
        names.push("PartialEq");
        if kube.is_some() {
            names.push("CustomResource");
        }
        names.push("Deserialize");
        if self.mode == SchemaMode::Derive {
            names.push("JsonSchema");
        }
        names.push("Serialize");
        let mut text = derive(&names) + &attribute(0, "kube", kube.unwrap_or_default());
        let renames = renames_all(&found.fields);
        if renames {
            text += "#[serde(rename_all = \"camelCase\")]\n";
        }
        if found.fields.is_empty() && !found.keeps_unknown {
            return text + &format!("pub struct {name} {{}}\n");
        }
        let brace = if name.len() + "pub struct  {".len() > 100 {
            "\n{"
        } else {
            " {"
        };
        text += &format!("pub struct {name}{brace}\n");
        let mut parts: Vec<String> = found
            .fields
            .iter()
            .map(|field| self.field(field, renames))
            .collect();
        if found.keeps_unknown {
            let ident = unknown_ident(&found.fields);
            parts.push(format!(
                "    /// Fields that the schema does not name.\n    #[serde(flatten)]\n    pub {ident}: BTreeMap<String, serde_json::Value>,\n"
            ));
        }
        text + &parts.join("\n") + "}\n"
    }

    fn field(&self, field: &Field, renames: bool) -> String {
        let mut serde = vec![];
        let implied = if renames {
            camel(&field.ident)
        } else {
            field.ident.clone()
        };
        if implied != field.wire {
            serde.push(format!("rename = {}", literal(&field.wire)));
        }
        if field.optional {
            serde.extend([
                "default".to_owned(),
                "skip_serializing_if = \"Option::is_none\"".into(),
            ]);
        }
        if field.keeps_null() {
            serde.push("deserialize_with = \"present\"".into());
        }
        let text = comment(4, field.doc.as_deref()) + &attribute(4, "serde", &serde);
        text + &self.schemars(field) + &self.written(field).field(&field.ident)
    }

    /// What the derived schema must be told of values of any type.
    fn schemars(&self, field: &Field) -> String {
        if self.mode == SchemaMode::Embed || !field.type_.any(&|found| *found == Type::Any) {
            String::new()
        } else if holds_any_inside(&field.type_) {
            let stand_in = self.wrapped(field, write_as(self.graph, &field.type_, "AnyValue"));
            attribute(
                4,
                "schemars",
                &[format!("with = \"{}\"", stand_in.inline())],
            )
        } else {
            "    #[schemars(extend(\"x-kubernetes-preserve-unknown-fields\" = true))]\n".into()
        }
    }

    fn written(&self, field: &Field) -> Written {
        self.wrapped(field, write(self.graph, &field.type_))
    }

    /// `Option` where the value may be absent or null, twice where these are told apart. A `Value` has its own null.
    fn wrapped(&self, field: &Field, written: Written) -> Written {
        let option = |written| Written::Generic("Option", vec![written]);
        if field.tells_null_from_absent() {
            option(option(written))
        } else if field.optional || (field.nullable && field.type_ != Type::Any) {
            option(written)
        } else {
            written
        }
    }

    fn enumeration(&self, name: &str, variants: &[Variant]) -> String {
        let mut names = vec!["Clone", "Copy", "Debug", "Eq", "PartialEq", "Deserialize"];
        if self.mode == SchemaMode::Derive {
            names.push("JsonSchema");
        }
        names.push("Serialize");
        let variants: String = variants
            .iter()
            .map(|variant| {
                let rename = (variant.ident != variant.wire)
                    .then(|| format!("rename = {}", literal(&variant.wire)));
                attribute(4, "serde", rename.as_slice()) + &format!("    {},\n", variant.ident)
            })
            .collect();
        // rustfmt puts the brace of a head that fills the line on the next
        let brace = if name.len() + "pub enum  {".len() > 100 {
            "\n{"
        } else {
            " {"
        };
        derive(&names) + &format!("pub enum {name}{brace}\n{variants}}}\n")
    }
}

/// Whether `rename_all = "camelCase"` spares a field its own `rename`.
fn renames_all(fields: &[Field]) -> bool {
    fields
        .iter()
        .any(|field| field.ident != field.wire && camel(&field.ident) == field.wire)
}

/// The name of the map of unknown fields. No wire name gives it by chance, so a field that is added to the schema does not rename it.
fn unknown_ident(fields: &[Field]) -> String {
    let mut ident = "unknown_fields".to_owned();
    while fields.iter().any(|field| field.ident == ident) {
        ident.push('_');
    }
    ident
}

fn write(graph: &TypeGraph, type_: &Type) -> Written {
    write_as(graph, type_, "serde_json::Value")
}

fn write_as(graph: &TypeGraph, type_: &Type, any: &str) -> Written {
    let leaf = |name: &str| Written::Leaf(name.to_owned());
    match type_ {
        Type::String => leaf("String"),
        Type::Bool => leaf("bool"),
        Type::I32 => leaf("i32"),
        Type::I64 => leaf("i64"),
        Type::Number => leaf("serde_json::Number"),
        Type::Any => leaf(any),
        Type::IntOrString => leaf("IntOrString"),
        Type::Condition => leaf("Condition"),
        Type::Quantity => leaf("Quantity"),
        Type::Vec(inner) => Written::Generic("Vec", vec![write_as(graph, inner, any)]),
        Type::Map(inner) => Written::Generic(
            "BTreeMap",
            vec![leaf("String"), write_as(graph, inner, any)],
        ),
        Type::Nullable(inner) => Written::Generic("Option", vec![write_as(graph, inner, any)]),
        Type::Named(id) => Written::Leaf(graph.get(*id).name.clone()),
    }
}

/// The root as a plain struct, with the impls that kube-derive would have written.
fn plain_root(graph: &TypeGraph, plain: &Plain, mode: SchemaMode) -> String {
    let name = &graph.root_name;
    let writer = Writer { graph, mode };
    let has_default = graph.root.iter().all(|field| {
        field.optional
            || graph
                .as_struct(&field.type_)
                .is_some_and(|found| found.has_default)
    });
    let mut names = vec!["Clone", "Debug"];
    if has_default {
        names.push("Default");
    }
    names.extend(["PartialEq", "Deserialize"]);
    if mode == SchemaMode::Derive {
        names.push("JsonSchema");
    }
    let renames = renames_all(&graph.root);
    let mut text = format!("\n{}{}", comment(0, plain.doc.as_deref()), derive(&names));
    if renames {
        text += "#[serde(rename_all = \"camelCase\")]\n";
    }
    text += &format!("pub struct {name} {{\n    #[serde(default)]\n");
    if mode == SchemaMode::Derive {
        text += "    #[schemars(skip)]\n";
    }
    text += "    pub metadata: kube::api::ObjectMeta,\n";
    for field in &graph.root {
        text += &format!("\n{}", writer.field(field, renames));
    }
    if graph.root_keeps_unknown {
        let ident = unknown_ident(&graph.root);
        text += &format!(
            "\n    /// Fields that the schema does not name.\n    #[serde(flatten, deserialize_with = \"unknown_fields\")]\n    pub {ident}: BTreeMap<String, serde_json::Value>,\n"
        );
    }
    text += "}\n";
    text + &serialize(graph, plain)
        + &resource(name, plain)
        + &definition(name, plain, mode)
        + &has(graph)
}

fn serialize(graph: &TypeGraph, plain: &Plain) -> String {
    let api_version = format!("{}/{}", plain.group, plain.version);
    let unknown = graph.root_keeps_unknown.then(|| {
        format!(
            "        for (name, value) in &self.{} {{\n            map.serialize_entry(name, value)?;\n        }}\n",
            unknown_ident(&graph.root)
        )
    });
    let fields: String = graph
        .root
        .iter()
        .map(|field| {
            let (wire, ident) = (literal(&field.wire), &field.ident);
            if field.optional {
                format!(
                    "        if let Some({ident}) = &self.{ident} {{\n            map.serialize_entry({wire}, {ident})?;\n        }}\n"
                )
            } else {
                entry(&field.wire, &format!("&self.{ident}"))
            }
        })
        .collect();
    format!(
        "
impl Serialize for {name} {{
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {{
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(None)?;
{envelope}{fields}{unknown}        map.end()
    }}
}}
",
        name = graph.root_name,
        envelope = entry("apiVersion", &literal(&api_version))
            + &entry("kind", &literal(&plain.kind))
            + &entry("metadata", "&self.metadata"),
        unknown = unknown.unwrap_or_default(),
    )
}

fn entry(wire: &str, value: &str) -> String {
    bracketed(
        8,
        "map.serialize_entry",
        ['(', ')'],
        &[literal(wire), value.into()],
        "?;",
    )
}

fn resource(name: &str, plain: &Plain) -> String {
    let scope = if plain.namespaced {
        "NamespaceResourceScope"
    } else {
        "ClusterResourceScope"
    };
    let functions: String = [("kind", &plain.kind), ("group", &plain.group), ("version", &plain.version), ("plural", &plain.plural)]
        .into_iter()
        .map(|(function, value)| {
            format!("\n    fn {function}(_: &()) -> std::borrow::Cow<'_, str> {{\n        {value:?}.into()\n    }}\n")
        })
        .collect();
    format!(
        "
impl kube::Resource for {name} {{
    type DynamicType = ();
    type Scope = kube::core::{scope};
{functions}
    fn meta(&self) -> &kube::api::ObjectMeta {{
        &self.metadata
    }}

    fn meta_mut(&mut self) -> &mut kube::api::ObjectMeta {{
        &mut self.metadata
    }}
}}
"
    )
}

fn definition(name: &str, plain: &Plain, mode: SchemaMode) -> String {
    let mut hashes = "#".to_owned();
    while plain.definition.contains(&format!("\"{hashes}")) {
        hashes.push('#');
    }
    let short_names: Vec<String> = plain.short_names.iter().map(|name| literal(name)).collect();
    let crd = match mode {
        SchemaMode::Embed => {
            "        serde_json::from_str(DEFINITION).expect(\"the text is a definition\")\n"
                .to_owned()
        }
        SchemaMode::Derive => {
            "        let generator = schemars::generate::SchemaSettings::openapi3()
            .with(|settings| {
                settings.inline_subschemas = true;
                settings.meta_schema = None;
            })
            .with_transform(schemars::transform::AddNullable::default())
            .with_transform(kube::core::schema::StructuralSchemaRewriter)
            .with_transform(kube::core::schema::OptionalEnum)
            .with_transform(kube::core::schema::OptionalIntOrString)
            .into_generator();
        let schema = generator.into_root_schema_for::<Self>();
        let mut definition: serde_json::Value =
            serde_json::from_str(DEFINITION).expect(\"the text is JSON\");
        definition[\"spec\"][\"versions\"][0][\"schema\"][\"openAPIV3Schema\"] = schema.to_value();
        serde_json::from_value(definition).expect(\"the schema is one of OpenAPI v3\")
"
            .to_owned()
        }
    };
    format!(
        "
impl kube::CustomResourceExt for {name} {{
    fn crd() -> CustomResourceDefinition {{
{crd}    }}

    fn crd_name() -> &'static str {{
        {crd_name:?}
    }}

    fn api_resource() -> kube::core::ApiResource {{
        kube::core::ApiResource::erase::<Self>(&())
    }}

    fn shortnames() -> &'static [&'static str] {{
{short_names}    }}
}}

const DEFINITION: &str = r{hashes}\"{definition}\"{hashes};
",
        crd_name = format!("{}.{}", plain.plural, plain.group),
        short_names = bracketed(8, "&", ['[', ']'], &short_names, ""),
        definition = plain.definition,
    )
}

/// The accessors that generic code wants.
fn has(graph: &TypeGraph) -> String {
    let mut text = String::new();
    let writer = Writer {
        graph,
        mode: SchemaMode::Embed,
    };
    let name = &graph.root_name;
    if let Some(spec) = graph.root.iter().find(|field| field.wire == "spec") {
        let type_ = writer.written(spec).inline();
        text += &format!(
            "
impl kube::core::object::HasSpec for {name} {{
    type Spec = {type_};

    fn spec(&self) -> &Self::Spec {{
        &self.spec
    }}

    fn spec_mut(&mut self) -> &mut Self::Spec {{
        &mut self.spec
    }}
}}
"
        );
    }
    if let Some(status) = graph
        .root
        .iter()
        .find(|field| field.wire == "status" && (field.optional || field.nullable))
    {
        let status = Field {
            nullable: status.optional && status.nullable,
            optional: false,
            ..status.clone()
        };
        let type_ = writer.written(&status).inline();
        text += &format!(
            "
impl kube::core::object::HasStatus for {name} {{
    type Status = {type_};

    fn status(&self) -> Option<&Self::Status> {{
        self.status.as_ref()
    }}

    fn status_mut(&mut self) -> &mut Option<Self::Status> {{
        &mut self.status
    }}
}}
"
        );
    }
    text
}
