//! Namespaces: what every cluster has, what each is furnished with, and how one ends.

use serde_json::{Value, json};

/// What the server adds to a new namespace.
pub(crate) fn prepare(object: &mut Value) {
    let own = &mut object["spec"]["finalizers"];
    let mut finalizers: Vec<Value> = own.as_array().cloned().unwrap_or_default();
    if !finalizers.contains(&json!("kubernetes")) {
        finalizers.push("kubernetes".into());
    }
    *own = finalizers.into();
    object["status"] = json!({"phase": "Active"});
}

/// Whether the server never lets go of the namespace.
pub(crate) fn is_immortal(name: &str) -> bool {
    matches!(name, "default" | "kube-public" | "kube-system")
}

/// What a `DELETE` adds to a namespace.
pub(crate) fn terminate(object: &mut Value) {
    object["status"]["phase"] = "Terminating".into();
}
