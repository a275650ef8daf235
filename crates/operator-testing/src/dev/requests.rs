//! A layer in front of the server in memory that sends the operator's requests, and their results, as events.

use std::convert::Infallible;

use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use operator_schema::dev::{self, Event};
use tower::ServiceExt;

use super::output::Output;
use crate::{ApiServer, Body, request_log};

/// Passes a request on, and reports it if `user` sent it.
pub async fn answer<B>(
    server: ApiServer,
    request: Request<B>,
    user: &str,
    output: &Output,
) -> Result<Response<Body>, Infallible>
where
    B: BodyExt + Send + 'static,
    B::Data: Send,
    B::Error: std::fmt::Display + Send,
{
    let asked = request_log::Request::of(&request);
    let response = server.oneshot(request).await?;
    if asked.user != user {
        return Ok(response);
    }
    let code = response.status().as_u16();
    let (response, refusal) = match code {
        ..400 => (response, None),
        _ => {
            let (parts, body) = response.into_parts();
            let bytes = body.collect().await?.to_bytes();
            let refusal = message(&bytes);
            let body = Full::new(bytes).boxed_unsync();
            (Response::from_parts(parts, body), Some(refusal))
        }
    };
    output.event(Event::Request(dev::Request {
        text: asked.to_string(),
        verb: asked.verb.to_owned(),
        code,
        permission: asked.permission(),
        refusal,
    }));
    Ok(response)
}

/// The message of a `Status`, or the text of any other body.
fn message(body: &[u8]) -> String {
    let status: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    status
        .as_ref()
        .and_then(|status| status["message"].as_str())
        .map_or_else(|| String::from_utf8_lossy(body).into_owned(), str::to_owned)
}
