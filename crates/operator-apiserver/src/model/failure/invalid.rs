//! Failures because the object, or the options of the request, violate a rule.

use super::{Cause, Failure};
use crate::model::Kind;

impl Failure {
    /// The object violates rules of its kind; each violation is a cause.
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
        let group = kind.storage_group();
        let of = match group {
            "" => kind.kind.clone(),
            group => format!("{}.{group}", kind.kind),
        };
        // The details have the kind in the place of the resource.
        Self::new(422, "Invalid", format!("{of} {name:?} is invalid: {list}"))
            .about(&Kind::named((group, &kind.kind)), name)
            .with_causes(causes)
    }

    /// As [`Self::invalid`], for checks of the storage, which names the resource instead of the kind.
    pub fn invalid_resource(kind: &Kind, name: &str, causes: Vec<Cause>) -> Self {
        let named = Kind {
            kind: kind.plural.clone(),
            ..kind.clone()
        };
        Self::invalid(&named, name, causes)
    }

    /// The options in the query are invalid.
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

    /// The result of a patch is rejected; the server names no kind in this case.
    pub fn invalid_patch(object: &str, wrong: &str) -> Self {
        let cause = Cause::invalid("patch", format!("Invalid value: {object:?}: {wrong}"));
        let message = format!(" \"\" is invalid: patch: {}", cause.message);
        Self::new(422, "Invalid", message).with_causes(vec![cause])
    }

    /// The patch cannot be applied to the object.
    pub fn unprocessable(message: impl Into<String>) -> Self {
        let mut failure = Self::new(422, "Invalid", message);
        failure.details();
        failure
    }
}
