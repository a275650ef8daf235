//! Paths in the messages of the API server.

use crate::Schema;

/// Appends a member to a path: `spec.ports` for a property, `labels[app]` for a member of `additionalProperties`.
pub(crate) fn enter(path: &mut String, schema: &Schema, key: &str) {
    if schema.properties.contains_key(key) {
        *path = child(path, key);
    } else {
        path.push_str(&format!("[{key}]"));
    }
}

/// The path of a member of the object at `path`.
pub(crate) fn child(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}
