//! Values that are recorded only as keyed hashes: the data of Secrets, and the values at paths that a controller marks as sensitive.

use std::fmt::Write;

use ring::hmac;
use serde_json::Value;

use crate::engine::kind::GroupKind;

/// The fields whose values are hashed.
#[derive(Clone, Debug, Default)]
pub(super) struct Redaction {
    /// Each path as the names of its fields, from the root.
    paths: Vec<Vec<String>>,
}

impl Redaction {
    /// The redaction of a kind: all data of Secrets; nothing of other kinds.
    pub fn of(kind: &GroupKind) -> Self {
        let mut redaction = Self::default();
        if kind.group.is_empty() && kind.kind == "Secret" {
            redaction.add("data");
            redaction.add("stringData");
        }
        redaction
    }

    /// Adds a path such as `spec.token`. A path through a list applies to all its items.
    pub fn add(&mut self, path: &str) {
        self.paths
            .push(path.split('.').map(str::to_owned).collect());
    }

    /// Whether the essence has values at the paths, which [`apply`](Self::apply) replaces by hashes: then the object cannot be restored
    /// from it.
    pub fn applies_to(&self, essence: &Value) -> bool {
        self.paths.iter().any(|path| {
            let mut applies = false;
            each(&mut essence.clone(), path, &mut |_| applies = true);
            applies
        })
    }

    /// The keyed hash of a value. Equal values of the same object have equal hashes.
    pub fn hash(&self, uid: &str, value: &Value) -> String {
        sign(&hmac::Key::new(hmac::HMAC_SHA256, uid.as_bytes()), value)
    }

    /// Replaces the values at the paths by their hashes. The key is the uid of the object, so that equal values of different objects have
    /// different hashes.
    pub fn apply(&self, essence: &mut Value, uid: &str) {
        let key = hmac::Key::new(hmac::HMAC_SHA256, uid.as_bytes());
        for path in &self.paths {
            each(essence, path, &mut |value| {
                *value = Value::String(format!("hmac:{}", sign(&key, value)));
            });
        }
    }
}

fn sign(key: &hmac::Key, value: &Value) -> String {
    let tag = hmac::sign(key, value.to_string().as_bytes());
    let mut text = String::new();
    for byte in &tag.as_ref()[..16] {
        // writing to a string cannot fail
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Calls a function for the scalar values at and below a path. Each entry of a map gets its own hash this way, so that a change names it.
fn each(value: &mut Value, path: &[String], call: &mut dyn FnMut(&mut Value)) {
    match (value, path.split_first()) {
        (Value::Array(items), _) => items.iter_mut().for_each(|item| each(item, path, call)),
        (Value::Object(fields), Some((name, rest))) => {
            if let Some(value) = fields.get_mut(name) {
                each(value, rest, call);
            }
        }
        (Value::Object(fields), None) => fields.values_mut().for_each(|it| each(it, &[], call)),
        (_, Some(_)) => {}
        (value, None) => call(value),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sensitive_values_are_hashed_and_equal_ones_have_equal_hashes() {
        let mut redaction = Redaction::of(&GroupKind {
            group: String::new(),
            kind: "Secret".into(),
        });
        redaction.add("spec.users.token");
        let object = json!({
            "data": {"a": "c2VjcmV0", "b": "c2VjcmV0"},
            "spec": {"users": [{"name": "x", "token": "t0p"}, {"name": "y"}]},
        });
        let of = |uid: &str| {
            let mut object = object.clone();
            redaction.apply(&mut object, uid);
            object
        };
        let hashed = of("1");
        assert!(!hashed.to_string().contains("c2VjcmV0") && !hashed.to_string().contains("t0p"));
        assert_eq!(hashed["data"]["a"], hashed["data"]["b"]);
        assert_eq!(hashed["spec"]["users"][0]["name"], "x");
        assert_eq!(hashed, of("1"));
        assert_ne!(hashed["data"]["a"], of("2")["data"]["a"]);
        assert!(
            redaction.applies_to(&object) && !redaction.applies_to(&json!({"spec": {"users": []}}))
        );
    }
}
