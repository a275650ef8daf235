//! Renders a type graph to the text of a module.
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
    accessor::accessors,
    attribute::{Argument, schemars},
    doc::Doc,
    graph::{Definition, Field, Shape, Struct, Type, TypeGraph, Variant},
    import::{imports, support},
    name::camel,
    plain::plain_root,
    root::Root,
    schema::derived_schema,
    schema_attributes::Supplement,
    schema_file::SchemaFile,
    unique_name::UNRECOGNIZED,
};
use crate::{
    rust::code::{attribute, indented, joined, literal},
    types::SchemaMode,
};

/// Schemas go to `file` if it is given.
pub fn module(
    graph: &TypeGraph,
    root: &Root,
    mode: SchemaMode,
    supplement: &Supplement,
    file: &mut Option<SchemaFile<'_>>,
) -> String {
    let mut text = imports(graph, root, mode);
    let writer = Writer { graph, mode };
    let mut definitions = graph.definitions.iter();
    match root {
        Root::Plain(plain) => text += &plain_root(graph, plain, mode, supplement, file),
        Root::Derived(derived) => {
            let spec = definitions.next().map(|spec| writer.definition(spec, root));
            text += &format!("\n{}", spec.unwrap_or_default());
            text += &derived_schema(graph, derived, supplement);
        }
    }
    for definition in definitions {
        text.push('\n');
        text += &writer.definition(definition, root);
    }
    text + &support(graph, root, mode, supplement, file)
}

pub struct Writer<'a> {
    pub graph: &'a TypeGraph,
    pub mode: SchemaMode,
}

impl Writer<'_> {
    fn definition(&self, definition: &Definition, root: &Root) -> String {
        let doc = || comment(definition.doc.as_ref());
        match &definition.shape {
            Shape::Alias(first) => {
                let target = format!("{};\n", self.graph.get(*first).name);
                joined(&format!("pub type {} =", definition.name), &target)
            }
            Shape::Enum(variants) => doc() + &self.enumeration(definition, variants),
            Shape::Struct(shape) => {
                let kube = match root {
                    Root::Derived(derived) if self.is_spec(definition) => {
                        Some(derived.arguments.as_slice())
                    }
                    _ => None,
                };
                doc() + &self.structure(definition, shape, kube)
            }
        }
    }

    fn is_spec(&self, definition: &Definition) -> bool {
        self.graph.root.iter().any(|field| {
            field.wire == "spec"
                && matches!(&field.type_, Type::Named(id) if std::ptr::eq(self.graph.get(*id), definition))
        })
    }

    fn structure(
        &self,
        definition: &Definition,
        shape: &Struct,
        kube: Option<&[String]>,
    ) -> String {
        let name = &definition.name;
        let mut names = vec!["Clone", "Debug"];
        if shape.has_default {
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
        let mut text = derive(&names) + &attribute("kube", kube.unwrap_or_default());
        let renames = renames_all(&shape.fields);
        if renames {
            text += "#[serde(rename_all = \"camelCase\")]\n";
        }
        text += &self.schemars(&definition.schemars);
        if shape.is_empty() {
            return text + &format!("pub struct {name} {{}}\n");
        }
        let mut parts: Vec<String> = shape
            .fields
            .iter()
            .map(|field| self.field(field, renames))
            .collect();
        if shape.keeps_unknown {
            let ident = unknown_ident(&shape.fields);
            let skip = self.skip();
            parts.push(format!(
                "/// Fields that are not in the schema.\n#[serde(flatten)]\n{skip}pub {ident}: BTreeMap<String, serde_json::Value>,\n"
            ));
        }
        let fields = indented(&parts.join("\n"));
        text += &format!("pub struct {name} {{\n{fields}}}\n");
        text + &accessors(self.graph, definition, shape)
    }

    pub fn field(&self, field: &Field, renames: bool) -> String {
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
        let head = format!("pub {}:", field.ident);
        comment(field.doc.as_ref())
            + &attribute("serde", &serde)
            + &self.schemars(&field.schemars)
            + &joined(&head, &format!("{},\n", self.written(field)))
    }

    /// The attributes for the parts that the derived schema lacks.
    pub fn schemars(&self, arguments: &[Argument]) -> String {
        schemars(arguments, &|type_| write(self.graph, type_))
    }

    /// The comment of a field or variant that is not in the schema.
    pub fn skip(&self) -> &'static str {
        match self.mode {
            SchemaMode::Derive => "#[schemars(skip)]\n",
            SchemaMode::Embed => "",
        }
    }

    pub fn written(&self, field: &Field) -> String {
        self.wrapped(field, value(self.graph, field))
    }

    /// Wraps the type in an `Option` if the value may be absent or null, and twice if these are distinguished. A `Value` has its own null.
    fn wrapped(&self, field: &Field, written: String) -> String {
        let option = |written: String| format!("Option<{written}>");
        if field.tells_null_from_absent() {
            option(option(written))
        } else if field.optional || (field.nullable && field.type_ != Type::Any) {
            option(written)
        } else {
            written
        }
    }

    fn enumeration(&self, definition: &Definition, variants: &[Variant]) -> String {
        let name = &definition.name;
        let mut names = vec!["Clone", "Debug", "Eq", "PartialEq", "Deserialize"];
        if self.mode == SchemaMode::Derive {
            names.push("JsonSchema");
        }
        names.push("Serialize");
        let variants: String = variants
            .iter()
            .map(|variant| {
                let rename = (variant.ident != variant.wire)
                    .then(|| format!("rename = {}", literal(&variant.wire)));
                attribute("serde", rename.as_slice()) + &format!("{},\n", variant.ident)
            })
            .collect();
        let schemars = self.schemars(&definition.schemars);
        let skip = self.skip();
        let variants = indented(&format!(
            "{variants}/// A value that is not in this version of the schema.\n#[serde(untagged)]\n{skip}{UNRECOGNIZED}(String),\n"
        ));
        derive(&names) + &schemars + &format!("pub enum {name} {{\n{variants}}}\n")
    }
}

