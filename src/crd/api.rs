//! A CustomResourceDefinition, as the rest of the program uses it.

use std::sync::Arc;

use indexmap::IndexMap;
use operator_schema::Schema;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{compose::compose, position::Positions};
use crate::diagnostic::Location;

/// One kind with all its versions, read from one document.
#[derive(Clone, Debug, PartialEq)]
pub struct Api {
    pub group: String,
    pub names: Names,
    pub scope: Scope,
    /// In the order of the document.
    pub versions: Vec<Version>,
    pub conversion: Conversion,
    pub annotations: IndexMap<String, String>,
    pub labels: IndexMap<String, String>,
    pub source: Source,
    /// The document as it is installed: its own bytes, or YAML made of an item of a list or of JSON.
    pub text: String,
}

/// Where a document stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// As the user named it; `-` is standard input.
    pub path: String,
    /// The first line of the definition, from 1.
    pub line: usize,
    /// What the definition is part of, where its text is not the document's own.
    pub around: Option<Around>,
    /// Of the nodes in that text.
    pub(super) positions: Arc<Positions>,
}

/// A document that holds definitions as items of a list or as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Around {
    pub text: Arc<str>,
    /// Its first line, from 1.
    pub line: usize,
    /// Of the definition in the document.
    pub pointer: String,
}

/// `spec.names`, completed as the API server does it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    pub plural: String,
    pub singular: String,
    pub kind: String,
    pub list_kind: String,
    pub short_names: Vec<String>,
    pub categories: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Namespaced,
    Cluster,
}

/// `spec.conversion.strategy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    None,
    Webhook,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Version {
    pub name: String,
    pub served: bool,
    pub storage: bool,
    pub deprecated: Deprecation,
    pub schema: Schema,
    /// What the API server takes of the schema, and cannot have been meant.
    pub schema_warnings: Vec<operator_schema::Problem>,
    pub status_subresource: bool,
    pub scale: Option<Scale>,
    pub printer_columns: Vec<PrinterColumn>,
    /// JSON paths.
    pub selectable_fields: Vec<String>,
    /// The version's place in `spec.versions`, for JSON pointers.
    pub index: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Deprecation {
    #[default]
    No,
    Yes,
    WithWarning(String),
}

/// The scale subresource; the paths are JSON paths such as `.spec.replicas`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Scale {
    pub spec_replicas_path: String,
    pub status_replicas_path: String,
    #[serde(default)]
    pub label_selector_path: Option<String>,
}

/// A column of `kubectl get`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PrinterColumn {
    pub name: String,
    #[serde(rename = "type")]
    pub type_: String,
    #[serde(default, deserialize_with = "not_empty")]
    pub format: Option<String>,
    #[serde(default, deserialize_with = "not_empty")]
    pub description: Option<String>,
    #[serde(default, deserialize_with = "not_empty")]
    pub priority: Option<i32>,
    pub json_path: String,
}

/// An empty text and a zero count as absent, as the API server stores none: their fields in Go have `omitempty`.
fn not_empty<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default + PartialEq,
{
    let value = Option::<T>::deserialize(deserializer)?;
    Ok(value.filter(|value| *value != T::default()))
}

impl Api {
    /// The CustomResourceDefinition's name, `<plural>.<group>`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.names.plural, self.group)
    }

    /// The definition as a client applies it: without a status, and without what the API server sets.
    pub fn definition(&self) -> Value {
        let document = compose(&self.text).expect("it was read from such a text");
        let mut document = document.value;
        for (part, known) in [
            ("", &["apiVersion", "kind", "metadata", "spec"][..]),
            ("/metadata", &["name", "labels", "annotations"]),
        ] {
            if let Some(Value::Object(map)) = document.pointer_mut(part) {
                map.retain(|key, value| known.contains(&key.as_str()) && !value.is_null());
            }
        }
        document
    }

    /// The version in which objects are stored.
    pub fn storage_version(&self) -> &Version {
        self.versions
            .iter()
            .find(|version| version.storage)
            .expect("read refuses a definition without a storage version")
    }

    /// Where JSON pointers into the definition lead in the file.
    pub fn locations(&self, pointers: &[&str]) -> Vec<Location> {
        let (text, line, above) = match &self.source.around {
            Some(around) => (&*around.text, around.line, around.pointer.as_str()),
            None => (self.text.as_str(), self.source.line, ""),
        };
        let whole: Vec<String> = pointers
            .iter()
            .map(|pointer| format!("{above}{pointer}"))
            .collect();
        let ranges = self.source.positions.places(text, &whole);
        ranges
            .into_iter()
            .zip(pointers)
            .map(|(range, pointer)| {
                Location::new(&self.source.path, line, text, range).with_pointer(*pointer)
            })
            .collect()
    }

    pub fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.name == name)
    }
}

impl Version {
    /// The JSON pointer of the version's schema within the document.
    pub fn schema_pointer(&self) -> String {
        format!("/spec/versions/{}/schema/openAPIV3Schema", self.index)
    }
}
