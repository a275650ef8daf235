//! Writes the parts of a module that all its types have: fields, comments, attributes and the names of types.

use super::{
    attribute::{Argument, schemars},
    doc::Doc,
    graph::{Field, Type, TypeGraph},
    name::camel,
};
use crate::{
    rust::code::{attribute, joined, literal},
    types::SchemaMode,
};

/// Writes the types of a graph in a mode.
pub struct Writer<'a> {
    pub graph: &'a TypeGraph,
    pub mode: SchemaMode,
}

impl Writer<'_> {
    /// Formats a field with its comment and attributes. `renames` is whether the struct has `rename_all = "camelCase"`.
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

    /// The `#[schemars(..)]` attribute for what the derived schema lacks.
    pub fn schemars(&self, arguments: &[Argument]) -> String {
        schemars(arguments, &|type_| write(self.graph, type_))
    }

    /// The attribute of a field or variant that is not in the schema.
    pub fn skip(&self) -> &'static str {
        match self.mode {
            SchemaMode::Derive => "#[schemars(skip)]\n",
            SchemaMode::Embed => "",
        }
    }

    /// The Rust type of a field, with its `Option`s and its `Box`.
    pub fn written(&self, field: &Field) -> String {
        self.wrapped(field, value(self.graph, field))
    }

    /// Wraps the type in an `Option` if the value may be absent or null, and twice if these are distinguished. A `Value` has its own null.
    fn wrapped(&self, field: &Field, written: String) -> String {
        let option = |written: String| format!("Option<{written}>");
        if field.distinguishes_null_from_absent() {
            option(option(written))
        } else if field.optional || (field.nullable && field.type_ != Type::Any) {
            option(written)
        } else {
            written
        }
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

/// Whether `rename_all = "camelCase"` gives any field its wire name, which then needs no `rename`.
pub fn renames_all(fields: &[Field]) -> bool {
    fields
        .iter()
        .any(|field| field.ident != field.wire && camel(&field.ident) == field.wire)
}

/// The name of the map of unknown fields: `unknown_fields`, with as many `_` after it as are needed to differ from all fields.
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
    if field.boxed {
        format!("Box<{type_}>")
    } else {
        type_
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
