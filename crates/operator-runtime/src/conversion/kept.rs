//! The annotation that holds what a version could not express.
//!
//! ```json
//! {"format": 1, "kept": {"v1": [
//!   {"path": ["spec", "mode"], "value": "Legacy", "wrote": "Standard"},
//!   {"path": ["spec", "pools", [{"name": "a"}], "debug"], "value": true},
//!   {"path": ["spec", "steps", ["d4272417d7c77eea"], "note"], "value": "n"}
//! ]}}
//! ```
//!
//! `kept` has, for each version, the values that another version could not hold. `path` leads to the value: a list with one element stands
//! for an item, by its keys, or by the hash of what comes back of it. `value` is missing if the field was absent. `wrote` is what the other
//! version got in its place. Versions, entries and fields are sorted, so that equal objects have equal annotations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::canonical::{hash, is_same, sorted};
use super::error::ConversionError;
use super::item::Identity;

/// The format that this release writes; annotations in another one are ignored.
const FORMAT: u32 = 1;

/// The largest annotation in bytes. All annotations of an object together may have 256 KiB.
const LIMIT: usize = 64 * 1024;

/// What is kept for each version.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Kept(pub BTreeMap<String, Vec<Entry>>);

#[derive(Serialize, Deserialize)]
struct Annotation {
    format: u32,
    kept: BTreeMap<String, Vec<Entry>>,
}

/// A value that another version could not hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub path: Vec<KeptStep>,
    /// How many of the innermost parents are created if they are absent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub create: usize,
    /// `None` if the field was absent.
    #[serde(default, with = "nullable", skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// If the field was absent: the hash of the object that comes back instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
    /// What the other version got in its place, if anything.
    #[serde(default, with = "nullable", skip_serializing_if = "Option::is_none")]
    pub wrote: Option<Value>,
    /// The hash of what the other version got, if it is large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// A step to a kept value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum KeptStep {
    Field(String),
    /// In a list of one item, so that it is never mistaken for a field.
    Item([Identity; 1]),
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Reads a `null` as a value that is null, not as an absent one.
mod nullable {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    pub fn serialize<S: Serializer>(
        value: &Option<Value>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Value>, D::Error> {
        Value::deserialize(deserializer).map(Some)
    }
}

impl Entry {
    /// Records what the other version got. A secret or large value is recorded as its hash.
    pub fn wrote(mut self, value: Option<Value>, is_secret: bool) -> Self {
        const LARGEST: usize = 24;
        match value {
            Some(value) if is_secret || value.to_string().len() > LARGEST => {
                self.hash = Some(hash(&value));
            }
            value => self.wrote = value,
        }
        self
    }

    /// Whether the other version still has what was written.
    pub fn is_unedited(&self, value: Option<&Value>) -> bool {
        match (&self.hash, value) {
            (Some(written), Some(value)) => *written == hash(value),
            (Some(_), None) => false,
            (None, value) => is_same(self.wrote.as_ref(), value),
        }
    }

    fn size(&self) -> usize {
        serde_json::to_string(self).map_or(0, |text| text.len())
    }

    /// The path, for messages.
    fn shown(&self) -> String {
        let mut shown = String::new();
        for step in &self.path {
            match step {
                KeptStep::Field(name) if shown.is_empty() => shown.push_str(name),
                KeptStep::Field(name) => shown.push_str(&format!(".{name}")),
                KeptStep::Item([item]) => shown.push_str(&format!("[{item}]")),
            }
        }
        shown
    }
}

impl Kept {
    /// Reads the annotation of an object. If it is absent or damaged, nothing is kept, so that the object can be converted nevertheless.
    pub fn read(object: &Value, annotation: &str) -> Self {
        let text = object
            .get("metadata")
            .and_then(|it| it.get("annotations"))
            .and_then(|it| it.get(annotation))
            .and_then(Value::as_str);
        let read = text
            .and_then(|text| serde_json::from_str::<Annotation>(text).ok())
            .filter(|it| it.format == FORMAT);
        Self(read.map(|it| it.kept).unwrap_or_default())
    }

    /// Writes the annotation, or removes it if nothing is kept.
    pub fn write(mut self, object: &mut Value, annotation: &str) -> Result<(), ConversionError> {
        self.0.retain(|_, entries| !entries.is_empty());
        if self.0.is_empty() {
            remove(object, annotation);
            return Ok(());
        }
        let text = self.text();
        if text.len() > LIMIT {
            return Err(self.too_large(annotation, text.len()));
        }
        // serde_json does not read values that are nested deeper than its recursion limit
        if serde_json::from_str::<Annotation>(&text).is_err() {
            let annotation = annotation.to_owned();
            return Err(ConversionError::TooDeep { annotation });
        }
        let mut at = object;
        for name in ["metadata", "annotations"] {
            at = match at {
                Value::Object(fields) => fields.entry(name).or_insert(Value::Null),
                _ => return Err(unwritable(annotation)),
            };
            if at.is_null() {
                *at = Value::Object(Map::new());
            }
        }
        match at {
            Value::Object(fields) => fields.insert(annotation.to_owned(), Value::String(text)),
            _ => return Err(unwritable(annotation)),
        };
        Ok(())
    }

    fn text(&self) -> String {
        let mut kept = self.0.clone();
        for entry in kept.values_mut().flatten() {
            entry.value = entry.value.as_ref().map(sorted);
            entry.wrote = entry.wrote.as_ref().map(sorted);
        }
        let format = FORMAT;
        // cannot fail: all keys of maps are strings
        serde_json::to_string(&Annotation { format, kept }).unwrap_or_default()
    }

    fn too_large(&self, annotation: &str, size: usize) -> ConversionError {
        const SHOWN: usize = 3;
        let mut entries: Vec<(usize, String)> = self
            .0
            .iter()
            .flat_map(|(version, entries)| {
                entries
                    .iter()
                    .map(move |entry| (entry.size(), format!("{version} {}", entry.shown())))
            })
            .collect();
        entries.sort_by(|a, b| b.cmp(a));
        let largest: Vec<String> = entries
            .into_iter()
            .take(SHOWN)
            .map(|(size, name)| format!("{name} ({size} bytes)"))
            .collect();
        ConversionError::TooLarge {
            annotation: annotation.to_owned(),
            size,
            limit: LIMIT,
            largest: largest.join(", "),
        }
    }
}

/// Removes an annotation, and the map of annotations if it was the last one.
fn remove(object: &mut Value, annotation: &str) {
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else {
        return;
    };
    let Some(Value::Object(annotations)) = metadata.get_mut("annotations") else {
        return;
    };
    if annotations.remove(annotation).is_some() && annotations.is_empty() {
        metadata.remove("annotations");
    }
}

fn unwritable(annotation: &str) -> ConversionError {
    ConversionError::Annotations {
        annotation: annotation.to_owned(),
    }
}
