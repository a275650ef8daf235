//! `spec.conversion` of the CRDs whose objects the operator converts.

use serde_json::{Value, json};

/// `spec.conversion` of a CRD whose objects the operator of this name converts, in its namespace. It sets `caBundle` in the cluster.
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
