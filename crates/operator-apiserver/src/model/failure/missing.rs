//! Failures because the path leads to nothing, or does not support the method.

use super::Failure;
use crate::model::Kind;

impl Failure {
    /// The object does not exist.
    pub fn not_found(kind: &Kind, name: &str) -> Self {
        let message = format!("{} {name:?} not found", kind.qualified());
        Self::new(404, "NotFound", message).about(kind, name)
    }

    /// The path does not exist, for example because its kind is not registered.
    pub fn no_such_path() -> Self {
        Self {
            is_text: true,
            ..Self::new(404, "NotFound", "404 page not found\n")
        }
    }

    /// As [`Self::no_such_path`], in a built-in group.
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

    /// As [`Self::method_not_allowed`], for custom kinds.
    pub fn not_supported(kind: &Kind, verb: &str) -> Self {
        let message = format!(
            "{verb} is not supported on resources of kind {:?}",
            kind.qualified()
        );
        Self::new(405, "MethodNotAllowed", message).about(kind, "")
    }
}
