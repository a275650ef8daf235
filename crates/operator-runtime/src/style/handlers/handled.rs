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
    Whole {
        essence: Value,
        /// If the essence has hashes in place of sensitive values: the hash of each field that has a handler, by the id of the handler.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fields: Option<BTreeMap<String, String>>,
    },
    Hashed {
        /// The number of field names in the path of a part; with 0, the whole essence is one part.
        depth: usize,
        /// The hash of each part, by its path.
        hashes: BTreeMap<String, String>,
        /// The hash of each field that has a handler, by the id of the handler.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        fields: BTreeMap<String, String>,
    },
}

impl Handled {
    /// Records an essence in at most `limit` bytes; if that is impossible, as a single hash. `fields` returns the hashes of the fields that
    /// have handlers.
    pub fn of(
        essence: &Value,
        is_redacted: bool,
        fields: impl Fn() -> BTreeMap<String, String>,
        limit: usize,
    ) -> Self {
        let whole = Self::Whole {
            essence: essence.clone(),
            fields: is_redacted.then(&fields),
        };
        if whole.size() <= limit {
            return whole;
        }
        let fields = fields();
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
            Self::Whole {
                essence,
                fields: None,
            } => Some(essence),
            Self::Whole { .. } | Self::Hashed { .. } => None,
        }
    }

    /// The paths at which an essence differs from the handled one.
    pub fn changes(&self, now: &Value) -> Vec<Path> {
        match self {
            Self::Whole { essence, .. } => differences(essence, now),
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

    /// Whether the field of a handler had the value with this hash; `None` if the operator did not have the handler then. If the essence
    /// was recorded with all values, there are no hashes. This is then called only if the essence cannot be decoded any more, so that
    /// the field may have changed.
    pub fn has_field(&self, handler: &str, hash: &str) -> Option<bool> {
        let fields = match self {
            Self::Whole { fields: None, .. } => return Some(false),
            Self::Whole {
                fields: Some(fields),
                ..
            }
            | Self::Hashed { fields, .. } => fields,
        };
        fields.get(handler).map(|it| it == hash)
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
        let fields = || BTreeMap::from([("resize".to_owned(), "1".to_owned())]);
        let whole = Handled::of(&essence(1, "n"), false, fields, MAX_SIZE);
        assert!(whole.readable().is_some());
        for limit in [1500, 300, 200, 1] {
            let handled = Handled::of(&essence(1, "n"), false, fields, limit);
            assert!(handled.readable().is_none());
            let json = serde_json::to_string(&handled).unwrap();
            assert!(json.len() <= limit.max(150), "{limit}: {}", json.len());
            let read: Handled = serde_json::from_str(&json).unwrap();
            assert_eq!(read, handled);
            assert!(read.changes(&essence(1, "n")).is_empty());
            let changes = shown(read.changes(&essence(2, "n")));
            assert_eq!(changes.len(), 1);
            assert!("spec.size".starts_with(changes[0].as_str()), "{changes:?}");
            assert_eq!(read.has_field("resize", "1"), Some(true));
            assert_eq!(read.has_field("resize", "2"), Some(false));
            assert_eq!(read.has_field("new", "2"), None);
        }
    }

    #[test]
    fn the_changes_of_a_whole_essence_are_its_differences() {
        let handled = Handled::of(
            &json!({"spec": {"a": 1, "b": [1, 2]}}),
            false,
            BTreeMap::new,
            MAX_SIZE,
        );
        let changes = handled.changes(&json!({"spec": {"b": [1, 3], "c": {}}}));
        assert_eq!(shown(changes), ["spec.a", "spec.b[1]", "spec.c"]);
    }
}
