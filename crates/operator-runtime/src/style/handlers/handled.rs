//! The record of the state of an object that was handled last: its essence (`essence.rs`), or hashes of its parts if the essence is too
//! large for an annotation.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::difference::{Path, differences};
use crate::stable_hash::stable_hash;

/// The maximum size of a record, in bytes.
pub(super) const MAX_SIZE: usize = 32 << 10;

/// The state of an object that its handlers have handled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Handled {
    /// An essence with hashes in place of sensitive values.
    Redacted {
        essence: Value,
        /// The hash of each field that has a handler, by the id of the handler.
        fields: BTreeMap<String, String>,
    },
    Whole {
        essence: Value,
        /// The value of each field that has a handler, by the id of the handler.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        values: BTreeMap<String, Value>,
    },
    Hashed {
        /// The number of field names in the path of a part; with 0, the whole essence is one part.
        depth: usize,
        /// The hash of each part, by its path.
        hashes: BTreeMap<String, String>,
        /// As in `Redacted`.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        fields: BTreeMap<String, String>,
    },
}

/// A field that has a handler, compared with what was handled last.
#[derive(Debug, PartialEq)]
pub(super) struct FieldChange {
    pub has_changed: bool,
    /// The handled value; `None` if it is not known.
    pub old: Option<Value>,
}

impl Handled {
    /// Records an essence, and the `values` of the fields that have handlers, in at most `limit` bytes; if that is impossible, as a single
    /// hash. Of these fields, `hash` returns the hash of a value.
    pub fn of(
        essence: &Value,
        is_redacted: bool,
        values: BTreeMap<String, Value>,
        hash: impl Fn(&Value) -> String,
        limit: usize,
    ) -> Self {
        let fields = values.iter().map(|(id, value)| (id.clone(), hash(value)));
        let fields: BTreeMap<_, _> = fields.collect();
        let whole = match essence.clone() {
            essence if is_redacted => Self::Redacted {
                essence,
                fields: fields.clone(),
            },
            essence => Self::Whole { essence, values },
        };
        if whole.size() <= limit {
            return whole;
        }
        let hashed = |depth| Self::Hashed {
            depth,
            hashes: hashes(essence, depth),
            fields: fields.clone(),
        };
        let deepest = (1..=6).rev().map(hashed).find(|it| it.size() <= limit);
        deepest.unwrap_or_else(|| hashed(0))
    }

    fn size(&self) -> usize {
        serde_json::to_string(self).map_or(0, |text| text.len())
    }

    /// The essence, if it was recorded whole and with all values.
    pub fn readable(&self) -> Option<&Value> {
        match self {
            Self::Whole { essence, .. } => Some(essence),
            Self::Redacted { .. } | Self::Hashed { .. } => None,
        }
    }

    /// The paths at which an essence differs from the handled one.
    pub fn changes(&self, now: &Value) -> Vec<Path> {
        match self {
            Self::Whole { essence, .. } | Self::Redacted { essence, .. } => {
                differences(essence, now)
            }
            Self::Hashed { depth, hashes, .. } => {
                let now = self::hashes(now, *depth);
                let mut paths: Vec<&String> = hashes.keys().chain(now.keys()).collect();
                paths.sort();
                paths.dedup();
                paths
                    .into_iter()
                    .filter(|path| hashes.get(*path) != now.get(*path))
                    .map(|path| Path::from(path.clone()))
                    .collect()
            }
        }
    }

    /// Compares the field of a handler with its value `now`; `None` if the operator did not have the handler when the object was handled.
    pub fn field(
        &self,
        handler: &str,
        now: &Value,
        hash: impl Fn(&Value) -> String,
    ) -> Option<FieldChange> {
        Some(match self {
            Self::Whole { values, .. } => {
                let old = values.get(handler)?;
                FieldChange {
                    has_changed: old != now,
                    old: Some(old.clone()),
                }
            }
            Self::Redacted { fields, .. } | Self::Hashed { fields, .. } => FieldChange {
                has_changed: *fields.get(handler)? != hash(now),
                old: None,
            },
        })
    }
}

