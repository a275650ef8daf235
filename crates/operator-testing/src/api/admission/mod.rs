//! [Admission webhooks]: the requests about which other programs are asked before they are carried out.
//!
//! In: a request that the rules of a webhook name. Out: its answer. The stages of the request run under the server's lock, as those of
//! any other; webhooks are asked between them, without it. A webhook can thus send requests of its own, and another write may come
//! first: then the stages begin again with the new object, as in the real server's [GuaranteedUpdate].
//!
//! Policies and webhooks that convert are not asked: `concern` refuses such requests, with `501`. So are those with a webhook that
//! nobody has registered an endpoint for.
//!
//! [Admission webhooks]: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
//! [GuaranteedUpdate]: https://github.com/kubernetes/apiserver/blob/master/pkg/storage/etcd3/store.go

mod call;
mod concern;
pub(crate) mod crd;
mod hook;
pub(crate) mod mutate;
mod namespace;
pub(crate) mod pod;
pub(crate) mod pod_security;
mod priority;
pub(crate) mod question;
pub(crate) mod review;
mod rule;
mod validate;

use serde_json::Value;

use crate::api::model::failure::{Failure, Result};
use crate::api::request::call::ResourcePath;
use crate::api::request::resource::Request;

/// A request about which webhooks are to be asked.
pub(crate) struct Admission {
    pub path: ResourcePath,
    pub verb: &'static str,
    /// The first webhook to ask.
    webhook: String,
}

impl Admission {
    /// Begins one, unless the request is of a sort about which this server cannot ask.
    pub fn begin(request: &Request<'_>, verb: &'static str, webhook: String) -> Result<Self> {
        let (kind, path) = (request.kind, request.path);
        let is_stored = kind.verbs.iter().any(|verb| verb == "get");
        let is_asked = match (path.subresource.as_deref(), verb) {
            (None, _) => is_stored,
            (Some("status"), "update" | "patch") | (Some("finalize"), "update") => true,
            _ => false,
        };
        if is_asked {
            return Ok(Self {
                path: path.clone(),
                verb,
                webhook,
            });
        }
        let what = match &path.subresource {
            Some(subresource) => format!("{}/{subresource}", kind.qualified()),
            None => kind.qualified(),
        };
        Err(Failure::not_implemented(format!(
            "the admission webhook {webhook} for {what}"
        )))
    }

    /// What the server's own controllers are answered, which act while it is locked.
    pub fn refused(self) -> Failure {
        let what = format!(
            "the admission webhook {} for requests of controllers",
            self.webhook
        );
        Failure::not_implemented(what)
    }
}

fn list<'a>(object: &'a Value, field: &str) -> &'a [Value] {
    object[field].as_array().map_or(&[], Vec::as_slice)
}
