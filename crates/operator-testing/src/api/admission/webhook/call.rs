//! One call of a webhook: an HTTP request to its endpoint, with its timeout.

use bytes::Bytes;
use http::{Method, Request, header};
use serde_json::Value;
use tokio::time::timeout;
use tower::ServiceExt;

use super::hook::Hook;
use super::review::{Attributes, Verdict, read};
use crate::api::model::failure::Failure;
use crate::api::model::metadata;

/// The reason why a call has no result.
enum Missing {
    /// The webhook did not answer, or its answer is invalid; its `failurePolicy` decides.
    Failed(String),
    /// The request fails.
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
        Err(Missing::Failed(_)) if hook.ignores_failure => Ok(None),
        Err(Missing::Failed(why)) => {
            let what = format!("failed calling webhook {:?}: {why}", hook.name);
            Err(Failure::broken(&what))
        }
        Err(Missing::Refused(failure)) => Err(failure),
    }
}

async fn call(
    hook: &Hook,
    attributes: &Attributes,
    object: Option<&Value>,
    is_mutating: bool,
) -> Result<Verdict, Missing> {
    let (url, endpoint) = hook.target().map_err(Missing::Refused)?;
    if attributes.is_dry_run() && !hook.has_no_side_effects {
        let name = &hook.name;
        let text = format!("admission webhook {name:?} does not support dry run");
        return Err(Missing::Refused(Failure::bad_request(text)));
    }
    if !hook.versions.iter().any(|version| version == "v1") {
        return Err(Missing::Failed("could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)".into()));
    }
    let uid = metadata::uid();
    let body = attributes.review(&uid, object).to_string();
    let request = Request::builder()
        .method(Method::POST)
        .uri(&url)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json, */*")
        .header(header::USER_AGENT, "kube-apiserver-admission")
        .body(Bytes::from(body));
    let unreached = |why: &dyn std::fmt::Display| failed(format!("Post \"{}\": {why}", url));
    let request = request.map_err(|error| unreached(&error))?;
    let response = timeout(hook.timeout, endpoint.oneshot(request)).await;
    let response = response
        .map_err(|_| unreached(&"context deadline exceeded"))?
        .map_err(|error| unreached(&error))?;
    let (code, body) = (response.status().as_u16(), response.body());
    if !(200..=206).contains(&code) {
        return Err(failed(complaint(code, body)));
    }
    let review: Value = serde_json::from_slice(body).map_err(|error| {
        failed(format!(
            "couldn't get version/kind; json parse error: {error}"
        ))
    })?;
    let verdict = read(&hook.name, &uid, is_mutating, &review);
    verdict.map_err(|why| Missing::Failed(format!("received invalid webhook response: {why}")))
}

fn failed(why: String) -> Missing {
    Missing::Failed(format!("failed to call webhook: {why}"))
}

/// The message of Go's client for an [error response].
///
/// [error response]: https://github.com/kubernetes/apimachinery/blob/master/pkg/api/errors/errors.go
fn complaint(code: u16, body: &[u8]) -> String {
    let said = String::from_utf8_lossy(body);
    let said = match said.trim() {
        "" => "unknown",
        said => said,
    };
    match code {
        400 => "the server rejected our request for an unknown reason".into(),
        401 => "the server has asked for the client to provide credentials".into(),
        403 => said.into(),
        404 => "the server could not find the requested resource".into(),
        405 => "the server does not allow this method on the requested resource".into(),
        409 => "the server reported a conflict".into(),
        422 => "the server rejected our request due to an error in our request".into(),
        429 => "the server has received too many requests and has asked us to try again later".into(),
        503 => "the server is currently unable to handle the request".into(),
        504 => "the server was unable to return a response in the time allotted, but may still be processing the request".into(),
        500.. => format!("an error on the server ({said:?}) has prevented the request from succeeding"),
        _ => format!("the server responded with the status code {code} but did not return more information"),
    }
}
