//! Responses that replace or change the server's responses, and copies of requests that the server gets twice.

use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Response, StatusCode, header};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, BodyStream, Full, StreamBody};
use kube::client::Body;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// The maximum number of parts of a late response that are buffered.
const LATE_PARTS: usize = 1_000;

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;
pub(super) type Answer = Response<UnsyncBoxBody<Bytes, BoxError>>;

/// Lets the server finish its response, so that the effects of the request are complete.
pub(super) async fn drain(answer: Answer) -> Result<(), BoxError> {
    answer.into_body().collect().await.map(drop)
}

/// A rejection of the server, and the message of its status.
pub(super) async fn with_message(answer: Answer) -> Result<(Answer, String), BoxError> {
    let (parts, body) = answer.into_parts();
    let bytes = body.collect().await?.to_bytes();
    let status: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let message = status["message"].as_str().unwrap_or_default().to_owned();
    let body = Full::new(bytes).map_err(Into::into).boxed_unsync();
    Ok((Response::from_parts(parts, body), message))
}

/// Copies a request. Its body is in memory, as for all requests of a kube client without a stream.
pub(super) fn duplicate(
    request: http::Request<Body>,
) -> (http::Request<Body>, http::Request<Body>) {
    let (parts, body) = request.into_parts();
    let copy = body.try_clone().unwrap_or_else(Body::empty);
    (
        http::Request::from_parts(parts.clone(), copy),
        http::Request::from_parts(parts, body),
    )
}

pub(super) fn reset() -> BoxError {
    error(std::io::ErrorKind::ConnectionReset)
}

pub(super) fn error(kind: std::io::ErrorKind) -> BoxError {
    std::io::Error::from(kind).into()
}

pub(super) fn status(code: u16, reason: &str, message: &str) -> serde_json::Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "reason": reason, "message": message, "code": code,
    })
}

/// A rejection, as the server would return it.
pub(super) fn refusal(code: u16, reason: &str, message: &str) -> Answer {
    let body = Full::new(Bytes::from(status(code, reason, message).to_string()));
    let mut answer = Response::new(body.map_err(Into::into).boxed_unsync());
    *answer.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = answer.headers_mut();
    let json = header::HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, json);
    if code == 429 {
        headers.insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
    }
    answer
}

/// A body that ends with an error when `cut` changes, as if the connection was reset.
pub(super) fn until_cut(
    body: UnsyncBoxBody<Bytes, BoxError>,
    cut: watch::Receiver<u32>,
) -> UnsyncBoxBody<Bytes, BoxError> {
    let frames = stream::unfold(Some((BodyStream::new(body), cut)), async |open| {
        let (mut frames, mut cut) = open?;
        tokio::select! {
            biased;
            frame = frames.next() => frame.map(|frame| (frame, Some((frames, cut)))),
            _ = cut.changed() => Some((Err(reset()), None)),
        }
    });
    StreamBody::new(frames).boxed_unsync()
}

/// A body whose parts arrive late by this duration.
pub(super) fn late(
    body: UnsyncBoxBody<Bytes, BoxError>,
    by: Duration,
) -> UnsyncBoxBody<Bytes, BoxError> {
    let frames = BodyStream::new(body).map(move |frame| {
        let due = Instant::now() + by;
        async move {
            sleep_until(due).await;
            frame
        }
    });
    StreamBody::new(frames.buffered(LATE_PARTS)).boxed_unsync()
}

/// Replaces `spec` and `status` in the objects of watch events, so that they do not match the schema. Lines that are not events are kept.
pub(super) fn undecodable(lines: Bytes) -> Bytes {
    let text = String::from_utf8_lossy(&lines);
    text.split_inclusive('\n')
        .map(|line| {
            let Ok(mut event) = serde_json::from_str::<serde_json::Value>(line) else {
                return line.to_owned();
            };
            for field in ["spec", "status"] {
                if event["type"] != "BOOKMARK" && !event["object"][field].is_null() {
                    event["object"][field] = "of another schema".into();
                }
            }
            format!("{event}\n")
        })
        .collect::<String>()
        .into()
}

/// The response to a watch, with these frames.
pub(super) fn watched(frames: Vec<Result<Frame<Bytes>, BoxError>>) -> Answer {
    let frames = stream::iter(frames).boxed();
    Response::new(StreamBody::new(frames).boxed_unsync())
}
