//! Failures because the caller is unknown or lacks a permission, or because a webhook denied the request.

use serde_json::Value;

use super::Failure;
use crate::model::Kind;

impl Failure {
    #[cfg(feature = "faces")]
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
        failure.token = status["metadata"]["continue"].as_str().map(str::to_owned);
        failure.details = status["details"].as_object().cloned().map(Box::new);
        failure
    }
}
