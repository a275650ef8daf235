//! Decides how an object should call the webhooks of the operator. Pure functions of the object that was read.
//!
//! In: a configuration of webhooks, or a CRD. Out: a JSON patch of the `clientConfig`s that differ. Each operation first tests what it
//! replaces, so that it fails if the object has changed since. A `clientConfig` of another service is left alone.

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::{identity::Identity, x509::Certificate};

/// Where API servers call the webhooks.
pub(super) struct WebhookAddress {
    pub service: String,
    pub namespace: String,
    /// Replaces the service. Has no slash at its end.
    pub url: Option<String>,
    pub identity: Identity,
}

/// How an object has to change.
#[derive(Debug, PartialEq)]
pub(super) enum Change {
    /// It calls no webhook of the operator.
    NotOurs,
    None,
    /// A JSON patch.
    Patch(Value),
}

/// The JSON pointers to the parents of the possible `clientConfig`s of an object.
pub(super) fn places(object: &Value) -> Vec<String> {
    let webhooks = object["webhooks"].as_array().map_or(0, Vec::len);
    let webhooks = (0..webhooks).map(|index| format!("/webhooks/{index}"));
    let conversion = "/spec/conversion/webhook".to_owned();
    webhooks.chain([conversion]).collect()
}

impl WebhookAddress {
    /// The change after which the object trusts `bundle`, a text in base64.
    pub fn change(&self, object: &Value, bundle: &Value) -> Change {
        let mut operations = vec![];
        let mut is_ours = false;
        for place in places(object) {
            let config = object.pointer(&format!("{place}/clientConfig"));
            let Some((config, wanted)) =
                config.and_then(|config| Some((config, self.wanted(config, bundle)?)))
            else {
                continue;
            };
            is_ours = true;
            if *config == wanted {
                continue;
            }
            if let Some(name) = object.pointer(&format!("{place}/name")) {
                operations
                    .push(json!({ "op": "test", "path": format!("{place}/name"), "value": name }));
            }
            let path = format!("{place}/clientConfig");
            operations.push(json!({ "op": "test", "path": path, "value": config }));
            operations.push(json!({ "op": "replace", "path": path, "value": wanted }));
        }
        match (is_ours, operations.is_empty()) {
            (false, _) => Change::NotOurs,
            (true, true) => Change::None,
            (true, false) => Change::Patch(operations.into()),
        }
    }

    /// The `clientConfig` that replaces this one; `None` if it is not one of the operator.
    fn wanted(&self, config: &Value, bundle: &Value) -> Option<Value> {
        let path = self.path(config)?;
        let mut wanted = match &self.url {
            Some(url) => json!({ "url": format!("{url}{path}") }),
            None if config["service"].is_object() => config.clone(),
            None => json!({ "service": {
                "name": self.service, "namespace": self.namespace, "path": path,
            } }),
        };
        wanted["caBundle"] = bundle.clone();
        Some(wanted)
    }

    /// The path of the webhook, if it is one of the operator: of its service, or of a URL that an operator of its name wrote.
    fn path<'a>(&self, config: &'a Value) -> Option<&'a str> {
        let service = &config["service"];
        if service["name"] == *self.service && service["namespace"] == *self.namespace {
            return Some(service["path"].as_str().unwrap_or_default());
        }
        let url = config["url"].as_str()?;
        self.url
            .as_deref()
            .and_then(|own| url.strip_prefix(own))
            .filter(|path| path.starts_with('/') || path.is_empty())
            .or_else(|| {
                let (_, rest) = url.split_once("://")?;
                let path = rest.find('/').map_or("", |start| &rest[start..]);
                self.is_own_bundle(&config["caBundle"]).then_some(path)
            })
    }

    fn is_own_bundle(&self, bundle: &Value) -> bool {
        let bytes = serde_json::from_value(bundle.clone());
        bytes
            .ok()
            .and_then(|ByteString(pem)| Certificate::read_all(&pem).ok())
            .into_iter()
            .flatten()
            .any(|certificate| self.identity.is_own(&certificate))
    }
}
