//! Routes a call to its handler.

use super::discovery::serve_other;
use super::method::check_method;
use super::object::serve_object;
use super::review;
use super::subresource::serve_subresource;
use crate::access::rbac::authorize;
use crate::admission::webhook::Admission;
use crate::admission::webhook::matching::webhook_for;
use crate::model::builtin::has_group;
use crate::model::{Failure, Result};
use crate::read::Reply;
use crate::request::format::Format;
use crate::request::{Call, Request, ResourcePath, Target, options};
use crate::store::State;

/// The result of a call under one lock.
pub(crate) enum Served {
    Answered(Reply),
    /// Webhooks must be called, without the lock.
    AwaitsWebhooks(Admission),
}

pub(crate) fn serve(state: &mut State, call: &Call, format: Result<Format>) -> Result<Served> {
    match Target::read(&call.path) {
        Target::Other(path) => {
            serve_other(&state.store, &state.registry, call, &path, format).map(Served::Answered)
        }
        Target::Resource(path) => serve_resource(state, call, &path, format),
    }
}

/// Serves a call of a component of the cluster, which cannot wait for webhooks.
pub(crate) fn serve_own(state: &mut State, call: &Call, path: &ResourcePath) -> Result<Reply> {
    match serve_resource(state, call, path, Ok(Format::Whole))? {
        Served::Answered(reply) => Ok(reply),
        Served::AwaitsWebhooks(admission) => Err(admission.refused()),
    }
}

/// Serves a call to a resource. The order of the checks is that of the real server.
pub(crate) fn serve_resource(
    state: &mut State,
    call: &Call,
    path: &ResourcePath,
    format: Result<Format>,
) -> Result<Served> {
    let verb = call.verb(path);
    authorize(&state.store, call, verb, path)?;
    let Some(kind) = state
        .registry
        .kind(&path.group, &path.version, &path.plural)
    else {
        return Err(if has_group(&path.group, &path.version) {
            Failure::no_such_resource()
        } else {
            Failure::no_such_path()
        });
    };
    if let Some(text) = kind.custom.as_ref().and_then(|it| it.deprecation.as_ref()) {
        call.warn(text);
    }
    if kind.namespaced && path.namespace.is_empty() && !matches!(verb, "list" | "watch")
        || !kind.namespaced && !path.namespace.is_empty()
    {
        return Err(match (path.name.as_str(), &kind.custom) {
            ("", None) => Failure::method_not_allowed(),
            (_, None) => Failure::no_such_resource(),
            _ => Failure::no_such_path(),
        });
    }
    check_method(&kind, verb, path)?;
    // a method that the resource does not support is reported before a format that it does not support
    format?;
    options::check(call, verb)?;
    let request = Request {
        call,
        path,
        kind: &kind,
    };
    if let Some(webhook) = webhook_for(&state.store, &state.registry, &request, verb)? {
        return Admission::begin(&request, verb, webhook).map(Served::AwaitsWebhooks);
    }
    let reply = match path.subresource.as_deref() {
        Some(subresource) => serve_subresource(state, &request, subresource, verb),
        None => match review::answer(state, &request) {
            Some(answer) => answer,
            None => serve_object(state, &request, verb),
        },
    };
    reply.map(Served::Answered)
}
