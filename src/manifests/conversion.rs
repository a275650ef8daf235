//! `spec.conversion` of the CRDs whose objects the operator converts.

use serde_json::{Value, json};

/// `spec.conversion` of a CRD whose objects the operator converts; `operator` is its name, and that of its namespace. It sets `caBundle` in
/// the cluster.
pub fn conversion_stanza(operator: &str) -> Value {
    json!({
        "strategy": "Webhook",
        "webhook": {
            "conversionReviewVersions": ["v1"],
            "clientConfig": {
                "service": {
                    "name": format!("{operator}-webhook"),
                    "namespace": operator,
                    "path": "/convert",
                    "port": 443,
                },
            },
        },
    })
}
