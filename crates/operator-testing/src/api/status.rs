//! The failures that the API server answers with, as [`Status`] objects in its own words.
//!
//! [`Status`]: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/

use std::borrow::Cow;

use serde_json::{Map, Value, json};

pub(crate) use crate::api::cause::Cause;
use crate::api::event::storage_group;
use crate::api::kind::Kind;

const MEDIA_TYPES: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// A request that was refused, and why.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub code: u16,
    reason: Cow<'static, str>,
    pub message: String,
    /// `None` where the server has no details, not even empty ones.
    details: Option<Box<Map<String, Value>>>,
    /// The token for the rest of a list.
    token: Option<String>,
    /// Whether the answer is the message as text, and no Status.
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

    fn details(&mut self) -> &mut Map<String, Value> {
        self.details.get_or_insert_default()
    }

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

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    #[cfg(feature = "http")]
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    pub fn forbidden(kind: &Kind, name: &str, message: impl Into<String>) -> Self {
        Self::new(403, "Forbidden", message).about(kind, name)
    }

    pub fn forbidden_path(message: impl Into<String>) -> Self {
        let mut failure = Self::new(403, "Forbidden", message);
        failure.details();
        failure
    }

    /// The object is not there.
    pub fn not_found(kind: &Kind, name: &str) -> Self {
        let message = format!("{} {name:?} not found", kind.qualified());
        Self::new(404, "NotFound", message).about(kind, name)
    }

    pub fn no_namespace(name: &str) -> Self {
        let kind = Kind::named("", "namespaces");
        Self::not_found(&kind, name)
    }

    /// The path leads nowhere, as for a kind that is not registered.
    pub fn no_such_path() -> Self {
        Self {
            is_text: true,
            ..Self::new(404, "NotFound", "404 page not found\n")
        }
    }

    /// As [`Self::no_such_path`], below a group that is built in.
    pub fn no_such_resource() -> Self {
        let message = "the server could not find the requested resource";
        let mut failure = Self::new(404, "NotFound", message);
        failure.details();
        failure
    }

    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        let mut failure = Self::new(405, "MethodNotAllowed", message);
        failure.details();
        failure
    }

    /// As [`Self::method_not_allowed`], of custom kinds.
    pub fn not_supported(kind: &Kind, verb: &str) -> Self {
        let message = format!(
            "{verb} is not supported on resources of kind {:?}",
            kind.qualified()
        );
        Self::new(405, "MethodNotAllowed", message).about(kind, "")
    }

    /// The path has no media type that the client takes; those that can be watched have two more.
    pub fn not_acceptable(is_watchable: bool) -> Self {
        const STREAMS: &str =
            ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
        let streams = if is_watchable { STREAMS } else { "" };
        let message =
            format!("406: Not Acceptable\n\nAvailable representations: {MEDIA_TYPES}{streams}");
        let mut failure = Self::new(406, "NotAcceptable", message);
        failure.details();
        failure
    }

    /// The answer has no such form.
    pub fn unfit_form(message: String) -> Self {
        Self::new(406, "NotAcceptable", message)
    }

    /// As [`Self::not_acceptable`], of objects in a form that there is not, and of custom kinds.
    pub fn no_such_form() -> Self {
        let message = format!("only the following media types are accepted: {MEDIA_TYPES}");
        Self::unfit_form(message)
    }

    /// The name is taken, whatever the start of one that might be generated.
    pub fn already_exists(kind: &Kind, name: &str, start: &str) -> Self {
        let message = format!("{} {name:?} already exists", kind.qualified());
        let mut failure = Self::new(409, "AlreadyExists", message).about(kind, name);
        if start.is_empty() {
            return failure;
        }
        failure.message += ", the server was not able to generate a unique name for the object";
        failure.after(1)
    }

    /// As [`Self::already_exists`], but not for long.
    pub fn still_exists(kind: &Kind, name: &str, start: &str) -> Self {
        let mut failure = Self::already_exists(kind, name, start);
        failure.message = format!("object is being deleted: {}", failure.message);
        failure
    }

    /// The object was changed since the version that the request builds on.
    pub fn modified(kind: &Kind, name: &str) -> Self {
        Self::conflict(
            kind,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    /// As [`Self::conflict`], but the deleter names the kind where others name the resource.
    pub fn precondition(kind: &Kind, name: &str, why: &str) -> Self {
        let named = Kind {
            plural: kind.kind.clone(),
            ..kind.clone()
        };
        Self::conflict(&named, name, why)
    }

    pub fn conflict(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} {name:?}: {why}",
            kind.qualified()
        );
        Self::new(409, "Conflict", message).about(kind, name)
    }

    /// Server-side apply met fields of other managers.
    pub fn apply_conflict(message: String, causes: Vec<Cause>) -> Self {
        Self::new(409, "Conflict", message).with_causes(causes)
    }

    /// What a request builds on is older than what is kept.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// With the token for the rest of a list, as it is now.
    pub fn with_token(mut self, token: String) -> Self {
        self.token = Some(token);
        self
    }

    /// A patch of a media type that built-in kinds do not know.
    pub fn unsupported_patch() -> Self {
        let mut failure = Self::new(415, "UnsupportedMediaType", "415: Unsupported Media Type");
        failure.details();
        failure
    }

    /// The object is not of the namespace of the path.
    pub fn misplaced() -> Self {
        Self::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )
    }

    /// The object has no name, where the path has one.
    pub fn nameless(name: &str) -> Self {
        Self::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))
    }

    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// The body has more bytes than the server takes.
    pub fn too_large(limit: usize) -> Self {
        let message = format!("Request entity too large: limit is {limit}");
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// Of a JSON patch.
    pub fn too_many_operations(limit: usize, found: usize) -> Self {
        let message = format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {limit}, got {found}"
        );
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// The object breaks rules of its kind; one cause each.
    pub fn invalid(kind: &Kind, name: &str, causes: Vec<Cause>) -> Self {
        let mut texts: Vec<String> = Vec::new();
        for cause in &causes {
            let text = format!("{}: {}", cause.field, cause.message);
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let list = match texts.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let group = storage_group(kind);
        let of = match group {
            "" => kind.kind.clone(),
            group => format!("{}.{group}", kind.kind),
        };
        // The details have the kind in the place of the resource.
        let failure = Self::new(422, "Invalid", format!("{of} {name:?} is invalid: {list}"))
            .about(&Kind::named(group, &kind.kind), name);
        failure.with_causes(causes)
    }

    /// As [`Self::invalid`], where the storage names the resource and not the kind.
    pub fn invalid_resource(kind: &Kind, name: &str, causes: Vec<Cause>) -> Self {
        let named = Kind {
            kind: kind.plural.clone(),
            ..kind.clone()
        };
        Self::invalid(&named, name, causes)
    }

    /// The query's options are wrong.
    pub fn invalid_options(options: &str, causes: Vec<Cause>) -> Self {
        let texts = causes
            .iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message));
        let list = match texts.collect::<Vec<_>>().as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let message = format!("{options}.meta.k8s.io \"\" is invalid: {list}");
        let mut failure = Self::new(422, "Invalid", message);
        failure
            .details()
            .insert("group".into(), "meta.k8s.io".into());
        failure.details().insert("kind".into(), options.into());
        failure.with_causes(causes)
    }

    /// What the real server gives neither a reason nor a better code.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// What the real server calls its own error.
    pub fn broken(what: &str) -> Self {
        let cause = serde_json::json!({"message": what});
        let mut failure = Self::new(
            500,
            "InternalError",
            format!("Internal error occurred: {what}"),
        );
        failure
            .details()
            .insert("causes".into(), vec![cause].into());
        failure
    }

    /// A patch that makes an object which is refused; the server names no kind here.
    pub fn invalid_patch(object: &str, wrong: &str) -> Self {
        let cause = Cause::invalid("patch", format!("Invalid value: {object:?}: {wrong}"));
        let message = format!(" \"\" is invalid: patch: {}", cause.message);
        Self::new(422, "Invalid", message).with_causes(vec![cause])
    }

    /// A patch that cannot be carried out on the object.
    pub fn unprocessable(message: impl Into<String>) -> Self {
        let mut failure = Self::new(422, "Invalid", message);
        failure.details();
        failure
    }

    /// It may be tried again after so many seconds.
    pub fn timeout(message: impl Into<String>, seconds: u32) -> Self {
        Self::new(504, "Timeout", message).after(seconds)
    }

    /// It may be tried again after so many seconds.
    pub fn too_many_requests(message: impl Into<String>, seconds: u32) -> Self {
        Self::new(429, "TooManyRequests", message).after(seconds)
    }

    fn after(mut self, seconds: u32) -> Self {
        if seconds > 0 {
            self.details()
                .insert("retryAfterSeconds".into(), seconds.into());
        }
        self
    }

    /// A webhook [denied] the request, with a status of its own.
    ///
    /// [denied]: https://github.com/kubernetes/apiserver/blob/master/pkg/admission/plugin/webhook/errors/statuserror.go
    pub fn denied(webhook: &str, status: &Value) -> Self {
        let text = |field: &str| status[field].as_str().unwrap_or_default().to_owned();
        let why = match (text("message"), text("reason")) {
            (message, _) if !message.is_empty() => format!(": {message}"),
            (_, reason) if !reason.is_empty() => format!(": {reason}"),
            _ => " without explanation".into(),
        };
        let code = status["code"]
            .as_u64()
            .and_then(|code| code.try_into().ok());
        let code = code.filter(|code| *code >= 400).unwrap_or(400);
        let message = format!("admission webhook {webhook:?} denied the request{why}");
        let mut failure = Self::new(code, text("reason"), message);
        failure.details = status["details"].as_object().cloned().map(Box::new);
        failure
    }

    /// This server lacks it; the real one has it.
    pub fn not_implemented(what: impl std::fmt::Display) -> Self {
        let message = format!("operator-testing does not implement {what}");
        Self::new(501, "NotImplemented", message)
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

    /// As the last line of a watch.
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
