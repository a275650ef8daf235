//! The field `spec.conversion` of the CRDs whose objects the operator converts.

use serde_json::{Value, json};

/// `spec.conversion` of a CRD whose objects are converted by the operator with this name and namespace. `caBundle` is set in the cluster.
pub fn conversion_stanza(operator: &str, namespace: &str) -> Value {
    json!({
        "strategy": "Webhook",
        "webhook": {
            "conversionReviewVersions": ["v1"],
            "clientConfig": {
                "service": {
                    "name": format!("{operator}-webhook"),
                    "namespace": namespace,
                    "path": "/convert",
                    "port": 443,
                },
            },
        },
    })
}
