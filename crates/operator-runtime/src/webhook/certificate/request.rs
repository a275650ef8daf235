//! Requests whose bodies are never logged: kube logs the text of a response that it cannot decode, and a Secret has keys in it.

use http::{Request, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::BodyExt;
use kube::{Client, client::Body, core::Status};
use serde_json::Value;
use thiserror::Error;

use crate::error::client_message;

/// Why a request failed.
#[derive(Debug, Error)]
pub(super) enum Failure {
    /// The API server refused it.
    #[error("{message}")]
    Refused { code: StatusCode, message: String },
    #[error("{}", client_message(.0))]
    Client(#[from] kube::Error),
    /// The message does not repeat the response, which may contain keys.
    #[error("the response of the API server is not JSON")]
    NoJson,
}

impl Failure {
    pub fn is_not_found(&self) -> bool {
        self.has_code(StatusCode::NOT_FOUND)
    }

    /// Whether the object has changed since it was read, or was created meanwhile.
    pub fn is_conflict(&self) -> bool {
        self.has_code(StatusCode::CONFLICT)
    }

    /// Whether a `test` of a JSON patch may have failed.
    pub fn is_unprocessable(&self) -> bool {
        self.has_code(StatusCode::UNPROCESSABLE_ENTITY)
    }

    fn has_code(&self, expected: StatusCode) -> bool {
        matches!(self, Self::Refused { code, .. } if *code == expected)
    }
}

/// Reads the object at a path; `None` if there is none.
pub(super) async fn get(client: &Client, path: &str) -> Result<Option<Value>, Failure> {
    match send(client, Request::get(path), &Value::Null).await {
        Ok(object) => Ok(Some(object)),
        Err(failure) if failure.is_not_found() => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Sends a request, without a body if that is null. The headers must have the content type of the body.
pub(super) async fn send(
    client: &Client,
    request: http::request::Builder,
    body: &Value,
) -> Result<Value, Failure> {
    let body = match body {
        Value::Null => vec![],
        body => body.to_string().into_bytes(),
    };
    let request = request.body(Body::from(body));
    let request = request.map_err(kube::core::request::Error::BuildRequest);
    let request = request.map_err(|error| Failure::Client(kube::Error::BuildRequest(error)))?;
    let response: Response<Body> = client.send(request).await?;
    let code = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    if code.is_success() {
        return serde_json::from_slice(&body).map_err(|_| Failure::NoJson);
    }
    let status: Option<Status> = serde_json::from_slice(&body).ok();
    let message = status.map(|status| status.message).unwrap_or_default();
    let message = match message.as_str() {
        "" => format!("the API server answered {code}"),
        _ => message,
    };
    Err(Failure::Refused { code, message })
}

/// A JSON patch of the object at a path.
pub(super) fn json_patch(path: &str, manager: &str) -> http::request::Builder {
    patch(path, manager, "application/json-patch+json")
}

/// A merge patch of the object at a path.
pub(super) fn merge_patch(path: &str, manager: &str) -> http::request::Builder {
    patch(path, manager, "application/merge-patch+json")
}

/// Creates an object in the collection at a path.
pub(super) fn create(path: &str, manager: &str) -> http::request::Builder {
    Request::post(format!("{path}?fieldManager={manager}")).header(CONTENT_TYPE, "application/json")
}

fn patch(path: &str, manager: &str, media: &'static str) -> http::request::Builder {
    Request::patch(format!("{path}?fieldManager={manager}")).header(CONTENT_TYPE, media)
}
