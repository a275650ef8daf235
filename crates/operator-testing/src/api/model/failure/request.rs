//! Failures because of the request itself: its body, its size, or its media types.

use super::Failure;

const MEDIA_TYPES: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

impl Failure {
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
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
    pub fn wrong_format(message: String) -> Self {
        Self::new(406, "NotAcceptable", message)
    }

    /// As [`Self::not_acceptable`], of objects in a format that there is not, and of custom kinds.
    pub fn no_such_format() -> Self {
        let message = format!("only the following media types are accepted: {MEDIA_TYPES}");
        Self::wrong_format(message)
    }

    /// A patch of a media type that built-in kinds do not know.
    pub fn unsupported_patch() -> Self {
        let mut failure = Self::new(415, "UnsupportedMediaType", "415: Unsupported Media Type");
        failure.details();
        failure
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
}
