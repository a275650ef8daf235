//! Values that are recorded only as keyed hashes: those of Secrets, and of the paths that a controller marks as sensitive.

use std::fmt::Write;

use ring::hmac;
use serde_json::Value;

use crate::engine::kind::GroupKind;

/// The fields whose values are hashed.
#[derive(Clone, Debug, Default)]
pub(super) struct Redaction {
    /// The names of the fields on the way, from the root.
    paths: Vec<Vec<String>>,
}

impl Redaction {
    /// That of a kind: of Secrets, all data.
    pub fn of(kind: &GroupKind) -> Self {
        let mut redaction = Self::default();
        if kind.group.is_empty() && kind.kind == "Secret" {
            redaction.add("data");
            redaction.add("stringData");
        }
        redaction
    }

    /// Adds a path such as `spec.token`. Items of lists on the way are all meant.
    pub fn add(&mut self, path: &str) {
        self.paths
            .push(path.split('.').map(str::to_owned).collect());
    }

    /// Whether values of the essence were replaced, so that it is not the object any more.
    pub fn is_about(&self, essence: &Value) -> bool {
        self.paths.iter().any(|path| {
            let mut is_about = false;
            each(&mut essence.clone(), path, &mut |_| is_about = true);
            is_about
        })
    }

    /// A hash of a value, of which equal ones of an object have the same.
    pub fn hash(&self, uid: &str, value: &Value) -> String {
        sign(&hmac::Key::new(hmac::HMAC_SHA256, uid.as_bytes()), value)
    }

    /// Replaces the values by their hashes, of which equal ones have the same. The key is that of the object, so that a hash tells nothing
    /// about other objects.
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

/// Calls a function for the values at a path; those of a map or a list at its end one by one, so that a change names the entry.
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
            redaction.is_about(&object) && !redaction.is_about(&json!({"spec": {"users": []}}))
        );
    }
}
