//! The essence of an object, whose changes are handled: the object without its status, and of its metadata only the labels and the
//! annotations of users.

use serde::Serialize;
use serde_json::{Map, Value};

use super::secret::Redaction;
use crate::context::drop_nulls;

/// The prefixes of annotations that `kubectl apply` and conversions write. They are ignored, like those with the prefix of the operator.
const IGNORED: [&str; 2] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "conversion.",
];

/// The essence of an object. `operator` is the prefix of our own annotations.
pub(super) fn essence(
    object: &impl Serialize,
    operator: &str,
    redaction: &Redaction,
) -> serde_json::Result<Value> {
    let mut object = serde_json::to_value(object)?;
    drop_nulls(&mut object);
    let Value::Object(mut fields) = object else {
        return Ok(object);
    };
    for name in ["apiVersion", "kind", "status"] {
        fields.remove(name);
    }
    let mut metadata = match fields.remove("metadata") {
        Some(Value::Object(metadata)) => metadata,
        _ => Map::new(),
    };
    let uid = metadata.get("uid").and_then(Value::as_str);
    let uid = uid.unwrap_or_default().to_owned();
    metadata.retain(|name, _| name == "labels" || name == "annotations");
    if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
        let own = format!("{operator}/");
        let is_users = |name: &str| {
            !name.starts_with(&own) && !IGNORED.iter().any(|prefix| name.starts_with(prefix))
        };
        annotations.retain(|name, _| is_users(name));
    }
    metadata.retain(|_, map| map.as_object().is_some_and(|map| !map.is_empty()));
    if !metadata.is_empty() {
        fields.insert("metadata".into(), Value::Object(metadata));
    }
    let mut essence = Value::Object(fields);
    redaction.apply(&mut essence, &uid);
    Ok(essence)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_labels_and_annotations_of_users_count_of_the_metadata() {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "a", "uid": "1", "resourceVersion": "7", "finalizers": ["a/b"],
                "labels": {"app": "web"},
                "annotations": {
                    "shop/handled": "{}", "kubectl.kubernetes.io/last-applied-configuration": "{}",
                    "kubectl.kubernetes.io/restartedAt": "now",
                },
            },
            "data": {"a": "b", "c": null},
            "status": {"phase": "Ready"},
        });
        let essence = essence(&object, "shop", &Redaction::default()).unwrap();
        let expected = json!({
            "metadata": {"labels": {"app": "web"}, "annotations": {"kubectl.kubernetes.io/restartedAt": "now"}},
            "data": {"a": "b"},
        });
        assert_eq!(essence, expected);
    }

    #[test]
    fn empty_maps_are_equal_to_absent_ones() {
        let with =
            json!({"metadata": {"annotations": {"shop/handled": "{}"}, "labels": {}}, "spec": {}});
        let without = json!({"metadata": {}, "spec": {}});
        let of = |object: &Value| essence(object, "shop", &Redaction::default()).unwrap();
        assert_eq!(of(&with), of(&without));
    }
}
