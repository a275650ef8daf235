//! The Rust types of fields, with the paths that code outside of their module needs.

use super::{
    facts::KindFacts,
    graph::{Field, Type, TypeGraph},
};
use crate::conversion::{Path, Step};

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueType {
    /// The type of a value that is present and not null.
    pub text: String,
    pub is_optional: bool,
}

impl ValueType {
    /// The type of a value that may be absent, if the field allows that.
    pub fn or_absent(&self) -> String {
        if self.is_optional {
            format!("Option<{}>", self.text)
        } else {
            self.text.clone()
        }
    }
}

impl KindFacts {
    /// The type of a field, an item or a value, where `module` is the path of the types' module. Within a type of another crate, and where
    /// the schema has no type, it is `serde_json::Value`.
    pub fn type_at(&self, path: &Path, module: &str) -> ValueType {
        let graph = self.graph();
        let found = find(graph, path);
        let text = found.map(|(type_, _)| write(graph, type_, module));
        ValueType {
            text: text.unwrap_or_else(|| ANY.into()),
            is_optional: found.is_none_or(|(_, is_optional)| is_optional),
        }
    }
}

const ANY: &str = "serde_json::Value";

/// The type at the end of a path, and whether it may be absent or null.
fn find<'a>(graph: &'a TypeGraph, path: &Path) -> Option<(&'a Type, bool)> {
    let mut found: Option<(&Type, bool)> = None;
    for step in path.steps() {
        let around = found.map(|(type_, _)| type_);
        found = match (step, around) {
            (Step::Field(name), around) => {
                let fields = match around {
                    None => &graph.root,
                    Some(type_) => &graph.as_struct(type_)?.fields,
                };
                let field = fields.iter().find(|field| field.wire == *name)?;
                Some((&field.type_, is_optional(field)))
            }
            (Step::Items(_), Some(Type::Vec(inner))) | (Step::Values, Some(Type::Map(inner))) => {
                Some((inner, false))
            }
            _ => return None,
        };
        if let Some((Type::Nullable(inner), _)) = found {
            found = Some((inner, true));
        }
    }
    found
}

fn is_optional(field: &Field) -> bool {
    field.optional || field.nullable
}

/// Formats a type with full paths.
fn write(graph: &TypeGraph, type_: &Type, module: &str) -> String {
    match type_ {
        Type::String => "String".into(),
        Type::Bool => "bool".into(),
        Type::I32 => "i32".into(),
        Type::I64 => "i64".into(),
        Type::Number => "serde_json::Number".into(),
        Type::Any => ANY.into(),
        Type::IntOrString => "k8s_openapi::apimachinery::pkg::util::intstr::IntOrString".into(),
        Type::Quantity => "k8s_openapi::apimachinery::pkg::api::resource::Quantity".into(),
        Type::Kubernetes(foreign) => format!("k8s_openapi::{}", foreign.path()),
        Type::Vec(inner) => format!("Vec<{}>", write(graph, inner, module)),
        Type::Map(inner) => {
            let values = write(graph, inner, module);
            format!("std::collections::BTreeMap<String, {values}>")
        }
        Type::Nullable(inner) => format!("Option<{}>", write(graph, inner, module)),
        Type::Named(id) => format!("{module}::{}", graph.get(*id).name),
    }
}
