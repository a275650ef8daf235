//! The failures of requests, as [`Status`] objects with the messages of a real API server.
//!
//! [`Status`]: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/

mod cause;
mod conflict;
mod forbidden;
mod invalid;
mod missing;
mod request;
mod server;

pub(crate) use self::cause::Cause;

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::kind::Kind;

/// The failure of a request, with its status.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub code: u16,
    reason: Cow<'static, str>,
    pub message: String,
    /// `None` if the status has no `details`, not even empty ones.
    details: Option<Box<Map<String, Value>>>,
    /// The token for the rest of a list.
    token: Option<String>,
    /// Whether the response is only the message as text, instead of a Status.
    pub is_text: bool,
}

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    fn new(code: u16, reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.into(),
            message: message.into(),
            details: None,
            token: None,
            is_text: false,
        }
    }

    /// The details, which the status has from now on, even if nothing is added to them.
    fn details(&mut self) -> &mut Map<String, Value> {
        self.details.get_or_insert_default()
    }

    /// Adds the object to the details, whose `kind` is the plural name of the resource, as in a real server.
    fn about(mut self, kind: &Kind, name: &str) -> Self {
        if !name.is_empty() {
            self.details().insert("name".into(), name.into());
        }
        if !kind.group.is_empty() {
            self.details()
                .insert("group".into(), kind.group.as_str().into());
        }
        self.details()
            .insert("kind".into(), kind.plural.as_str().into());
        self
    }

    /// Adds the token with which the client can list the rest in its current state.
    pub fn with_token(mut self, token: String) -> Self {
        self.token = Some(token);
        self
    }

    fn retry_after(mut self, seconds: u32) -> Self {
        if seconds > 0 {
            self.details()
                .insert("retryAfterSeconds".into(), seconds.into());
        }
        self
    }

    pub fn with_causes(mut self, causes: Vec<Cause>) -> Self {
        let causes: Vec<Value> = causes
            .into_iter()
            .map(|cause| {
                let mut entry = Map::new();
                entry.insert("reason".into(), cause.reason.into());
                entry.insert("message".into(), cause.message.into());
                if !cause.field.is_empty() {
                    entry.insert("field".into(), cause.field.into());
                }
                Value::Object(entry)
            })
            .collect();
        self.details().insert("causes".into(), causes.into());
        self
    }

    /// The failure as the last line of a watch.
    pub fn to_event(&self) -> Value {
        json!({"type": "ERROR", "object": self.to_json()})
    }

    pub fn to_json(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        });
        if let Some(token) = &self.token {
            status["metadata"]["continue"] = token.as_str().into();
        }
        if !self.reason.is_empty() {
            status["reason"] = self.reason.as_ref().into();
        }
        if let Some(details) = &self.details {
            status["details"] = Value::Object(Map::clone(details));
        }
        status["code"] = self.code.into();
        status
    }
}
