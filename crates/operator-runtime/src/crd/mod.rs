//! Applies the CRDs of the operator when this replica starts to work, and waits until they are served. A newer CRD is left as it is, and a
//! version of stored objects is never removed. Runs in the leader only, once.

mod decision;
mod migration;

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
    core::{ApiResource, DynamicObject},
};
use serde_json::{Value, json};
use tokio::time::sleep;
use tracing::{info, warn};

pub(crate) use self::migration::Migration;

use self::decision::{Decision, decide};
use crate::error::{Fatal, client_message, has_code};

/// The delay before the second check of a CRD; it doubles up to [`LAST_DELAY`].
const FIRST_DELAY: Duration = Duration::from_millis(100);
const LAST_DELAY: Duration = Duration::from_secs(5);

/// Where a CRD has the address of its conversion webhook.
const CONFIG: &str = "/spec/conversion/webhook/clientConfig";

/// The CRDs that were passed to [`Controllers::ensure_crds`](crate::Controllers::ensure_crds).
pub(crate) struct OwnCrds {
    /// The version of the program.
    pub version: String,
    /// A JSON array of the CRDs.
    pub crds: String,
}

/// A CRD of the operator.
struct OwnCrd<'a> {
    operator: &'a str,
    version: &'a str,
    name: String,
    /// The namespace of the Service through which the cluster calls the webhooks of this process; `None` if it does not call them.
    namespace: Option<&'a str>,
    /// The CRD with the annotation of the version.
    crd: Value,
}

/// Applies the CRDs where that is needed, and waits until all are served.
///
/// `serves` is whether the cluster calls the webhooks of this process through their Service, which is in the namespace of the client.
pub(crate) async fn ensure(
    client: Client,
    operator: &str,
    serves: bool,
    sources: &[OwnCrds],
) -> Result<(), Fatal> {
    let namespace = serves.then(|| client.default_namespace().to_owned());
    let api = Api::all_with(client, &ApiResource::erase::<CustomResourceDefinition>(&()));
    let mut own = vec![];
    for OwnCrds { version, crds } in sources {
        let crds: Vec<Value> =
            serde_json::from_str(crds).map_err(|error| Fatal::Crds(error.to_string()))?;
        own.extend(
            crds.into_iter()
                .map(|crd| OwnCrd::new(operator, version, namespace.as_deref(), crd)),
        );
    }
    for crd in own {
        crd.ensure(&api).await?;
    }
    Ok(())
}

