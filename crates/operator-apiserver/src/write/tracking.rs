//! The field manager of a write, and the properties of its kind that field ownership needs.

use serde_json::{Value, json};

use crate::apply::{ManagerId, Operation, Versions, Writer, node};
use crate::go::zero;
use crate::kinds::reset::reset_fields;
use crate::model::{Kind, metadata};
use crate::request::Request;

/// An empty object of the kind.
pub(crate) fn blank(request: &Request<'_>) -> Value {
    let mut object = match (&request.kind.custom, &request.kind.type_name) {
        (None, Some(type_name)) => zero::object(type_name),
        _ => json!({}),
    };
    object["apiVersion"] = request.kind.api_version().into();
    object["kind"] = request.kind.kind.as_str().into();
    object
}

pub(crate) fn writer_of<'a>(request: &Request<'a>, operation: Operation) -> Writer<'a> {
    let subresource = request.path.subresource.as_deref();
    writer(request.kind, request.call.manager(), operation, subresource)
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

/// Whether `managedFields` of an update remove all ownership: `[{}]`, or `[]`, which the decoder of custom objects drops.
pub(crate) fn is_reset(kind: &Kind, entries: &Value) -> bool {
    *entries == json!([{}]) || kind.custom.is_none() && *entries == json!([])
}
