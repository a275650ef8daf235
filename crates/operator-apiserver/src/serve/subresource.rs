//! The subresources of built-in and custom kinds.

use super::account_token::issue_token;
use super::eviction::evict;
use super::object::serve_object;
use super::scale::serve_scale;
use crate::model::{Failure, Result};
use crate::read::Reply;
use crate::request::Request;
use crate::store::{State, stored};

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
