//! Accessors of `metadata`, and the values that the server generates for it: times, UIDs and names.

use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::clock;
use crate::model::json::items;

/// A field of `metadata` as text; empty when it is absent.
pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

pub(crate) fn name(object: &Value) -> &str {
    text(object, "name")
}

pub(crate) fn is_deleting(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// Whether an object is being deleted and has no grace period left, so that only finalizers keep it.
pub(crate) fn is_out_of_time(object: &Value) -> bool {
    let grace = &object["metadata"]["deletionGracePeriodSeconds"];
    is_deleting(object) && grace.as_i64().unwrap_or_default() == 0
}

pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    items(&object["metadata"]["finalizers"])
        .filter_map(Value::as_str)
        .collect()
}

/// Sets a field of `metadata`, or removes it when the value is null.
pub(crate) fn set(object: &mut Value, field: &str, value: impl Into<Value>) {
    if let Some(metadata) = metadata(object) {
        match value.into() {
            Value::Null => metadata.shift_remove(field),
            value => metadata.insert(field.to_owned(), value),
        };
    }
}

/// `metadata` as a map, created if it is absent.
pub(crate) fn metadata(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let metadata = object
        .as_object_mut()?
        .entry("metadata")
        .or_insert_with(|| Map::new().into());
    if metadata.is_null() {
        *metadata = Map::new().into();
    }
    metadata.as_object_mut()
}

/// The current time, formatted as in Kubernetes: in UTC, to the second.
pub(crate) fn now() -> String {
    clock::text(clock::now())
}

/// The time after this number of seconds.
pub(crate) fn after(seconds: i64) -> String {
    let now = clock::now();
    let then = Timestamp::from_second(now.as_second().saturating_add(seconds)).unwrap_or(now);
    clock::text(then)
}

/// A new version 4 UUID.
pub(crate) fn uid() -> String {
    let (a, b) = (random(), random());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        a >> 32,
        (a >> 16) & 0xffff,
        a & 0xfff,
        0x8000 | ((b >> 48) & 0x3fff),
        b & 0xffff_ffff_ffff
    )
}

/// Creates a name of at most 63 bytes with a prefix.
pub(crate) fn generated(prefix: &str) -> String {
    let kept = (0..=prefix.len().min(58))
        .rev()
        .find(|at| prefix.is_char_boundary(*at));
    format!("{}{}", &prefix[..kept.unwrap_or_default()], suffix())
}

/// The five random letters that [`generateName`] appends.
///
/// [`generateName`]: https://kubernetes.io/docs/reference/using-api/api-concepts/#generated-values
pub(crate) fn suffix() -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut number = random();
    let mut letters = String::new();
    for _ in 0..5 {
        letters.push(char::from(
            LETTERS[(number % LETTERS.len() as u64) as usize],
        ));
        number /= LETTERS.len() as u64;
    }
    letters
}

/// Sixteen hexadecimal digits, as at the end of the names of events.
#[cfg(feature = "workloads")]
pub(crate) fn serial() -> String {
    format!("{:016x}", random())
}

/// A random number: the hash of a counter by the standard library's hasher, which has random keys.
fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    RandomState::new().hash_one(COUNTER.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn is_standard_finalizer(name: &str) -> bool {
    matches!(name, "kubernetes" | "orphan" | "foregroundDeletion")
}

pub(crate) fn owners(object: &Value) -> &[Value] {
    object["metadata"]["ownerReferences"]
        .as_array()
        .map_or(&[], Vec::as_slice)
}

pub(crate) fn remove_finalizer(object: &mut Value, finalizer: &str) {
    let kept: Vec<Value> = finalizers(object)
        .into_iter()
        .filter(|name| *name != finalizer)
        .map(Value::from)
        .collect();
    let value = if kept.is_empty() {
        Value::Null
    } else {
        kept.into()
    };
    set(object, "finalizers", value);
}

#[cfg(test)]
mod tests {
    use crate::model::metadata::generated;

    #[test]
    fn a_generated_name_is_no_longer_than_a_label() {
        assert_eq!(generated("web-").len(), 9);
        assert_eq!(generated(&"n".repeat(80)).len(), 63);
        assert!(generated(&"ü".repeat(40)).len() <= 63);
    }
}
