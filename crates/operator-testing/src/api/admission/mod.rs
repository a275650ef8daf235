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
mod delete;
mod endpoint;
mod hook;
mod mutate;
mod question;
mod review;
mod rule;
mod validate;
mod write;

use serde_json::Value;

pub(super) use self::endpoint::Endpoints;

use crate::api::request::{Call, ResourcePath};
use crate::api::status::{Failure, Result};
use crate::api::{ApiServer, Reply, Request, State};

/// So often a request is begun again that other writes overtake, before it is given up. The real server goes on for 34 seconds.
const ATTEMPTS: usize = 100;

/// A request about which webhooks are to be asked.
pub(crate) struct Admission {
    path: ResourcePath,
    verb: &'static str,
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

impl ApiServer {
    /// Carries out a request about which webhooks are asked.
    pub(super) async fn admit(&self, call: &mut Call, admission: Admission) -> Result<Reply> {
        let Admission { path, verb, .. } = admission;
        match verb {
            "delete" => self.admit_delete(call, &path).await,
            "deletecollection" => self.admit_delete_collection(call, &path).await,
            _ => self.admit_write(call, &path, verb).await,
        }
    }

    /// Does a stage of a request under the lock, and what follows from it.
    fn locked<T>(
        &self,
        call: &Call,
        path: &ResourcePath,
        stage: impl FnOnce(&mut State, &Request<'_>) -> Result<T>,
    ) -> Result<T> {
        let result = self.state().settled(|state| {
            // Its definition may be gone by now.
            let kind = state
                .registry
                .kind(&path.group, &path.version, &path.plural);
            let kind = kind.ok_or_else(Failure::no_such_path)?;
            let request = Request {
                call,
                path,
                kind: &kind,
            };
            stage(state, &request)
        });
        self.announce();
        result
    }
}

/// What is said of a request that other writes always overtake.
fn overtaken() -> Failure {
    let text =
        "Timeout: request did not complete within requested timeout - context deadline exceeded";
    Failure::timeout(text, 0)
}

fn list<'a>(object: &'a Value, field: &str) -> &'a [Value] {
    object[field].as_array().map_or(&[], Vec::as_slice)
}
