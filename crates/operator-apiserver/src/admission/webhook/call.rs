//! Calls one admission webhook, and reads its verdict.

use serde_json::Value;

use super::hook::Hook;
use super::review::{Attributes, ResponseError, Verdict, read};
use crate::model::{Failure, metadata};
use crate::webhook::client::post;

/// The reason why a call has no result.
enum CallError {
    /// The webhook did not answer, or its answer is invalid; its `failurePolicy` decides.
    Failed(String),
    /// The call is not possible, and the request fails.
    Refused(Failure),
}

/// Calls a webhook. Returns `None` if the call fails and failures are ignored.
pub(crate) async fn ask(
    hook: &Hook,
    attributes: &Attributes,
    object: Option<&Value>,
    is_mutating: bool,
) -> Result<Option<Verdict>, Failure> {
    match call(hook, attributes, object, is_mutating).await {
        Ok(verdict) => Ok(Some(verdict)),
        Err(CallError::Failed(_)) if hook.ignores_failure => Ok(None),
        Err(CallError::Failed(why)) => {
            let what = format!("failed calling webhook {:?}: {why}", hook.name);
            Err(Failure::internal_error(&what))
        }
        Err(CallError::Refused(failure)) => Err(failure),
    }
}

async fn call(
    hook: &Hook,
    attributes: &Attributes,
    object: Option<&Value>,
    is_mutating: bool,
) -> Result<Verdict, CallError> {
    let target = hook.target().map_err(CallError::Refused)?;
    if !hook.versions.iter().any(|version| version == "v1") {
        return Err(CallError::Failed("could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)".into()));
    }
    let uid = metadata::uid();
    let review = attributes.review(&uid, object);
    let answer = post(target, "kube-apiserver-admission", hook.timeout, &review).await;
    let answer =
        answer.map_err(|why| CallError::Failed(format!("failed to call webhook: {why}")))?;
    read(&hook.name, &uid, is_mutating, &answer).map_err(|unreadable| {
        CallError::Failed(match unreadable {
            ResponseError::Undecodable(why) => format!("failed to call webhook: {why}"),
            ResponseError::Invalid(why) => format!("received invalid webhook response: {why}"),
            ResponseError::Patch(why) => why,
        })
    })
}
