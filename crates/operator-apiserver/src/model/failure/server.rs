//! Failures because the server cannot answer now, or does not support the request.

use super::Failure;

impl Failure {
    /// An error for which the real server has neither a reason (`StatusReasonUnknown`) nor a better code.
    pub fn without_reason(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// An error that the real server reports as internal.
    pub fn internal_error(what: &str) -> Self {
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

    /// The client may retry after this number of seconds.
    pub fn timeout(message: impl Into<String>, seconds: u32) -> Self {
        Self::new(504, "Timeout", message).retry_after(seconds)
    }

    /// The client may retry after this number of seconds.
    pub fn too_many_requests(message: impl Into<String>, seconds: u32) -> Self {
        Self::new(429, "TooManyRequests", message).retry_after(seconds)
    }

    /// This server does not support the request; the real one does.
    pub fn not_implemented(what: impl std::fmt::Display) -> Self {
        let message = format!("operator-testing does not implement {what}");
        Self::new(501, "NotImplemented", message)
    }
}
