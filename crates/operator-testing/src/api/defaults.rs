//! The few defaults of built-in kinds that operators meet; all others of the real server are missing here.

use serde_json::{Value, json};

use super::kind::Kind;
use super::metadata;

/// Fills in defaults: a Namespace's phase, finalizer and label; a Secret's type and `stringData`; a Deployment's and a StatefulSet's replicas.
pub(crate) fn fill(kind: &Kind, object: &mut Value) {
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "namespaces") => {
            let name = metadata::name(object).to_owned();
            object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name.into();
        }
        ("", "secrets") => {
            absent(object, &["type"], json!("Opaque"));
            let texts = object
                .as_object_mut()
                .and_then(|secret| secret.shift_remove("stringData"));
            for (key, text) in texts
                .as_ref()
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
            {
                let text = text.as_str().unwrap_or_default();
                object["data"][key.as_str()] = base64(text.as_bytes()).into();
            }
        }
        ("apps", "deployments" | "statefulsets" | "replicasets") => {
            absent(object, &["spec", "replicas"], json!(1));
        }
        _ => {}
    }
}

fn absent(object: &mut Value, path: &[&str], value: Value) {
    let mut place = object;
    for field in path {
        let Some(fields) = place.as_object_mut() else {
            return;
        };
        place = fields.entry(*field).or_insert(Value::Null);
        if place.is_null() && Some(field) != path.last() {
            *place = json!({});
        }
    }
    if place.is_null() {
        *place = value;
    }
}

/// Standard base64 with padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let at = |index: usize| u32::from(chunk.get(index).copied().unwrap_or_default());
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= chunk.len() {
                char::from(letter)
            } else {
                '='
            });
        }
    }
    text
}
