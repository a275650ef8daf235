//! Routes a call to its handler.

use super::review;
use crate::admission::webhook::Admission;
use crate::model::builtin::has_group;
use crate::model::failure::{Failure, Result};
use crate::read::reply::Reply;
use crate::request::call::{Call, ResourcePath, Target};
use crate::request::format::Format;
use crate::request::options;
use crate::request::resource::Request;
use crate::store::state::State;

/// The result of a call under one lock.
pub(crate) enum Served {
    Answered(Reply),
    /// Webhooks must be called, without the lock.
    Asking(Admission),
}

impl State {
    pub(crate) fn serve(&mut self, call: &Call, format: Result<Format>) -> Result<Served> {
        match Target::read(&call.path) {
            Target::Other(path) => self.serve_other(call, &path, format).map(Served::Answered),
            Target::Resource(path) => self.serve_resource(call, &path, format),
        }
    }

    /// Serves a call of a component of the cluster, which cannot wait for webhooks.
    pub(crate) fn serve_own(&mut self, call: &Call, path: &ResourcePath) -> Result<Reply> {
        match self.serve_resource(call, path, Ok(Format::Whole))? {
            Served::Answered(reply) => Ok(reply),
            Served::Asking(admission) => Err(admission.refused()),
        }
    }

    pub(crate) fn serve_resource(
        &mut self,
        call: &Call,
        path: &ResourcePath,
        format: Result<Format>,
    ) -> Result<Served> {
        let verb = call.verb(path);
        self.authorize(call, verb, path)?;
        let Some(kind) = self.registry.kind(&path.group, &path.version, &path.plural) else {
            return Err(match has_group(&path.group, &path.version) {
                true => Failure::no_such_resource(),
                false => Failure::no_such_path(),
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
        kind.check_method(verb, path)?;
        format?;
        options::check(call, verb)?;
        let request = Request {
            call,
            path,
            kind: &kind,
        };
        if let Some(webhook) = self.webhook_for(&request, verb)? {
            return Admission::begin(&request, verb, webhook).map(Served::Asking);
        }
        let reply = match path.subresource.as_deref() {
            Some(subresource) => self.serve_subresource(&request, subresource, verb),
            None => match review::answer(self, &request) {
                Some(answer) => answer,
                None => self.serve_object(&request, verb),
            },
        };
        reply.map(Served::Answered)
    }

    pub(crate) fn serve_object(&mut self, request: &Request<'_>, verb: &str) -> Result<Reply> {
        match verb {
            "get" => self.get(request),
            "list" => self.list(request),
            "watch" => self.watch(request),
            "create" | "update" | "patch" => self.write_object(request, verb),
            "delete" => self.delete(request),
            "deletecollection" => self.delete_collection(request),
            _ => Err(Failure::method_not_allowed()),
        }
    }
}
