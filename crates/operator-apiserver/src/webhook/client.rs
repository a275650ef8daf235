//! One call of a webhook: a `POST` to the endpoint of its client configuration, with its timeout.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Uri, header};
use serde_json::Value;
use tokio::time::timeout;
use tower::ServiceExt;

use crate::decode::body::TYPE_META;
use crate::go::{no_value_of, read_json};
use crate::model::group_version;
use crate::store::endpoint::Endpoint;

/// The address of a webhook, and the service that answers there.
pub(crate) type Target = (Uri, Endpoint);

/// Sends a review, and reads the answer. Errors have the messages of Go's client and decoder.
pub(crate) async fn post(
    (url, endpoint): Target,
    user_agent: &str,
    limit: Duration,
    review: &Value,
) -> Result<Value, String> {
    let request = Request::builder()
        .method(Method::POST)
        .uri(&url)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json, */*")
        .header(header::USER_AGENT, user_agent)
        .body(Bytes::from(review.to_string()));
    let unreached = |why: &dyn std::fmt::Display| format!("Post \"{url}\": {why}");
    let request = request.map_err(|error| unreached(&error))?;
    let response = timeout(limit, endpoint.oneshot(request))
        .await
        .map_err(|_| unreached(&"context deadline exceeded"))?
        .map_err(|error| unreached(&error))?;
    let (code, body) = (response.status().as_u16(), response.body());
    let media = response.headers().get(header::CONTENT_TYPE);
    let media = media.map_or("", |media| media.to_str().unwrap_or_default());
    if !(200..=206).contains(&code) {
        let is_text = media.is_empty() || media.starts_with("text/");
        return Err(status_message(code, if is_text { body } else { b"" }));
    }
    if body.is_empty() {
        return Err(format!(
            "0-length response with status code: {code} and content type: {media}"
        ));
    }
    let answer = decoded(body)?;
    check_kind(review, &answer)?;
    Ok(answer)
}

/// Decodes an object, which may be YAML.
fn decoded(body: &[u8]) -> Result<Value, String> {
    let found = read_json(body).or_else(|error| serde_yaml::from_slice(body).map_err(|_| error));
    let wrong = match found {
        Ok(found @ (Value::Object(_) | Value::Null)) => return Ok(found),
        Ok(other) => no_value_of(TYPE_META, &other),
        Err(error) => error,
    };
    Err(format!(
        "couldn't get version/kind; json parse error: {wrong}"
    ))
}

/// Checks that an answer is a review of the same version, if it has an `apiVersion` and a `kind`.
fn check_kind(review: &Value, answer: &Value) -> Result<(), String> {
    let text = |object: &Value, field: &str| object[field].as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text(answer, "apiVersion"), text(answer, "kind"));
    let (wanted, expected) = (text(review, "apiVersion"), text(review, "kind"));
    if version.is_empty() || kind.is_empty() || (&version, &kind) == (&wanted, &expected) {
        return Ok(());
    }
    let (group, wanted) = group_version(&wanted);
    let other = match wanted {
        "v1" => "v1beta1",
        _ => "v1",
    };
    if kind == expected && version == format!("{group}/{other}") {
        return Err(format!(
            "converting ({other}.{kind}) to ({wanted}.{kind}): unknown conversion"
        ));
    }
    Err(format!(
        "no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
    ))
}

/// The message of Go's client for an [error response].
///
/// [error response]: https://github.com/kubernetes/apimachinery/blob/master/pkg/api/errors/errors.go
fn status_message(code: u16, body: &[u8]) -> String {
    let message = String::from_utf8_lossy(body);
    let message = match message.trim() {
        "" => "unknown",
        message => message,
    };
    match code {
        400 => "the server rejected our request for an unknown reason".into(),
        401 => "the server has asked for the client to provide credentials".into(),
        403 => message.into(),
        404 => "the server could not find the requested resource".into(),
        405 => "the server does not allow this method on the requested resource".into(),
        409 => "the server reported a conflict".into(),
        422 => "the server rejected our request due to an error in our request".into(),
        429 => "the server has received too many requests and has asked us to try again later".into(),
        503 => "the server is currently unable to handle the request".into(),
        504 => "the server was unable to return a response in the time allotted, but may still be processing the request".into(),
        500.. => format!("an error on the server ({message:?}) has prevented the request from succeeding"),
        _ => format!("the server responded with the status code {code} but did not return more information"),
    }
}

/// The URL of a [client configuration], with the timeout in seconds as a parameter; `None` if the configuration is invalid.
///
/// [client configuration]: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#contacting-the-webhook
pub(crate) fn url(config: &Value, seconds: u64) -> Option<Uri> {
    let service = &config["service"];
    let text = |field: &str| service[field].as_str().unwrap_or_default();
    let base = match config["url"].as_str() {
        Some(url) => url.to_owned(),
        None => {
            let port = service["port"].as_u64().unwrap_or(443);
            let path = text("path").trim_start_matches('/');
            format!(
                "https://{}.{}.svc:{port}/{path}",
                text("name"),
                text("namespace")
            )
        }
    };
    format!("{base}?timeout={seconds}s").parse().ok()
}
