//! The subresources of built-in and custom kinds, and the bodies of those that have a kind of their own.

use serde_json::Value;

use super::account_token::issue_token;
use super::eviction::evict;
use super::route::serve_object;
use super::scale::serve_scale;
use crate::decode;
use crate::model::metadata::text;
use crate::model::{Failure, Kind, Result};
use crate::read::Reply;
use crate::request::Request;
use crate::store::{State, stored};
use crate::write::normalize::normalize;

pub(crate) fn serve_subresource(
    state: &mut State,
    request: &Request<'_>,
    subresource: &str,
    verb: &str,
) -> Result<Reply> {
    let kind = request.kind;
    if !kind.subresources.contains_key(subresource) {
        return Err(match kind.custom {
            Some(_) => Failure::not_found(kind, &request.path.name),
            None => Failure::no_such_resource(),
        });
    }
    match (subresource, verb) {
        ("scale", _) => serve_scale(state, request, verb),
        ("status", _) | ("finalize", "update") => serve_object(state, request, verb),
        ("eviction", "create") => evict(state, request),
        ("token", "create") => issue_token(state, request),
        _ if stored::live(state, request)?.is_none() => {
            Err(Failure::not_found(kind, &request.path.name))
        }
        _ => Err(Failure::not_implemented(format!(
            "{}/{subresource}",
            kind.qualified()
        ))),
    }
}

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
