//! Creates a pod from the template of a workload, and computes the hash that identifies the template.

use serde_json::{Map, Value, json};

use super::actor::{CONTROLLERS, EventText};
use super::controllers::Controllers;
use super::field::reference;
use crate::model::Result;
use crate::model::metadata::name;

/// The label that distinguishes the pods of a Deployment's ReplicaSets.
pub(super) const HASH: &str = "pod-template-hash";

/// Creates a pod from the template of a workload, without a name.
pub(super) fn pod(template: &Value, owner: &Value) -> Value {
    let mut metadata = Map::new();
    for field in ["labels", "annotations", "finalizers"] {
        let value = &template["metadata"][field];
        if !value.is_null() {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    metadata.insert("generateName".into(), format!("{}-", name(owner)).into());
    metadata.insert("namespace".into(), owner["metadata"]["namespace"].clone());
    metadata.insert("ownerReferences".into(), json!([reference(owner)]));
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": template["spec"],
    })
}

impl Controllers<'_> {
    /// Creates a pod, and emits an event.
    pub(super) fn make_pod(&mut self, component: &str, owner: &Value, pod: Value) -> Result<Value> {
        let made = self.make(CONTROLLERS, pod);
        self.note_made(owner, made.is_ok());
        match made {
            Ok(pod) => {
                self.record_event(
                    component,
                    owner,
                    EventText::normal("SuccessfulCreate", &format!("Created pod: {}", name(&pod))),
                );
                Ok(pod)
            }
            Err(failure) => {
                let message = format!("Error creating: {}", failure.message);
                self.record_event(
                    component,
                    owner,
                    EventText::warning("FailedCreate", &message),
                );
                Err(failure)
            }
        }
    }

    /// Deletes a pod, and emits an event.
    pub(super) fn drop_pod(&mut self, component: &str, owner: &Value, pod: &Value) {
        if self.discard(CONTROLLERS, pod, &json!({})).is_ok() {
            self.record_event(
                component,
                owner,
                EventText::normal("SuccessfulDelete", &format!("Deleted pod: {}", name(pod))),
            );
        }
    }
}

/// The hash of a template, in letters that form no words. For a StatefulSet's revision it is that of the real controller; for others, the
/// real controller hashes Go's print of the template.
pub(super) fn hash(template: &Value, collisions: i64) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut text = String::new();
    print(template, &mut text);
    text += &collisions.to_string();
    // FNV-1; Kubernetes writes each digit as a letter
    let hash = text.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        hash.wrapping_mul(0x0100_0193) ^ u32::from(byte)
    });
    let letter = |byte: u8| char::from(LETTERS[usize::from(byte) % LETTERS.len()]);
    hash.to_string().bytes().map(letter).collect()
}

/// JSON with sorted keys, so that equal templates have equal texts.
pub(super) fn print(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort();
            text.push('{');
            for (at, name) in names.into_iter().enumerate() {
                *text += if at > 0 { "," } else { "" };
                *text += &Value::from(name.as_str()).to_string();
                text.push(':');
                print(&fields[name], text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                *text += if at > 0 { "," } else { "" };
                print(item, text);
            }
            text.push(']');
        }
        other => *text += &other.to_string(),
    }
}

/// Whether two templates are equal, except for the label that a Deployment adds.
pub(super) fn is_same(one: &Value, other: &Value) -> bool {
    let bare = |template: &Value| {
        let mut template = template.clone();
        if let Some(metadata) = template["metadata"].as_object_mut() {
            if let Some(Value::Object(labels)) = metadata.get_mut("labels") {
                labels.shift_remove(HASH);
            }
            metadata.retain(|_, value| !value.is_null() && *value != json!({}));
        }
        let mut text = String::new();
        print(&template, &mut text);
        text
    };
    bare(one) == bare(other)
}
