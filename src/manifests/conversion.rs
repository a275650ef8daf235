//! The field `spec.conversion` of the CRDs whose objects the operator converts.

use serde_json::{Value, json};

/// The command that removes [`conversion_stanza`] from an installed CRD.
///
/// A server-side apply without the stanza is refused: `caBundle` stays, because its owner is the runtime, and the strategy `None` forbids it.
pub fn removal_command(operator: &str, crd: &str) -> String {
    let service = "/spec/conversion/webhook/clientConfig/service/name";
    let patch = json!([
        {"op": "test", "path": service, "value": format!("{operator}-webhook")},
        {"op": "replace", "path": "/spec/conversion", "value": {"strategy": "None"}},
    ]);
    format!("kubectl patch crd {crd} --type=json -p '{patch}'")
}

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
