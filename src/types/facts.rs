//! What a controller must know of the types of its kind, read off the graph, so that it is true by construction.

use serde_json::Value;

use super::{
    accessor,
    graph::{Shape, Type, TypeGraph},
    record,
};
use crate::crd::Version;

#[derive(Clone, Debug)]
pub struct KindFacts {
    /// The root's Rust name.
    pub root: String,
    pub has_spec: bool,
    /// Of a status that has a struct and a subresource.
    pub status: Option<StatusFacts>,
    graph: TypeGraph,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusFacts {
    pub has_default: bool,
    /// A list of objects that have at least `type` and `status`, and no other required field than those of metav1.Condition and
    /// `lastUpdateTime`.
    pub conditions: Option<ConditionsFacts>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionsFacts {
    pub ident: String,
    pub optional: bool,
}

/// A path of fields from the root, as Rust sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// `(ident, is an Option)`.
    steps: Vec<(String, bool)>,
    /// Of the value at the end, without the `Option`.
    pub rust_type: String,
    is_copy: bool,
    /// The schema's default for it.
    pub default: Option<Value>,
    /// The method that knows the default.
    accessor: Option<String>,
}

impl KindFacts {
    pub fn of(graph: TypeGraph, version: &Version) -> Self {
        let status = graph
            .root
            .iter()
            .find(|field| field.wire == "status")
            .filter(|_| version.status_subresource);
        let status = status
            .and_then(|status| graph.as_struct(&status.type_))
            .map(|status| StatusFacts {
                has_default: status.has_default,
                conditions: status
                    .fields
                    .iter()
                    .find(|field| {
                        field.wire == "conditions"
                            && !field.nullable
                            && is_settable(&graph, &field.type_)
                    })
                    .map(|field| ConditionsFacts {
                        ident: field.ident.clone(),
                        optional: field.optional,
                    }),
            });
        Self {
            root: graph.root_name.clone(),
            has_spec: graph.root.iter().any(|field| field.wire == "spec"),
            status,
            graph,
        }
    }

    /// The Rust type of each field; what [`retyped`](super::retyped) compares.
    pub fn record(&self) -> String {
        record::record(&self.graph)
    }

    /// Follows wire names from the root; `None` where one of them is no field of a struct.
    pub fn access(&self, path: &[&str]) -> Option<Access> {
        let mut fields = &self.graph.root;
        let mut steps = vec![];
        for (index, wire) in path.iter().enumerate() {
            let field = fields
                .iter()
                .find(|field| field.wire == *wire && !field.tells_null_from_absent())?;
            steps.push((field.ident.clone(), field.optional || field.nullable));
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
        self.steps.iter().any(|(_, optional)| *optional)
    }

    /// An owned value or `Option` of the value of the object in the variable `var`.
    pub fn read(&self, var: &str) -> String {
        let mut text = var.to_owned();
        let mut optional = false;
        let last = self.steps.len() - 1;
        for (index, (ident, is_option)) in self.steps.iter().enumerate() {
            let clone = index == last && !self.is_copy;
            if !optional {
                text += &format!(".{ident}");
                let more = index < last;
                text += match (is_option, more) {
                    (true, true) => ".as_ref()",
                    _ if clone => ".clone()",
                    _ => "",
                };
                optional = *is_option;
            } else {
                let parent = &self.steps[index - 1].0;
                let value = match (is_option, index == last, clone) {
                    (true, false, _) => format!("{parent}.{ident}.as_ref()"),
                    (_, _, true) => format!("{parent}.{ident}.clone()"),
                    (true, true, false) | (false, true, false) => format!("{parent}.{ident}"),
                    (false, false, _) => format!("&{parent}.{ident}"),
                };
                let method = if *is_option { "and_then" } else { "map" };
                text += &format!(".{method}(|{parent}| {value})");
            }
        }
        text
    }

    /// The value with its default by the accessor of the field, where the object leads to it with no `Option` between.
    pub fn read_defaulted(&self, var: &str) -> Option<String> {
        let accessor = self.accessor.as_ref()?;
        let (_, before) = self.steps.split_last()?;
        if before.iter().any(|(_, optional)| *optional) || before.is_empty() {
            return None;
        }
        let path: String = before
            .iter()
            .map(|(ident, _)| format!(".{ident}"))
            .collect();
        let owned = if self.is_copy { "" } else { ".to_owned()" };
        Some(format!("{var}{path}.{accessor}(){owned}"))
    }

    /// Whether it is a field of the spec or status itself.
    pub fn is_shallow(&self) -> bool {
        self.steps.len() == 2
    }

    /// Of the last field.
    pub fn ident(&self) -> &str {
        self.steps
            .last()
            .map(|(ident, _)| ident.as_str())
            .unwrap_or_default()
    }

    /// Whether the last field is an `Option`.
    pub fn is_last_optional(&self) -> bool {
        self.steps.last().is_some_and(|(_, optional)| *optional)
    }
}

fn is_settable(graph: &TypeGraph, type_: &Type) -> bool {
    const KNOWN: [&str; 7] = [
        "type",
        "status",
        "reason",
        "message",
        "lastTransitionTime",
        "lastUpdateTime",
        "observedGeneration",
    ];
    let Type::Vec(item) = type_ else { return false };
    if matches!(**item, Type::Kubernetes(found) if found.is_condition()) {
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
        && item
            .fields
            .iter()
            .all(|field| field.optional || KNOWN.contains(&field.wire.as_str()))
}
