//! The field manager of a write, and the properties of its kind that field ownership needs.

use serde_json::{Value, json};

use crate::apply::{ManagerId, Operation, Versions, Writer, node};
use crate::go::zero;
use crate::kinds::reset::reset_fields;
use crate::model::kind::Kind;
use crate::model::metadata;
use crate::request::resource::Request;

impl<'a> Request<'a> {
    /// An empty object of the kind.
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

/// A field manager that writes objects of a kind.
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
            Some(custom) => Versions::Custom(&custom.crd.versions),
            None => Versions::BuiltIn(kind, node(kind)),
        },
        ignored: reset_fields(kind, subresource),
        time: Some(metadata::now()),
        converter: None,
    }
}

/// `[{}]` removes all ownership; so does `[]`, except for custom objects, which drop an empty list.
pub(crate) fn is_reset(kind: &Kind, entries: &Value) -> bool {
    *entries == json!([{}]) || kind.custom.is_none() && *entries == json!([])
}
