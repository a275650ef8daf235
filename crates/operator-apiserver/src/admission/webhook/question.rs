//! The webhooks to call for a request, and their inputs, collected while the server holds its lock.

use serde_json::Value;

use super::hook::Hook;
use super::matching::{self, namespace_labels};
use super::mutate::{Mutated, admit_deletion, mutate};
use super::review::{Attributes, Subject};
use super::validate::validate;
use crate::kinds::resource::{MUTATING_WEBHOOKS, NAMESPACES, VALIDATING_WEBHOOKS};
use crate::model::metadata::name;
use crate::model::{Kind, Result};
use crate::request::{Call, Request};
use crate::store::State;

/// The webhooks whose rules match a request.
pub(crate) struct Question {
    kind: Kind,
    attributes: Attributes,
    mutating: Vec<Hook>,
    validating: Vec<Hook>,
}

/// Finds the webhooks whose rules match a request, and collects the inputs of their reviews.
pub(crate) fn question(state: &State, request: &Request<'_>, subject: Subject) -> Question {
    let operation = subject.operation;
    let labels = if request.kind.is(NAMESPACES) {
        subject
            .old
            .as_ref()
            .map(|namespace| namespace["metadata"]["labels"].clone())
    } else {
        namespace_labels(&state.store, request)
    };
    Question {
        kind: request.kind.clone(),
        attributes: Attributes::new(request, subject, labels),
        mutating: matching::hooks(state, request, MUTATING_WEBHOOKS, operation),
        validating: matching::hooks(state, request, VALIDATING_WEBHOOKS, operation),
    }
}

impl Question {
    /// The kind of the objects in the reviews, if it is not that of the resource.
    #[must_use]
    pub fn of_kind(mut self, kind: &Kind) -> Self {
        self.attributes.set_body_kind(kind);
        self.kind = kind.clone();
        self
    }

    /// The kind of the objects in the request.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Calls the mutating webhooks.
    pub async fn mutate(&self, call: &mut Call, object: Value) -> Result<Mutated> {
        let mut warnings = Vec::new();
        let mutated = mutate(
            &self.mutating,
            &self.attributes,
            &self.kind,
            object,
            &mut warnings,
        )
        .await;
        warnings.iter().for_each(|warning| call.warn(warning));
        mutated
    }

    /// Calls the validating webhooks for an object to be stored.
    pub async fn validate(&mut self, call: &mut Call, object: &Value) -> Result<()> {
        self.attributes.set_generated_name(name(object));
        let mut warnings = Vec::new();
        let (hooks, attributes) = (&self.validating, &self.attributes);
        let verdict = validate(hooks, attributes, Some(object), &mut warnings).await;
        warnings.iter().for_each(|warning| call.warn(warning));
        verdict
    }

    /// Calls the validating webhooks for an object to be deleted.
    pub async fn admit_deletion(&self, call: &mut Call) -> Result<()> {
        let mut warnings = Vec::new();
        let attributes = &self.attributes;
        let mut verdict = admit_deletion(&self.mutating, attributes, &mut warnings).await;
        if verdict.is_ok() {
            verdict = validate(&self.validating, attributes, None, &mut warnings).await;
        }
        warnings.iter().for_each(|warning| call.warn(warning));
        verdict
    }
}
