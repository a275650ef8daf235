//! Who writes an object, and what field ownership needs to know of its kind.

use serde_json::{Value, json};

use crate::api::apply::{ManagerId, Node, Operation, Versions, Writer};
use crate::api::builtin::builtin;
use crate::api::kind::Kind;
use crate::api::strategy::ignored;
use crate::api::{Request, metadata, zero};

impl<'a> Request<'a> {
    /// An object of the kind with nothing in it.
    pub(crate) fn blank(&self) -> Value {
        let mut object = match (&self.kind.custom, &self.kind.type_name) {
            (None, Some(type_name)) => zero::object(type_name),
            _ => json!({}),
        };
        object["apiVersion"] = self.kind.api_version().into();
        object["kind"] = self.kind.kind.as_str().into();
        object
    }

    pub(crate) fn writer(&self, operation: Operation) -> Writer<'a> {
        let subresource = self.path.subresource.as_deref();
        writer(self.kind, self.call.manager(), operation, subresource)
    }
}

/// Someone who writes objects of a kind.
pub(crate) fn writer<'a>(
    kind: &'a Kind,
    manager: String,
    operation: Operation,
    subresource: Option<&str>,
) -> Writer<'a> {
    let api_version = kind.api_version();
    let id = ManagerId {
        name: manager,
        operation,
        api_version: match operation {
            Operation::Apply => String::new(),
            Operation::Update => api_version.clone(),
        },
        subresource: subresource.unwrap_or_default().to_owned(),
    };
    Writer {
        id,
        api_version,
        node: node(kind),
        versions: match &kind.custom {
            Some(custom) => Versions::Custom(&custom.definition.forms),
            None => Versions::BuiltIn(kind, node(kind)),
        },
        ignored: ignored(kind, subresource),
        time: Some(metadata::now()),
    }
}

/// The schema of a kind's objects for field ownership.
pub(crate) fn node(kind: &Kind) -> Node<'_> {
    match (&kind.custom, &kind.type_name) {
        (Some(custom), _) => custom
            .definition
            .forms
            .get(&kind.api_version())
            .map_or(Node::Deduced, |form| Node::Schema(&form.typed)),
        (None, Some(name)) => builtin()
            .types
            .get(name)
            .map_or(Node::Deduced, Node::Schema),
        (None, None) => Node::Deduced,
    }
}

pub(crate) fn without_managers(object: &Value) -> Value {
    let mut object = object.clone();
    metadata::set(&mut object, "managedFields", Value::Null);
    object
}

/// `[{}]` gives up all ownership; so does `[]`, which is left out of custom objects.
pub(crate) fn is_reset(kind: &Kind, entries: &Value) -> bool {
    *entries == json!([{}]) || kind.custom.is_none() && *entries == json!([])
}