/// `#[derive(names)]`.
pub fn derive(names: &[&str]) -> String {
    format!("#[derive({})]\n", names.join(", "))
}

/// The doc comment of a description; empty if there is none.
pub fn comment(doc: Option<&Doc>) -> String {
    doc.map(Doc::comment).unwrap_or_default()
}

/// Whether `rename_all = "camelCase"` gives a field its wire name, so that it needs no `rename`.
pub fn renames_all(fields: &[Field]) -> bool {
    fields
        .iter()
        .any(|field| field.ident != field.wire && camel(&field.ident) == field.wire)
}

/// The name of the map of unknown fields. No wire name results in it, so a new field in the schema does not rename it.
pub fn unknown_ident(fields: &[Field]) -> String {
    let mut ident = "unknown_fields".to_owned();
    while fields.iter().any(|field| field.ident == ident) {
        ident.push('_');
    }
    ident
}

/// The type in a field, without its `Option`s.
pub fn value(graph: &TypeGraph, field: &Field) -> String {
    let type_ = write(graph, &field.type_);
    match field.boxed {
        true => format!("Box<{type_}>"),
        false => type_,
    }
}

/// Formats a type.
pub fn write(graph: &TypeGraph, type_: &Type) -> String {
    let name = match type_ {
        Type::String => "String",
        Type::Bool => "bool",
        Type::I32 => "i32",
        Type::I64 => "i64",
        Type::Number => "serde_json::Number",
        Type::Any => "serde_json::Value",
        Type::IntOrString => "IntOrString",
        Type::Kubernetes(foreign) if graph.has_name(foreign.name()) => {
            return format!("k8s_openapi::{}", foreign.path());
        }
        Type::Kubernetes(foreign) => foreign.name(),
        Type::Quantity => "Quantity",
        Type::Vec(inner) => return format!("Vec<{}>", write(graph, inner)),
        Type::Map(inner) => return format!("BTreeMap<String, {}>", write(graph, inner)),
        Type::Nullable(inner) => return format!("Option<{}>", write(graph, inner)),
        Type::Named(id) => &graph.get(*id).name,
    };
    name.to_owned()
}