impl<'a> OwnCrd<'a> {
    fn new(
        operator: &'a str,
        version: &'a str,
        namespace: Option<&'a str>,
        mut crd: Value,
    ) -> Self {
        let name = crd["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        crd["metadata"]["annotations"][decision::annotation(operator)] = version.into();
        Self {
            operator,
            version,
            name,
            namespace,
            crd,
        }
    }

    /// Applies the CRD if needed, and waits until it is served. Retries failed requests without end.
    async fn ensure(&self, api: &Api<DynamicObject>) -> Result<(), Fatal> {
        let mut delay = FIRST_DELAY;
        let mut is_reported = false;
        loop {
            match self.attempt(api, &mut is_reported).await {
                Ok(installed) => {
                    if self.is_served(&installed)? {
                        return Ok(());
                    }
                }
                Err(Problem::Fatal(error)) => return Err(error),
                Err(Problem::Request(error)) if has_code(&error, &[409]) => {}
                Err(Problem::Request(error)) => {
                    let cure = if has_code(&error, &[403]) {
                        "; `ensure-crds = true` in operator.toml grants the permissions: apply the manifests that `cargo operator regenerate` writes"
                    } else {
                        ""
                    };
                    let message = client_message(&error);
                    warn!(crd = self.name, retry_in = ?delay, "cannot ensure the CRD: {message}{cure}");
                }
            }
            sleep(delay).await;
            delay = (delay * 2).min(LAST_DELAY);
        }
    }

    /// Reads the installed CRD, and applies ours if needed. Returns the CRD that is installed then.
    async fn attempt(
        &self,
        api: &Api<DynamicObject>,
        is_reported: &mut bool,
    ) -> Result<DynamicObject, Problem> {
        let Some(installed) = api.get_opt(&self.name).await? else {
            info!(crd = self.name, version = self.version, "creating the CRD");
            // No object has this version, so that a CRD that another client creates meanwhile is not changed.
            let crd = self.with_client_config(&Value::Null);
            return Ok(self.apply(api, crd, "1").await?);
        };
        if installed.metadata.deletion_timestamp.is_some() {
            if !std::mem::replace(is_reported, true) {
                warn!(
                    crd = self.name,
                    "the CRD is being deleted; waiting for its end"
                );
            }
            return Ok(installed);
        }
        let value = serde_json::to_value(&installed).map_err(kube::Error::SerdeError)?;
        let crd = self.with_client_config(&value);
        match decide(&crd, self.version, &value, self.operator) {
            Decision::Keep => Ok(installed),
            Decision::Leave { reason } => {
                if !std::mem::replace(is_reported, true) {
                    warn!(
                        crd = self.name,
                        version = self.version,
                        "the installed CRD is left as it is: {reason}"
                    );
                }
                Ok(installed)
            }
            Decision::Apply => {
                info!(crd = self.name, version = self.version, "updating the CRD");
                let mut version = installed.metadata.resource_version.unwrap_or_default();
                if self.ends_conversion(&value) {
                    let changed = self.end_conversion(api, &version).await?;
                    version = changed.metadata.resource_version.unwrap_or_default();
                }
                Ok(self.apply(api, crd, &version).await?)
            }
            Decision::Refuse { version } => Err(Problem::Fatal(Fatal::StoredVersion {
                name: self.name.clone(),
                version,
            })),
        }
    }

    /// The CRD with the `clientConfig` of its conversion webhook for this cluster, where the operator may run in another namespace than in
    /// the project's manifests. If the operator no longer converts, the strategy `None` replaces its webhook.
    ///
    /// A URL in the installed CRD stays: the part of the operator that sets `caBundle` also decides between a URL and the Service, and the
    /// API server rejects a CRD with both. If the cluster does not call this process, the installed namespace of the Service stays too.
    fn with_client_config(&self, installed: &Value) -> Value {
        /// The annotation for which cert-manager sets `caBundle`: <https://cert-manager.io/docs/concepts/ca-injector/>
        const INJECT: &str = "/metadata/annotations/cert-manager.io~1inject-ca-from";
        let mut crd = self.crd.clone();
        if self.ends_conversion(installed) {
            crd["spec"]["conversion"] = json!({ "strategy": "None" });
            return crd;
        }
        let installed = installed.pointer(CONFIG).unwrap_or(&Value::Null);
        let Some(config) = crd.pointer_mut(CONFIG) else {
            return crd;
        };
        if installed["url"].is_string() {
            *config = json!({ "url": installed["url"] });
            return crd;
        }
        let kept = self
            .is_own(installed)
            .then(|| installed["service"]["namespace"].as_str());
        let namespace = self.namespace.or(kept.flatten());
        let Some(namespace) = namespace.filter(|_| self.is_own(config)) else {
            return crd;
        };
        config["service"]["namespace"] = namespace.into();
        if let Some(certificate) = crd.pointer_mut(INJECT) {
            *certificate = format!("{namespace}/{}", self.service()).into();
        }
        crd
    }

    /// Whether the installed CRD has the operator's conversion webhook, and ours has none.
    fn ends_conversion(&self, installed: &Value) -> bool {
        let installed = installed.pointer(CONFIG).unwrap_or(&Value::Null);
        let is_own = self.is_own(installed) || installed["url"].is_string();
        is_own && self.crd.pointer(CONFIG).is_none()
    }

    /// Whether a `clientConfig` has the Service of the operator.
    fn is_own(&self, config: &Value) -> bool {
        config["service"]["name"] == *self.service()
    }

    fn service(&self) -> String {
        format!("{}-webhook", self.operator)
    }

    /// Removes the conversion webhook from exactly this version of the CRD. Its versions change in the same request, so that the API server
    /// never serves the previous ones without a conversion, and so does what decides about later changes.
    ///
    /// An apply alone is refused: it removes only what an apply has set, and `caBundle` was set by a patch of a replica, or by cert-manager.
    async fn end_conversion(
        &self,
        api: &Api<DynamicObject>,
        version: &str,
    ) -> kube::Result<DynamicObject> {
        let annotations = json!({ decision::annotation(self.operator): self.version });
        let patch = json!({
            "metadata": { "resourceVersion": version, "annotations": annotations },
            "spec": {
                "conversion": { "strategy": "None", "webhook": null },
                "versions": self.crd["spec"]["versions"],
            },
        });
        let parameters = PatchParams {
            field_manager: Some(self.operator.to_owned()),
            ..PatchParams::default()
        };
        api.patch(&self.name, &parameters, &Patch::Merge(patch))
            .await
    }

    /// Applies the CRD to exactly this version of it.
    async fn apply(
        &self,
        api: &Api<DynamicObject>,
        mut crd: Value,
        version: &str,
    ) -> kube::Result<DynamicObject> {
        crd["metadata"]["resourceVersion"] = version.into();
        let parameters = PatchParams::apply(self.operator).force();
        api.patch(&self.name, &parameters, &Patch::Apply(&crd))
            .await
    }

    /// Whether the API server serves the CRD. Fails if its names are in use.
    fn is_served(&self, installed: &DynamicObject) -> Result<bool, Fatal> {
        let conditions = installed.data["status"]["conditions"].as_array();
        let condition = |name: &str| {
            conditions
                .into_iter()
                .flatten()
                .find(|condition| condition["type"] == name)
        };
        match condition("NamesAccepted") {
            Some(names) if names["status"] == "False" => Err(Fatal::CrdNames {
                name: self.name.clone(),
                reason: names["message"].as_str().unwrap_or_default().to_owned(),
            }),
            _ => {
                let is_established = condition("Established")
                    .is_some_and(|established| established["status"] == "True");
                Ok(is_established && installed.metadata.deletion_timestamp.is_none())
            }
        }
    }
}

/// Why an attempt failed.
enum Problem {
    Request(kube::Error),
    Fatal(Fatal),
}

impl From<kube::Error> for Problem {
    fn from(error: kube::Error) -> Self {
        Self::Request(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVICE: &str = "op-webhook";

    fn crd(config: Value) -> Value {
        json!({
            "metadata": { "annotations": { "cert-manager.io/inject-ca-from": "op/op-webhook" } },
            "spec": { "conversion": { "webhook": { "clientConfig": config } } },
        })
    }

    fn service(name: &str, namespace: &str) -> Value {
        json!({ "service": { "name": name, "namespace": namespace, "path": "/convert", "port": 443 } })
    }

    /// How the CRD is converted, and where cert-manager finds the CA.
    fn converted(own: Value, namespace: Option<&str>, installed: &Value) -> (Value, String) {
        let own = OwnCrd::new("op", "0.1.0", namespace, crd(own));
        let mut crd = own.with_client_config(installed);
        let ca = &crd["metadata"]["annotations"]["cert-manager.io/inject-ca-from"];
        let ca = ca.as_str().unwrap_or_default().to_owned();
        let config = crd["spec"]["conversion"]["webhook"]["clientConfig"].take();
        (config, ca)
    }

    #[test]
    fn conversions_follow_the_operator_to_its_namespace() {
        let of = |namespace| {
            (
                service(SERVICE, namespace),
                format!("{namespace}/op-webhook"),
            )
        };
        let generated = || service(SERVICE, "op");
        let elsewhere = crd(service(SERVICE, "shop"));
        for (namespace, installed, expected) in [
            (Some("shop"), &Value::Null, "shop"),
            (Some("shop"), &crd(generated()), "shop"),
            (Some("shop"), &elsewhere, "shop"),
            // the cluster does not call this process
            (None, &Value::Null, "op"),
            (None, &elsewhere, "shop"),
            (None, &crd(service("another", "shop")), "op"),
        ] {
            assert_eq!(converted(generated(), namespace, installed), of(expected));
        }
    }

    #[test]
    fn conversions_by_others_stay() {
        let other = service("another", "op");
        let expected = (other.clone(), "op/op-webhook".to_owned());
        assert_eq!(converted(other, Some("shop"), &Value::Null), expected);
        let url = json!({ "url": "https://127.0.0.1:1/convert" });
        let installed = crd(url.clone());
        let (config, _) = converted(service(SERVICE, "op"), Some("shop"), &installed);
        assert_eq!(config, url);
    }
}
