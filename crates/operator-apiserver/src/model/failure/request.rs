//! Failures because of the request itself: its body, its size, or its media types.

use super::Failure;

const MEDIA_TYPES: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

impl Failure {
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// The object is in a different namespace than the path.
    pub fn misplaced() -> Self {
        Self::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )
    }

    /// The object has no name, although the path has one.
    pub fn nameless(name: &str) -> Self {
        Self::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))
    }

    /// The path supports no media type that the client accepts. Resources that can be watched support two more.
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

    /// The response is not available in this format.
    pub fn wrong_format(message: String) -> Self {
        Self::new(406, "NotAcceptable", message)
    }

    /// As [`Self::not_acceptable`], for unknown formats of objects, and for custom kinds.
    pub fn no_such_format() -> Self {
        let message = format!("only the following media types are accepted: {MEDIA_TYPES}");
        Self::wrong_format(message)
    }

    /// Built-in kinds do not support the media type of the patch.
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

    /// The body is larger than the limit.
    pub fn too_large(limit: usize) -> Self {
        let message = format!("Request entity too large: limit is {limit}");
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// The JSON patch has more operations than the limit.
    pub fn too_many_operations(limit: usize, found: usize) -> Self {
        let message = format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {limit}, got {found}"
        );
        Self::new(413, "RequestEntityTooLarge", message)
    }
}