/// The hashes of the parts of a value that are `depth` fields deep.
fn hashes(value: &Value, depth: usize) -> BTreeMap<String, String> {
    fn add(value: &Value, depth: usize, path: &str, all: &mut BTreeMap<String, String>) {
        match value {
            Value::Object(fields) if depth > 0 && !fields.is_empty() => {
                for (name, value) in fields {
                    let path = match path {
                        "" => name.clone(),
                        path => format!("{path}.{name}"),
                    };
                    add(value, depth - 1, &path, all);
                }
            }
            value => {
                all.insert(path.to_owned(), hash(value));
            }
        }
    }
    let mut all = BTreeMap::new();
    add(value, depth, "", &mut all);
    all
}

/// The hash of the JSON with sorted fields.
pub(super) fn hash(value: &Value) -> String {
    stable_hash(&sorted(value))
}

/// The JSON with sorted fields, whether or not `serde_json` has the feature `preserve_order`.
fn sorted(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<&String, &Value> = fields.iter().collect();
            let fields = fields
                .into_iter()
                .map(|(name, value)| format!("{name:?}:{}", sorted(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            let items = items.iter().map(sorted);
            format!("[{}]", items.collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(changes: Vec<Path>) -> Vec<String> {
        changes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_hash_is_the_same_in_every_release() {
        assert_eq!(
            hash(&json!({"b": 1.0, "a": ["x", null]})),
            "93d2ea4773abfef0"
        );
    }

    #[test]
    fn a_large_essence_is_recorded_as_hashes_of_its_parts() {
        let essence = |size: i32, note: &str| {
            let entry = |number| (format!("key{number}"), json!("x".repeat(30)));
            let data: serde_json::Map<_, _> = (0..40).map(entry).collect();
            json!({"spec": {"size": size, "data": data, "notes": {"a": note}}, "metadata": {"labels": {"a": "b"}}})
        };
        let values = || BTreeMap::from([("resize".to_owned(), json!(1))]);
        let whole = Handled::of(&essence(1, "n"), false, values(), hash, MAX_SIZE);
        assert!(whole.readable().is_some());
        for limit in [1500, 300, 200, 1] {
            let handled = Handled::of(&essence(1, "n"), false, values(), hash, limit);
            assert!(handled.readable().is_none());
            let json = serde_json::to_string(&handled).unwrap();
            assert!(json.len() <= limit.max(150), "{limit}: {}", json.len());
            let read: Handled = serde_json::from_str(&json).unwrap();
            assert_eq!(read, handled);
            assert!(read.changes(&essence(1, "n")).is_empty());
            let changes = shown(read.changes(&essence(2, "n")));
            assert_eq!(changes.len(), 1);
            assert!("spec.size".starts_with(changes[0].as_str()), "{changes:?}");
            let change = |has_changed| FieldChange {
                has_changed,
                old: None,
            };
            assert_eq!(read.field("resize", &json!(1), hash), Some(change(false)));
            assert_eq!(read.field("resize", &json!(2), hash), Some(change(true)));
            assert_eq!(read.field("new", &json!(2), hash), None);
        }
    }

    #[test]
    fn the_value_of_a_field_is_recorded_unless_the_object_has_sensitive_values() {
        let essence = json!({"spec": {}});
        let values = || BTreeMap::from([("phase".to_owned(), json!("ready"))]);
        for (is_redacted, old) in [(false, Some(json!("ready"))), (true, None)] {
            let handled = Handled::of(&essence, is_redacted, values(), hash, MAX_SIZE);
            let text = serde_json::to_string(&handled).unwrap();
            assert_eq!(text.contains("ready"), !is_redacted, "{text}");
            let read: Handled = serde_json::from_str(&text).unwrap();
            assert_eq!(read, handled);
            for (now, has_changed) in [("ready", false), ("failed", true)] {
                let change = read.field("phase", &json!(now), hash).unwrap();
                assert_eq!((change.has_changed, &change.old), (has_changed, &old));
            }
        }
    }

    #[test]
    fn the_changes_of_a_whole_essence_are_its_differences() {
        let handled = Handled::of(
            &json!({"spec": {"a": 1, "b": [1, 2]}}),
            false,
            BTreeMap::new(),
            hash,
            MAX_SIZE,
        );
        let changes = handled.changes(&json!({"spec": {"b": [1, 3], "c": {}}}));
        assert_eq!(shown(changes), ["spec.a", "spec.b[1]", "spec.c"]);
    }
}
