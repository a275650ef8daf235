//! The objects that call the webhooks of an operator: two webhook configurations, and the CRDs that it converts.

use kube::Client;
use serde_json::Value;
use tracing::{info, warn};

use super::{
    injection::{Change, WebhookAddress},
    request::{Failure, get, json_patch, send},
};

/// How often an object that others change at the same time is read again.
const ATTEMPTS: usize = 5;

const CRD: &str = "CustomResourceDefinition";

/// An object that calls webhooks.
pub(super) struct Target {
    kind: &'static str,
    name: String,
    path: String,
    /// Whether it was reported that the object calls no webhook of the operator.
    is_reported: bool,
}

/// The state of an object after it was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checked {
    Absent,
    /// It calls no webhook of the operator.
    NotOurs,
    /// It already had the bundle.
    Same,
    Patched,
    /// It lacks the bundle, and may not be patched.
    Differs,
}

impl Target {
    /// The objects of an operator.
    pub fn all(operator: &str, crds: &[String]) -> Vec<Self> {
        const ADMISSION: &str = "admissionregistration.k8s.io/v1";
        const CRDS: &str = "apiextensions.k8s.io/v1/customresourcedefinitions";
        let configuration = |kind: &'static str, plural| Self {
            kind,
            name: operator.to_owned(),
            path: format!("/apis/{ADMISSION}/{plural}/{operator}"),
            is_reported: false,
        };
        let crd = |name: &String| Self {
            kind: CRD,
            name: name.clone(),
            path: format!("/apis/{CRDS}/{name}"),
            is_reported: false,
        };
        let configurations = [
            configuration(
                "ValidatingWebhookConfiguration",
                "validatingwebhookconfigurations",
            ),
            configuration(
                "MutatingWebhookConfiguration",
                "mutatingwebhookconfigurations",
            ),
        ];
        configurations
            .into_iter()
            .chain(crds.iter().map(crd))
            .collect()
    }

    /// Compares the object with the bundle, and patches it if `may_patch`.
    pub async fn check(
        &mut self,
        client: &Client,
        address: &WebhookAddress,
        bundle: &Value,
        may_patch: bool,
        manager: &str,
    ) -> Result<Checked, Failure> {
        let mut refused = None;
        for _ in 0..ATTEMPTS {
            let Some(object) = get(client, &self.path).await? else {
                return Ok(Checked::Absent);
            };
            let patch = match address.change(&object, bundle) {
                Change::NotOurs => {
                    self.report();
                    return Ok(Checked::NotOurs);
                }
                Change::None => return Ok(Checked::Same),
                Change::Patch(_) if !may_patch => return Ok(Checked::Differs),
                Change::Patch(patch) => patch,
            };
            match send(client, json_patch(&self.path, manager), &patch).await {
                Ok(_) => {
                    let (kind, name) = (self.kind, &self.name);
                    info!(kind, name, "set the CA bundle of the webhooks");
                    return Ok(Checked::Patched);
                }
                Err(failure) if failure.is_not_found() => return Ok(Checked::Absent),
                Err(failure) if failure.is_conflict() || failure.is_unprocessable() => {
                    refused = Some(failure);
                }
                Err(failure) => return Err(failure),
            }
        }
        Err(refused.expect("each further attempt follows a refusal"))
    }

    pub fn kind(&self) -> &'static str {
        self.kind
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    fn report(&mut self) {
        if !self.is_reported {
            let (kind, name) = (self.kind, &self.name);
            match kind {
                CRD => warn!(
                    kind,
                    name,
                    "has no conversion by this operator's service: a request in another version than the stored one loses fields"
                ),
                _ => warn!(kind, name, "has no webhook of this operator's service"),
            }
            self.is_reported = true;
        }
    }
}
