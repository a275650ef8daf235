//! The properties of a kind's types that a controller depends on, read from the type graph.

use serde_json::{Map, Value};

use super::{
    accessor, field_types,
    graph::{Field, Shape, Type, TypeGraph},
};
use crate::crd::Version;

/// The facts about one version of a kind.
#[derive(Clone, Debug)]
pub struct KindFacts {
    /// The Rust name of the root.
    pub root: String,
    pub has_spec: bool,
    /// The status, if it has a struct and a subresource.
    pub status: Option<StatusFacts>,
    graph: TypeGraph,
}

/// The facts about the status that the runtime and the scaffolds need.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusFacts {
    pub wrapped: Wrapped,
    /// The JSON of the struct's default, without nulls; `None` if it has no default.
    pub zero: Option<Value>,
    /// The field `conditions`, if it is a list of objects with `type` and `status`, whose other required fields are fields of
    /// metav1.Condition, or `lastUpdateTime`.
    pub conditions: Option<ConditionsFacts>,
}

/// The field `conditions` of a status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionsFacts {
    pub ident: String,
    pub wrapped: Wrapped,
    /// The fields that the type of the conditions has.
    pub fields: Vec<String>,
}

/// How many times `Option` wraps the Rust type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrapped {
    Bare,
    Option,
    /// `null` and absent are different values.
    Nested,
}

impl Wrapped {
    fn of(field: &Field) -> Self {
        match field.distinguishes_null_from_absent() {
            true => Self::Nested,
            false if field.optional || field.nullable => Self::Option,
            false => Self::Bare,
        }
    }
}

/// A path of fields from the root, in Rust.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    steps: Vec<(String, Wrapped)>,
    /// The type of the value at the end, without `Option`.
    pub rust_type: String,
    is_copy: bool,
    /// The default in the schema.
    pub default: Option<Value>,
    /// The accessor that returns the default.
    accessor: Option<String>,
}

impl KindFacts {
    pub fn of(graph: TypeGraph, version: &Version) -> Self {
        let status = graph
            .root
            .iter()
            .find(|field| field.wire == "status")
            .filter(|_| version.status_subresource);
        let status = status.and_then(|status| {
            let inner = graph.as_struct(&status.type_)?;
            let conditions = inner
                .fields
                .iter()
                .find(|field| field.wire == "conditions" && is_settable(&graph, &field.type_));
            Some(StatusFacts {
                wrapped: Wrapped::of(status),
                zero: inner.has_default.then(|| zero(&graph, &inner.fields)),
                conditions: conditions.map(|field| ConditionsFacts {
                    ident: field.ident.clone(),
                    wrapped: Wrapped::of(field),
                    fields: condition_fields(&graph, &field.type_),
                }),
            })
        });
        Self {
            root: graph.root_name.clone(),
            has_spec: graph.root.iter().any(|field| field.wire == "spec"),
            status,
            graph,
        }
    }

    pub(super) fn graph(&self) -> &TypeGraph {
        &self.graph
    }

    /// The record of the Rust types of all fields, which [`retyped`](super::retyped) compares.
    pub fn record(&self) -> String {
        field_types::record(&self.graph)
    }

    /// Follows wire names from the root. Returns `None` if one of them is not a field of a struct.
    pub fn access(&self, path: &[&str]) -> Option<Access> {
        let mut fields = &self.graph.root;
        let mut steps = vec![];
        for (index, wire) in path.iter().enumerate() {
            let field = fields.iter().find(|field| field.wire == *wire)?;
            steps.push((field.ident.clone(), Wrapped::of(field)));
            if index + 1 == path.len() {
                let (rust_type, is_copy) = match &field.type_ {
                    Type::String => ("String", false),
                    Type::Bool => ("bool", true),
                    Type::I32 => ("i32", true),
                    Type::I64 => ("i64", true),
                    _ => return None,
                };
                return Some(Access {
                    steps,
                    rust_type: rust_type.into(),
                    is_copy,
                    default: field.default.clone(),
                    accessor: accessor::name(&self.graph, field),
                });
            }
            fields = &self.graph.as_struct(&field.type_)?.fields;
        }
        None
    }
}

impl Access {
    /// Whether the expression of [`read`](Self::read) is an `Option`.
    pub fn is_optional(&self) -> bool {
        self.steps
            .iter()
            .any(|(_, wrapped)| *wrapped != Wrapped::Bare)
    }

