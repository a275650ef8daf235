//! Failures because the object is not in the state that the request expects.

use super::{Cause, Failure};
use crate::api::model::kind::Kind;

impl Failure {
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
}
