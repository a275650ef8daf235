//! Calls the mutating webhooks, [one after another].
//!
//! [one after another]: https://github.com/kubernetes/apiserver/blob/master/pkg/admission/plugin/webhook/mutating/dispatcher.go

use std::collections::BTreeSet;

use serde_json::Value;

use super::call::ask;
use super::hook::Hook;
use super::review::Attributes;
use crate::decode::{self, DroppedFields};
use crate::go::sorted;
use crate::model::{Failure, Kind, Result};
use crate::patch;

/// An object that webhooks change.
pub(crate) struct Mutated {
    pub object: Value,
    /// The fields that are dropped from it, if it was changed.
    pub dropped: Option<DroppedFields>,
}

/// Calls all webhooks, and then again those with `reinvocationPolicy: IfNeeded` after which another webhook changed the object.
pub(crate) async fn mutate(
    hooks: &[Hook],
    attributes: &Attributes,
    kind: &Kind,
    object: Value,
    warnings: &mut Vec<String>,
) -> Result<Mutated> {
    let mut mutated = Mutated {
        object,
        dropped: None,
    };
    // the webhooks to call again if a later one changes the object
    let mut invoked: BTreeSet<&str> = BTreeSet::new();
    let mut reinvoked: BTreeSet<&str> = BTreeSet::new();
    for round in 0..2 {
        for hook in hooks {
            if round > 0 && !reinvoked.contains(hook.id.as_str()) {
                continue;
            }
            let current = mutated.object.clone();
            let Some(view) = hook.selected(attributes, Some(&current)).await? else {
                continue;
            };
            let Some(verdict) = ask(hook, &view.attributes, view.object(), true).await? else {
                continue;
            };
            warnings.extend(verdict.warnings);
            if let Some(operations) = verdict.outcome?
                && hook.patch(&mut mutated, kind, view, operations).await?
            {
                reinvoked.append(&mut invoked);
            }
            if hook.is_reinvoked {
                invoked.insert(&hook.id);
            }
        }
    }
    Ok(mutated)
}

/// Calls all webhooks for a deletion, which they cannot change.
pub(crate) async fn admit_deletion(
    hooks: &[Hook],
    attributes: &Attributes,
    warnings: &mut Vec<String>,
) -> Result<()> {
    for hook in hooks {
        let Some(view) = hook.selected(attributes, None).await? else {
            continue;
        };
        let Some(verdict) = ask(hook, &view.attributes, None, true).await? else {
            continue;
        };
        warnings.extend(verdict.warnings);
        let operations = verdict.outcome?;
        if operations.is_some() {
            return Err(Failure::internal_error(&format!(
                "admission webhook {:?} attempted to modify the object, which is not supported for this operation",
                hook.name
            )));
        }
    }
    Ok(())
}

/// Checks the kind of an object that a webhook changed. Another version of a custom object counts as that of the request.
fn identify(kind: &Kind, object: &mut Value) -> Result<()> {
    let is_missing = object["kind"].as_str().unwrap_or_default().is_empty();
    if kind.custom.is_some() {
        if is_missing {
            let why = format!("Object 'Kind' is missing in '{}'", sorted(object));
            return Err(Failure::internal_error(&why));
        }
        object["apiVersion"] = kind.api_version().into();
    }
    decode::identify(kind, object).map_err(|failure| match failure.code {
        422 => failure,
        _ => Failure::internal_error(&failure.message),
    })
}

impl Mutated {
    /// Applies a patch. Returns whether it changed the object.
    pub(super) fn patch(&mut self, kind: &Kind, operations: Value) -> Result<bool> {
        let mut object = patch::apply_or_explain(&self.object, operations)
            .map_err(|why| Failure::internal_error(&why))?;
        identify(kind, &mut object)?;
        let sent = object.clone();
        let normalized = decode::normalize_mutated(kind, &mut object)
            .map_err(|wrong| Failure::internal_error(&wrong.decoded))?;
        if object == self.object {
            return Ok(false);
        }
        self.object = object;
        self.dropped = Some(DroppedFields {
            sent: normalized.is_reduced.then_some(sent),
            stores_unknown_fields: false,
        });
        Ok(true)
    }
}