    /// A Rust expression for the owned value, or for an `Option` of it. The variable `var` has the object.
    pub fn read(&self, var: &str) -> String {
        let mut text = var.to_owned();
        let mut optional = false;
        let last = self.steps.len() - 1;
        for (index, (ident, wrapped)) in self.steps.iter().enumerate() {
            let borrow = match (index == last, wrapped) {
                (true, Wrapped::Nested) if self.is_copy => ".flatten()",
                (true, Wrapped::Nested) => ".clone().flatten()",
                (true, _) if self.is_copy => "",
                (true, _) => ".clone()",
                (false, Wrapped::Bare) => "",
                (false, Wrapped::Option) => ".as_ref()",
                (false, Wrapped::Nested) => ".as_ref().and_then(Option::as_ref)",
            };
            if optional {
                let parent = &self.steps[index - 1].0;
                let (method, borrowed) = match wrapped {
                    Wrapped::Bare if index < last => ("map", "&"),
                    Wrapped::Bare => ("map", ""),
                    Wrapped::Option | Wrapped::Nested => ("and_then", ""),
                };
                text += &format!(".{method}(|{parent}| {borrowed}{parent}.{ident}{borrow})");
            } else {
                text += &format!(".{ident}{borrow}");
            }
            optional |= *wrapped != Wrapped::Bare;
        }
        text
    }

    /// A Rust expression that calls the accessor of the field, which applies the default. `None` if the field has no accessor, belongs to
    /// the root, or is below an `Option`.
    pub fn read_defaulted(&self, var: &str) -> Option<String> {
        let accessor = self.accessor.as_ref()?;
        let (_, before) = self.steps.split_last()?;
        let is_bare = |(_, wrapped): &(String, Wrapped)| *wrapped == Wrapped::Bare;
        if !before.iter().all(is_bare) || before.is_empty() {
            return None;
        }
        let path: String = before
            .iter()
            .map(|(ident, _)| format!(".{ident}"))
            .collect();
        let owned = if self.is_copy { "" } else { ".to_owned()" };
        Some(format!("{var}{path}.{accessor}(){owned}"))
    }

    /// The last field.
    pub fn ident(&self) -> &str {
        self.steps
            .last()
            .map(|(ident, _)| ident.as_str())
            .unwrap_or_default()
    }

    /// How many times `Option` wraps the last field.
    pub fn last(&self) -> Wrapped {
        self.steps
            .last()
            .map_or(Wrapped::Bare, |(_, wrapped)| *wrapped)
    }
}

/// The JSON of the default of a struct with these fields, without nulls, because the runtime sends none.
fn zero(graph: &TypeGraph, fields: &[Field]) -> Value {
    let is_written = |field: &&Field| !field.optional && !field.nullable;
    let entries = fields.iter().filter(is_written).map(|field| {
        let value = match &field.type_ {
            Type::String => "".into(),
            Type::Bool => false.into(),
            Type::I32 | Type::I64 => 0.into(),
            Type::Vec(_) => Value::Array(vec![]),
            Type::Kubernetes(foreign) => foreign.zero().unwrap_or_default(),
            type_ => match graph.as_struct(type_) {
                Some(inner) => zero(graph, &inner.fields),
                None => Value::Object(Map::new()),
            },
        };
        (field.wire.clone(), value)
    });
    Value::Object(entries.collect())
}

/// The fields of [`KNOWN`] that the items of the list have.
fn condition_fields(graph: &TypeGraph, type_: &Type) -> Vec<String> {
    let item = match type_ {
        Type::Vec(item) => graph.as_struct(item),
        _ => None,
    };
    let known = KNOWN.into_iter().filter(|wire| match item {
        Some(item) => item.fields.iter().any(|field| field.wire == *wire),
        // the type of k8s-openapi has all fields but this one
        None => *wire != "lastUpdateTime",
    });
    known.map(str::to_owned).collect()
}

/// The fields of a condition that the runtime sets.
const KNOWN: [&str; 7] = [
    "type",
    "status",
    "reason",
    "message",
    "lastTransitionTime",
    "lastUpdateTime",
    "observedGeneration",
];

/// Whether the type is a list of conditions that the runtime can set.
fn is_settable(graph: &TypeGraph, type_: &Type) -> bool {
    let Type::Vec(item) = type_ else { return false };
    if matches!(**item, Type::Kubernetes(foreign) if foreign.is_condition()) {
        return true;
    }
    let Some(item) = graph.as_struct(item) else {
        return false;
    };
    let has = |wire: &str| item.fields.iter().find(|field| field.wire == wire);
    let takes = |wire: &str, value: &str| {
        has(wire).is_some_and(|field| match &field.type_ {
            Type::String => true,
            Type::Named(id) => match &graph.resolve(*id).shape {
                Shape::Enum(variants) => variants.iter().any(|variant| variant.wire == value),
                _ => false,
            },
            _ => false,
        })
    };
    takes("type", "Ready")
        && takes("status", "True")
        && takes("status", "False")
        && ["reason", "message", "lastTransitionTime", "lastUpdateTime"]
            .iter()
            .all(|wire| has(wire).is_none_or(|field| field.type_ == Type::String))
        && has("observedGeneration").is_none_or(|field| field.type_ == Type::I64)
        && item
            .fields
            .iter()
            .all(|field| field.optional || KNOWN.contains(&field.wire.as_str()))
}
