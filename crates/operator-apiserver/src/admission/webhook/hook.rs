//! One webhook of a stored [configuration], with the fields that its calls need.
//!
//! [configuration]: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#webhook-configuration

use std::time::Duration;

use serde_json::Value;

use super::equivalent::Equivalent;
use super::review::Attributes;
use crate::model::json::list;
use crate::model::label::selects;
use crate::model::{Failure, Result};
use crate::store::endpoint::Endpoints;
use crate::webhook::address::target;
use crate::webhook::client::{Target, url};

/// The default timeout of a webhook, in seconds.
const TIMEOUT: u64 = 10;

/// A webhook whose rules match the request; its selectors are checked later.
pub(crate) struct Hook {
    pub name: String,
    /// A unique identity of the webhook.
    pub id: String,
    pub timeout: Duration,
    /// Whether a failed call is ignored.
    pub ignores_failure: bool,
    /// Whether it is called again if a later webhook changes the object.
    pub is_reinvoked: bool,
    /// The versions of AdmissionReview that the webhook supports.
    pub versions: Vec<String>,
    namespace_selector: Value,
    object_selector: Value,
    /// The expressions of its match conditions.
    pub(super) conditions: Vec<String>,
    /// The version that the webhook gets, if its rules do not name that of the request.
    pub(super) equivalent: Option<Equivalent>,
    target: Option<Target>,
}

impl Hook {
    /// Reads a webhook.
    pub(crate) fn new(
        configuration: &str,
        webhook: &Value,
        equivalent: Option<Equivalent>,
        endpoints: &Endpoints,
    ) -> Self {
        let text = |field: &str| webhook[field].as_str().unwrap_or_default();
        let seconds = webhook["timeoutSeconds"].as_u64().unwrap_or(TIMEOUT);
        let versions = list(webhook, "admissionReviewVersions")
            .iter()
            .filter_map(|version| version.as_str().map(str::to_owned));
        let conditions = list(webhook, "matchConditions")
            .iter()
            .filter_map(|it| it["expression"].as_str().map(str::to_owned));
        let config = &webhook["clientConfig"];
        let target = target(url(config, seconds), config, endpoints);
        Self {
            name: text("name").to_owned(),
            id: format!("{configuration}/{}", text("name")),
            timeout: Duration::from_secs(seconds),
            ignores_failure: text("failurePolicy") == "Ignore",
            is_reinvoked: text("reinvocationPolicy") == "IfNeeded",
            versions: versions.collect(),
            namespace_selector: webhook["namespaceSelector"].clone(),
            object_selector: webhook["objectSelector"].clone(),
            conditions: conditions.collect(),
            equivalent,
            target,
        }
    }

    /// Whether the selectors match the request: its namespace, and its object before or after the change.
    pub(super) fn selects(&self, attributes: &Attributes, object: Option<&Value>) -> bool {
        let labels = |object: &Value| object["metadata"]["labels"].clone();
        let namespace = match object.filter(|_| attributes.is_of_namespace()) {
            Some(namespace) => Some(labels(namespace)),
            None => attributes.namespace_labels.clone(),
        };
        let mut objects = object.into_iter().chain(attributes.old.as_ref());
        namespace.is_none_or(|labels| selects(&self.namespace_selector, &labels))
            && objects.any(|object| selects(&self.object_selector, &labels(object)))
    }

    /// The endpoint of the webhook. Rejects unsupported configurations, and hosts that no test has registered.
    pub(crate) fn target(&self) -> Result<Target> {
        let what = match (&self.target, self.versions.first().map(String::as_str)) {
            (None, _) => "",
            _ if self
                .equivalent
                .as_ref()
                .is_some_and(|it| it.kind.custom.is_none()) =>
            {
                "rules for another version of the kind in "
            }
            (_, Some("v1beta1")) => "AdmissionReview v1beta1 of ",
            (Some(target), _) => return Ok(target.clone()),
        };
        let name = &self.name;
        let what = format!("{what}the admission webhook {name}");
        Err(Failure::not_implemented(what))
    }
}
