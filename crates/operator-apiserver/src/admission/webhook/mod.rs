//! [Admission webhooks]: finds those that apply to a request, creates their reviews, and evaluates their responses.
//!
//! The server holds its lock while it determines whether to call a webhook; `transport` calls the webhook without the lock.
//!
//! Policies are not supported: `matching` rejects such requests with `501`, as it does for a webhook without a registered endpoint. Writes
//! of a kind with a conversion webhook are handled in the same way, because they wait for that webhook, too.
//!
//! [Admission webhooks]: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/

mod call;
mod condition;
mod equivalent;
mod hook;
pub(crate) mod matching;
pub(crate) mod mutate;
pub(crate) mod question;
pub(crate) mod review;
mod rule;
mod validate;

use crate::model::{Failure, Result};
use crate::request::{Request, ResourcePath};

/// A request for which webhooks must be called.
pub(crate) struct Admission {
    pub path: ResourcePath,
    pub verb: &'static str,
    /// The first webhook to call, for messages.
    webhook: String,
}

impl Admission {
    /// Prepares the calls, unless this server does not support webhooks for such a request.
    pub fn begin(request: &Request<'_>, verb: &'static str, webhook: String) -> Result<Self> {
        let (kind, path) = (request.kind, request.path);
        let is_stored = kind.verbs.iter().any(|verb| verb == "get");
        let is_supported = match (path.subresource.as_deref(), verb) {
            (None, _) => is_stored,
            (Some("status" | "scale"), "update" | "patch") | (Some("finalize"), "update") => true,
            _ => false,
        };
        if is_supported {
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
        Err(Failure::not_implemented(format!("{webhook} for {what}")))
    }

    /// The failure for the server's own controllers, which act while the server is locked.
    pub fn refused(self) -> Failure {
        Failure::not_implemented(format!("{} for requests of controllers", self.webhook))
    }
}
