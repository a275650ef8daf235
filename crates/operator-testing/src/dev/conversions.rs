//! How the API server of a session converts the objects of the project's CRDs: it calls the operator on this machine.
//!
//! In: the CRDs that the operator converts, their conversion in the manifests, and the URL of its webhooks. Out: `spec.conversion` of each
//! of them.

use std::collections::BTreeMap;

use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::cluster::Cluster;

/// `spec.conversion` of CRDs, by their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conversions(BTreeMap<String, Value>);

impl Conversions {
    /// The conversion of the manifests, which calls a URL instead of the Service. Without `bundle`, the operator adds the CA bundle.
    pub fn at(url: &str, bundle: Option<&Value>, conversion: &Value, crds: &[String]) -> Self {
        let mut conversion = conversion.clone();
        redirect(&mut conversion["webhook"], url, bundle);
        let crds = crds.iter().cloned();
        Self(crds.map(|crd| (crd, conversion.clone())).collect())
    }

    /// The conversions of CRDs on the user's cluster. If an installed CRD calls a webhook, this is kept, because applying the CRD without
    /// it would remove it; the operator redirects it to its own URL.
    pub async fn on_cluster(
        cluster: &Cluster,
        url: Option<&str>,
        conversion: &Value,
        crds: &[String],
    ) -> Self {
        let mut all = url
            .map(|url| Self::at(url, None, conversion, crds))
            .unwrap_or_default();
        for crd in crds {
            if let Some(conversion) = cluster.conversion_webhook(crd).await {
                all.0.insert(crd.clone(), conversion);
            }
        }
        all
    }

    /// Adds the conversion to an object that is one of these CRDs.
    pub fn add_to(&self, object: &mut DynamicObject) {
        let is_crd = object
            .types
            .as_ref()
            .is_some_and(|it| it.kind == "CustomResourceDefinition");
        let name = object.metadata.name.as_ref().filter(|_| is_crd);
        if let Some(conversion) = name.and_then(|name| self.0.get(name)) {
            object.data["spec"]["conversion"] = conversion.clone();
        }
    }

    /// The CRDs of `crds` that get no conversion.
    pub fn missing(&self, crds: &[String]) -> Vec<String> {
        let is_missing = |crd: &&String| !self.0.contains_key(*crd);
        crds.iter().filter(is_missing).cloned().collect()
    }
}

/// Replaces the service of a webhook by the URL of the operator.
pub fn redirect(webhook: &mut Value, url: &str, bundle: Option<&Value>) {
    let path = webhook["clientConfig"]["service"]["path"].as_str();
    webhook["clientConfig"] = json!({"url": format!("{url}{}", path.unwrap_or_default())});
    if let Some(bundle) = bundle {
        webhook["clientConfig"]["caBundle"] = bundle.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_manifests() -> Value {
        json!({
            "strategy": "Webhook",
            "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": {"service": {"name": "op-webhook", "namespace": "op", "path": "/convert"}},
            },
        })
    }

    fn object(kind: &str) -> DynamicObject {
        let value = json!({
            "apiVersion": "v1", "kind": kind, "metadata": {"name": "widgets.example.com"},
            "spec": {"group": "example.com", "conversion": {"strategy": "None"}},
        });
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_crd_gets_the_conversion_of_the_manifests_at_the_url() {
        let names = ["widgets.example.com".to_owned(), "other".to_owned()];
        let all = Conversions::at(
            "https://127.0.0.1:1",
            Some(&"Y2E=".into()),
            &of_manifests(),
            &names,
        );
        let mut crd = object("CustomResourceDefinition");
        all.add_to(&mut crd);
        assert_eq!(
            crd.data["spec"],
            json!({
                "group": "example.com",
                "conversion": {
                    "strategy": "Webhook",
                    "webhook": {
                        "conversionReviewVersions": ["v1"],
                        "clientConfig": {"url": "https://127.0.0.1:1/convert", "caBundle": "Y2E="},
                    },
                },
            })
        );
        let more = [names[1].clone(), "third".to_owned()];
        assert_eq!(all.missing(&more), ["third"]);
    }

    #[test]
    fn other_objects_stay_as_they_are() {
        let names = ["widgets.example.com".to_owned()];
        let all = Conversions::at("https://127.0.0.1:1", None, &of_manifests(), &names);
        let mut other = object("ConfigMap");
        all.add_to(&mut other);
        assert_eq!(other, object("ConfigMap"));
        let mut unknown = object("CustomResourceDefinition");
        Conversions::at("https://127.0.0.1:1", None, &of_manifests(), &[]).add_to(&mut unknown);
        assert_eq!(unknown, object("CustomResourceDefinition"));
    }
}
