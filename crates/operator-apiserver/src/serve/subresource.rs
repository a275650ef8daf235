//! The subresources of built-in and custom kinds, and the bodies of those that have a kind of their own.

use serde_json::Value;

use crate::decode;
use crate::model::failure::{Failure, Result};
use crate::model::kind::Kind;
use crate::model::metadata::text;
use crate::read::reply::Reply;
use crate::request::resource::Request;
use crate::store::state::State;

impl State {
    pub(crate) fn serve_subresource(
        &mut self,
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
            ("scale", _) => self.serve_scale(request, verb),
            ("status", _) | ("finalize", "update") => self.serve_object(request, verb),
            ("eviction", "create") => self.evict(request),
            ("token", "create") => self.issue_token(request),
            _ if self.live(request)?.is_none() => Err(Failure::not_found(kind, &request.path.name)),
            _ => Err(Failure::not_implemented(format!(
                "{}/{subresource}",
                kind.qualified()
            ))),
        }
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

impl Request<'_> {
    /// The body as an object of the subresource's kind.
    pub(crate) fn subresource_body(&self) -> Result<Value> {
        let mut object = self.call.object(self.kind)?;
        decode::identify(self.kind, &mut object)?;
        self.normalize(&mut object)?;
        let namespace = text(&object, "namespace");
        if !namespace.is_empty() && namespace != self.path.namespace {
            return Err(Failure::misplaced());
        }
        Ok(object)
    }
}
