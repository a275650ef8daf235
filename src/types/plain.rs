//! The root of a kind that kube-derive cannot express: a plain struct, with the implementations that kube-derive would generate.
//!
//! kube's own transforms of schemas change unions, and make every `Option` nullable. A kind that they would change has this root, and
//! generates its schema without them.

use super::{
    graph::{Field, TypeGraph},
    root::Plain,
    schema,
    schema_file::SchemaFile,
    supplement::Supplement,
    write::{Writer, comment, derive, renames_all, unknown_ident},
};
use crate::{
    rust::code::{indented, joined, json_literal, list, literal},
    types::SchemaMode,
};

/// The root, as a plain struct with the impls that kube-derive would generate.
pub fn plain_root(
    graph: &TypeGraph,
    plain: &Plain,
    mode: SchemaMode,
    supplement: &Supplement,
    file: &mut Option<SchemaFile<'_>>,
) -> String {
    let name = &graph.root_name;
    let writer = Writer { graph, mode };
    let has_default = graph.root.iter().all(|field| {
        field.optional
            || graph
                .as_struct(&field.type_)
                .is_some_and(|shape| shape.has_default)
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
    let mut text = format!("\n{}{}", comment(plain.doc.as_ref()), derive(&names));
    if renames {
        text += "#[serde(rename_all = \"camelCase\")]\n";
    }
    text += &writer.schemars(&graph.root_schemars);
    let skip = writer.skip();
    let mut fields = format!("#[serde(default)]\n{skip}pub metadata: kube::core::ObjectMeta,\n");
    for field in &graph.root {
        fields += &format!("\n{}", writer.field(field, renames));
    }
    if graph.root_keeps_unknown {
        let ident = unknown_ident(&graph.root);
        fields += &format!(
            "\n/// Fields that are not in the schema.\n#[serde(flatten, deserialize_with = \"unknown_fields\")]\n{skip}pub {ident}: BTreeMap<String, serde_json::Value>,\n"
        );
    }
    text += &format!("pub struct {name} {{\n{}}}\n", indented(&fields));
    text += &serialize(graph, plain);
    text += &resource(name, plain);
    text += &custom_resource(graph, plain, mode, supplement);
    text += &format!(
        "\nconst DEFINITION: &str = {};\n",
        json_literal(&plain.definition)
    );
    if let Some(schema) = &plain.schema {
        let included = match file {
            Some(file) => file.put(schema.clone()),
            None => json_literal(schema),
        };
        text += &format!("\nconst SCHEMA: &str = {included};\n");
    }
    text + &has_spec_and_status(graph)
}

/// The impl of `Serialize`, which writes `apiVersion` and `kind`, too.
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
{head}
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {{
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(None)?;
{envelope}{fields}{unknown}        map.end()
    }}
}}
",
        head = head("Serialize", &graph.root_name),
        envelope = entry("apiVersion", &literal(&api_version))
            + &entry("kind", &literal(&plain.kind))
            + &entry("metadata", "&self.metadata"),
        unknown = unknown.unwrap_or_default(),
    )
}

fn entry(wire: &str, value: &str) -> String {
    let arguments = [literal(wire), value.to_owned()];
    indented(&indented(&list(
        "map.serialize_entry",
        ['(', ')'],
        &arguments,
        "?;",
    )))
}

/// `impl trait for name {`.
fn head(trait_: &str, name: &str) -> String {
    joined(&format!("impl {trait_}"), &format!("for {name} {{"))
}

fn resource(name: &str, plain: &Plain) -> String {
    let scope = if plain.namespaced {
        "NamespaceResourceScope"
    } else {
        "ClusterResourceScope"
    };
    let functions: String = [
        ("kind", &plain.kind),
        ("group", &plain.group),
        ("version", &plain.version),
        ("plural", &plain.plural),
    ]
    .into_iter()
    .map(|(function, value)| {
        let value = literal(value);
        format!("\n    fn {function}(_: &()) -> std::borrow::Cow<'_, str> {{\n        {value}.into()\n    }}\n")
    })
    .collect();
    let head = head("kube::Resource", name);
    format!(
        "
{head}
    type DynamicType = ();
    type Scope = kube::core::{scope};
{functions}
    fn meta(&self) -> &kube::core::ObjectMeta {{
        &self.metadata
    }}

    fn meta_mut(&mut self) -> &mut kube::core::ObjectMeta {{
        &mut self.metadata
    }}
}}
"
    )
}

/// The impl of `CustomResourceExt`, whose `crd()` has the whole schema.
fn custom_resource(
    graph: &TypeGraph,
    plain: &Plain,
    mode: SchemaMode,
    supplement: &Supplement,
) -> String {
    let head = head("kube::CustomResourceExt", &graph.root_name);
    let short_names: Vec<String> = plain.short_names.iter().map(|name| literal(name)).collect();
    let crd = match mode {
        SchemaMode::Embed => EMBEDDED.to_owned(),
        SchemaMode::Derive => {
            schema::generate(graph, supplement)
                + "        let mut definition: serde_json::Value =
            serde_json::from_str(DEFINITION).expect(\"the constant is valid JSON\");
        definition[\"spec\"][\"versions\"][0][\"schema\"][\"openAPIV3Schema\"] = schema.to_value();
        serde_json::from_value(definition).expect(\"the schema is valid OpenAPI v3\")
"
        }
    };
    format!(
        "
{head}
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
",
        crd_name = format!("{}.{}", plain.plural, plain.group),
        short_names = indented(&indented(&list("&", ['[', ']'], &short_names, ""))),
    )
}

const EMBEDDED: &str = "        let mut definition: CustomResourceDefinition =
            serde_json::from_str(DEFINITION).expect(\"the constant is a valid CRD\");
        let schema = serde_json::from_str(SCHEMA).expect(\"the constant is a valid schema\");
        let validation = &mut definition.spec.versions[0].schema;
        validation.get_or_insert_default().open_api_v3_schema = Some(schema);
        definition
";

/// `type name = target;`.
fn associated(name: &str, target: &str) -> String {
    indented(&joined(&format!("type {name} ="), &format!("{target};\n")))
}

/// The impls of `HasSpec` and `HasStatus`, which generic code over kinds requires.
fn has_spec_and_status(graph: &TypeGraph) -> String {
    let mut text = String::new();
    let writer = Writer {
        graph,
        mode: SchemaMode::Embed,
    };
    let name = &graph.root_name;
    if let Some(spec) = graph.root.iter().find(|field| field.wire == "spec") {
        let type_ = associated("Spec", &writer.written(spec));
        let head = head("kube::core::object::HasSpec", name);
        text += &format!(
            "
{head}
{type_}
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
        let type_ = associated("Status", &writer.written(&status));
        let head = head("kube::core::object::HasStatus", name);
        text += &format!(
            "
{head}
{type_}
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
