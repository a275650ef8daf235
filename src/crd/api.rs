//! A CustomResourceDefinition, as the rest of the program uses it.

use std::sync::Arc;

use indexmap::IndexMap;
use operator_schema::Schema;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{
    compose::compose,
    live::ServerFields,
    position::Positions,
    problem::{Problem, ReadError},
};
use crate::diagnostic::{Diagnostic, Location, Severity};

/// One kind with all its versions, read from one document.
#[derive(Clone, Debug, PartialEq)]
pub struct Api {
    pub group: String,
    pub names: Names,
    pub scope: Scope,
    /// The versions, in the order of the document.
    pub versions: Vec<Version>,
    pub conversion: Conversion,
    pub annotations: IndexMap<String, String>,
    pub labels: IndexMap<String, String>,
    pub source: Source,
    /// The reasons why the API server refuses the CRD, with their JSON pointers. Only those that do not concern the types: about metadata,
    /// unknown fields and CEL rules.
    pub refused: Vec<(String, Problem)>,
    /// The fields that a cluster has set in the document.
    pub server_fields: ServerFields,
    /// The document as it is installed: its own bytes, or YAML generated from a list item or from JSON.
    pub text: String,
}

/// The origin of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The path as the user gave it; `-` is standard input.
    pub path: String,
    /// The line on which the CRD starts, from 1.
    pub line: usize,
    /// The enclosing document, if the CRD was extracted from a list or from JSON.
    pub enclosing: Option<Enclosing>,
    /// The positions of the nodes in the text of the document, or of the enclosing one.
    pub(super) positions: Arc<Positions>,
}

/// A document that contains CRDs as list items or as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enclosing {
    pub text: Arc<str>,
    /// The line on which it starts, from 1.
    pub line: usize,
    /// The JSON pointer of the CRD within the document.
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
    /// Parts of the schema that the API server accepts, but that cannot work as intended.
    pub schema_warnings: Vec<operator_schema::Problem>,
    pub status_subresource: bool,
    pub scale: Option<Scale>,
    pub printer_columns: Vec<PrinterColumn>,
    /// JSON paths.
    pub selectable_fields: Vec<String>,
    /// The index in `spec.versions`, for JSON pointers.
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

/// Reads an empty string and a zero as absent, because the API server does not store them: their fields in Go have `omitempty`.
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

    /// The CRD as a client applies it: without a status, and without what the API server sets.
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

    /// The storage version.
    pub fn storage_version(&self) -> &Version {
        self.versions
            .iter()
            .find(|version| version.storage)
            .expect("read refuses a CRD without a storage version")
    }

    /// The locations in the file to which JSON pointers into the CRD lead.
    pub fn locations(&self, pointers: &[&str]) -> Vec<Location> {
        let (text, line, above) = match &self.source.enclosing {
            Some(enclosing) => (&*enclosing.text, enclosing.line, enclosing.pointer.as_str()),
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

    /// The reasons why every API server refuses the CRD, with their locations: errors if the operator's manifests install it.
    pub fn refusals(&self) -> Vec<ReadError> {
        // a newer API server may have a function that the tool does not know
        let errors = self.refused.iter().filter(|(_, it)| !it.is_uncertain());
        let errors: Vec<_> = errors.collect();
        let pointers: Vec<&str> = errors.iter().map(|(it, _)| it.as_str()).collect();
        if pointers.is_empty() {
            return vec![];
        }
        self.locations(&pointers)
            .into_iter()
            .zip(errors)
            .map(|(location, (_, problem))| ReadError {
                location,
                problem: problem.clone(),
            })
            .collect()
    }

    /// The reasons why an API server may refuse the CRD, as warnings. They are about a CRD that the manifests do not install, or about
    /// rules that only some API servers refuse: otherwise, [`refusals`](Self::refusals) has ended the command.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        self.refused
            .iter()
            .filter(|(pointer, _)| !self.server_fields.contain(pointer))
            .map(|(pointer, problem)| Diagnostic {
                code: problem.code(),
                severity: Severity::Warning,
                pointer: pointer.clone(),
                message: problem.to_string(),
                instead: Some("the types do not depend on it".into()),
                help: Some(problem.help()),
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
