//! Webhooks whose rules name another version of the kind than the request does: they get the objects in [that version].
//!
//! [that version]: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-matchpolicy

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use super::hook::Hook;
use super::mutate::Mutated;
use super::review::Attributes;
use crate::decode::{self, DroppedFields};
use crate::model::{Failure, Kind, Result};
use crate::store::conversion::Wanted;
use crate::store::endpoint::Endpoints;
use crate::webhook::conversion::convert;

/// The version of the kind that a webhook gets.
pub(crate) struct Equivalent {
    pub kind: Arc<Kind>,
    /// The endpoints of webhooks, among them the conversion webhook of the kind.
    pub endpoints: Endpoints,
}

/// A request as a webhook gets it.
pub(super) struct View<'a> {
    pub attributes: Cow<'a, Attributes>,
    pub object: Option<Cow<'a, Value>>,
}

impl View<'_> {
    pub fn object(&self) -> Option<&Value> {
        self.object.as_deref()
    }
}

impl Hook {
    /// The request in the version that the webhook wants; `None` if its selectors or conditions do not match. Selectors see
    /// the objects as sent; conditions and the webhook see the converted ones.
    pub(super) async fn selected<'a>(
        &self,
        attributes: &'a Attributes,
        object: Option<&'a Value>,
    ) -> Result<Option<View<'a>>> {
        if !self.selects(attributes, object) {
            return Ok(None);
        }
        let view = self.view(attributes, object).await?;
        let is_met = self.meets_conditions(&view.attributes, view.object())?;
        Ok(is_met.then_some(view))
    }

    /// The request in the version that the webhook wants.
    async fn view<'a>(
        &self,
        attributes: &'a Attributes,
        object: Option<&'a Value>,
    ) -> Result<View<'a>> {
        let Some(equivalent) = &self.equivalent else {
            return Ok(View {
                attributes: Cow::Borrowed(attributes),
                object: object.map(Cow::Borrowed),
            });
        };
        let kind = &equivalent.kind;
        let mut converted = attributes.clone();
        converted.set_kind_version(kind);
        if let Some(old) = &attributes.old {
            converted.old = Some(equivalent.convert(old, &kind.api_version()).await?);
        }
        let object = match object {
            Some(object) => Some(equivalent.convert(object, &kind.api_version()).await?),
            None => None,
        };
        Ok(View {
            attributes: Cow::Owned(converted),
            object: object.map(Cow::Owned),
        })
    }

    /// Applies a patch to the object in the version that the webhook got. Returns whether it changed the object.
    pub(super) async fn patch(
        &self,
        mutated: &mut Mutated,
        kind: &Kind,
        view: View<'_>,
        operations: Value,
    ) -> Result<bool> {
        let (Some(equivalent), Some(object)) = (&self.equivalent, view.object) else {
            return mutated.patch(kind, operations);
        };
        let mut seen = Mutated {
            object: object.into_owned(),
            dropped: None,
        };
        let is_changed = seen.patch(&equivalent.kind, operations)?;
        if is_changed {
            mutated.object = equivalent
                .convert(&seen.object, &kind.api_version())
                .await?;
            // It cannot fail for an object of a custom kind.
            let _normalized = decode::normalize_mutated(kind, &mut mutated.object);
            mutated.dropped = Some(DroppedFields::default());
        }
        Ok(is_changed)
    }
}

impl Equivalent {
    async fn convert(&self, object: &Value, api_version: &str) -> Result<Value> {
        let custom = self.kind.custom.as_ref();
        let mut object = object.clone();
        let Some(webhook) = custom.and_then(|custom| custom.crd.webhook.clone()) else {
            object["apiVersion"] = api_version.into();
            return Ok(object);
        };
        let wanted = Wanted {
            object,
            api_version: api_version.to_owned(),
            webhook,
        };
        let converted = convert(&wanted, &self.endpoints).await;
        converted.map_err(|failure| match failure.code {
            500 => Failure::internal_error(&failure.message),
            _ => failure,
        })
    }
}

impl Attributes {
    /// Sets the version of the kind that the webhook gets. `requestKind` and `requestResource` keep that of the request.
    fn set_kind_version(&mut self, kind: &Kind) {
        let Kind {
            group,
            version,
            plural,
            ..
        } = kind;
        self.set_version(
            json!({"group": group, "version": version, "kind": kind.kind}),
            json!({"group": group, "version": version, "resource": plural}),
        );
    }
}
