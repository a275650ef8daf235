//! Pruning: drops the fields that the schema does not specify, as the API server does.

use crate::{Schema, SchemaOrBool};
use serde_json::Value;

/// Drops the fields of the object `value` that its schema does not specify. Returns their paths, sorted.
///
/// `schema` is the root of a version: `apiVersion`, `kind` and `metadata` of the root, and of embedded resources, are not changed.
/// `x-kubernetes-preserve-unknown-fields` keeps the unknown fields of its own level; specified fields below are pruned again. The API
/// server rejects a request with `fieldValidation: Strict` with `unknown field "PATH"` for each path.
///
/// <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#field-pruning>
pub fn prune(schema: &Schema, value: &mut Value) -> Vec<String> {
    let mut pruning = Pruning {
        path: String::new(),
        dropped: Vec::new(),
    };
    pruning.known(schema, value, true);
    pruning.dropped.sort();
    pruning.dropped
}

impl Schema {
    /// Whether the API server drops all fields of an object.
    pub fn prunes_all(&self) -> bool {
        self.properties.is_empty()
            && matches!(
                self.additional_properties,
                None | Some(SchemaOrBool::Bool(false))
            )
            && self.preserve_unknown_fields != Some(true)
    }
}

/// Like [`prune`], for a value within an object.
pub(crate) fn prune_part(schema: &Schema, value: &mut Value) -> Vec<String> {
    let mut pruning = Pruning {
        path: String::new(),
        dropped: Vec::new(),
    };
    pruning.known(schema, value, schema.embedded_resource);
    pruning.dropped
}

/// Whether every resource has this field, regardless of its schema.
pub(crate) fn is_meta(key: &str) -> bool {
    matches!(key, "apiVersion" | "kind" | "metadata")
}

struct Pruning {
    path: String,
    dropped: Vec<String>,
}

impl Pruning {
    /// Prunes a value by its schema. A `resource` keeps its `apiVersion`, `kind` and `metadata`.
    fn known(&mut self, schema: &Schema, value: &mut Value, resource: bool) {
        if schema.preserve_unknown_fields == Some(true) {
            return self.preserved(schema, value, resource);
        }
        match value {
            Value::Object(map) => map.retain(|key, value| {
                if resource && is_meta(key) {
                    return true;
                }
                let keep = self.specified(schema, key, value);
                if !keep {
                    self.record(key);
                }
                keep
            }),
            Value::Array(items) => self.each(items, |pruning, item| match &schema.items {
                Some(schema) => pruning.known(schema, item, schema.embedded_resource),
                None => pruning.unknown(item),
            }),
            _ => {}
        }
    }

    /// Prunes a value whose unknown fields are preserved, also in the items of a list.
    fn preserved(&mut self, schema: &Schema, value: &mut Value, resource: bool) {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    if !(resource && is_meta(key)) {
                        self.specified(schema, key, value);
                    }
                }
            }
            Value::Array(items) => {
                if let Some(schema) = &schema.items {
                    self.each(items, |pruning, item| {
                        pruning.preserved(schema, item, schema.embedded_resource);
                    });
                }
            }
            _ => {}
        }
    }

    /// Whether the schema specifies the member; if so, prunes its content.
    fn specified(&mut self, schema: &Schema, key: &str, value: &mut Value) -> bool {
        let length = self.path.len();
        self.push(key);
        let specified = match (schema.properties.get(key), &schema.additional_properties) {
            (Some(field), _) => {
                self.known(field, value, field.embedded_resource);
                true
            }
            (None, Some(SchemaOrBool::Schema(field))) => {
                self.known(field, value, field.embedded_resource);
                true
            }
            (None, Some(SchemaOrBool::Bool(_))) => {
                self.unknown(value);
                true
            }
            (None, None) => false,
        };
        self.path.truncate(length);
        specified
    }

    /// Drops all members of objects without a schema. Iterative, because no schema limits the depth.
    fn unknown(&mut self, value: &mut Value) {
        let mut open = vec![(self.path.clone(), value)];
        while let Some((path, value)) = open.pop() {
            match value {
                Value::Object(map) => {
                    self.path = path;
                    for (key, _) in std::mem::take(map) {
                        self.record(&key);
                    }
                }
                Value::Array(items) => open.extend(
                    items
                        .iter_mut()
                        .enumerate()
                        .map(|(i, item)| (format!("{path}[{i}]"), item)),
                ),
                _ => {}
            }
        }
    }

    /// Calls `act` for each item, with its index in the path.
    fn each(&mut self, items: &mut [Value], mut act: impl FnMut(&mut Self, &mut Value)) {
        let length = self.path.len();
        for (index, item) in items.iter_mut().enumerate() {
            self.path.push_str(&format!("[{index}]"));
            act(self, item);
            self.path.truncate(length);
        }
    }

    fn push(&mut self, key: &str) {
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(key);
    }

    /// Records that a field was dropped.
    fn record(&mut self, key: &str) {
        let length = self.path.len();
        self.push(key);
        self.dropped.push(self.path.clone());
        self.path.truncate(length);
    }
}
