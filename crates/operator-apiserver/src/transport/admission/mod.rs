//! Requests that call webhooks. Their stages hold the server's lock, as for any other request, but webhooks are called between the stages,
//! without the lock. So a webhook can send requests itself, and another write may come first. Then the stages start again with the new
//! object, as in the real server's [GuaranteedUpdate].
//!
//! [GuaranteedUpdate]: https://github.com/kubernetes/apiserver/blob/master/pkg/storage/etcd3/store.go

mod delete;
mod scale;
mod write;

use super::service::ApiServer;
use crate::admission::webhook::Admission;
use crate::model::{Failure, Result};
use crate::read::Reply;
use crate::request::{Call, Request, ResourcePath};
use crate::store::{Conversions, State};

/// The maximum number of attempts if other writes come first. The real server retries for 34 seconds.
const ATTEMPTS: usize = 100;

impl ApiServer {
    /// Executes a request that calls webhooks.
    pub(super) async fn admit(&self, call: &mut Call, admission: Admission) -> Result<Reply> {
        let Admission { path, verb, .. } = admission;
        match verb {
            "delete" => self.admit_delete(call, &path).await,
            "deletecollection" => self.admit_delete_collection(call, &path).await,
            _ if path.subresource.as_deref() == Some("scale") => {
                self.admit_scale(call, &path, verb).await
            }
            _ => self.admit_write(call, &path, verb).await,
        }
    }

    /// Executes a stage of a request under the lock, with its consequences. If conversions are missing, the stage runs again with them.
    async fn locked<T>(
        &self,
        call: &mut Call,
        path: &ResourcePath,
        mut stage: impl FnMut(&mut State, &Request<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut conversions = Conversions::awaited();
        loop {
            let (result, wanted) = self.attempt(&mut conversions, |state| {
                // Its CRD may have been deleted meanwhile.
                let kind = state
                    .registry
                    .kind(&path.group, &path.version, &path.plural)
                    .ok_or_else(Failure::no_such_path)?;
                let request = Request {
                    call,
                    path,
                    kind: &kind,
                };
                stage(state, &request)
            });
            let Some(wanted) = wanted else {
                return result;
            };
            drop(result);
            wanted.answer(&mut conversions).await;
        }
    }
}

/// The failure of a request if another write came first in each attempt.
fn overtaken() -> Failure {
    let text =
        "Timeout: request did not complete within requested timeout - context deadline exceeded";
    Failure::timeout(text, 0)
}
