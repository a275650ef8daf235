//! The bodies of subresources that have a kind of their own.

use serde_json::Value;

use crate::decode;
use crate::model::metadata::text;
use crate::model::{Failure, Kind, Result};
use crate::request::Request;
use crate::write::normalize::normalize;

/// The kind of the body of a subresource.
pub(crate) fn body_kind(group: &str, kind: &str) -> Kind {
    Kind {
        group: group.to_owned(),
        version: "v1".to_owned(),
        kind: kind.to_owned(),
        plural: format!("{}s", kind.to_lowercase()),
        namespaced: true,
        type_name: Some(format!(
            "io.k8s.api.{}.v1.{kind}",
            group.split('.').next().unwrap_or_default()
        )),
        ..Kind::default()
    }
}

/// The body as an object of the subresource's kind.
pub(crate) fn subresource_body(request: &Request<'_>) -> Result<Value> {
    let mut object = request.call.object(request.kind)?;
    decode::identify(request.kind, &mut object)?;
    normalize(request, &mut object)?;
    let namespace = text(&object, "namespace");
    if !namespace.is_empty() && namespace != request.path.namespace {
        return Err(Failure::misplaced());
    }
    Ok(object)
}
