//! Failures because the object is not in the state that the request expects.

use super::{Cause, Failure};
use crate::model::Kind;

impl Failure {
    /// An object with this name exists already. If the name was generated from a `generateName`, the client may retry.
    pub fn already_exists(kind: &Kind, name: &str, generate_name: &str) -> Self {
        let message = format!("{} {name:?} already exists", kind.qualified());
        let mut failure = Self::new(409, "AlreadyExists", message).about(kind, name);
        if generate_name.is_empty() {
            return failure;
        }
        failure.message += ", the server was not able to generate a unique name for the object";
        failure.retry_after(1)
    }

    /// As [`Self::already_exists`], if the existing object is being deleted.
    pub fn still_exists(kind: &Kind, name: &str, generate_name: &str) -> Self {
        let mut failure = Self::already_exists(kind, name, generate_name);
        failure.message = format!("object is being deleted: {}", failure.message);
        failure
    }

    /// The object has changed since the version on which the request is based.
    pub fn modified(kind: &Kind, name: &str) -> Self {
        Self::conflict(
            kind,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    /// As [`Self::conflict`], for deletions, whose message names the kind instead of the resource.
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

    /// A server-side apply conflicts with fields of other managers.
    pub fn apply_conflict(message: String, causes: Vec<Cause>) -> Self {
        Self::new(409, "Conflict", message).with_causes(causes)
    }

    /// The version on which the request is based is no longer stored.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }
}
