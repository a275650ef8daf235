//! The serialized form of a CustomResourceDefinition, with the fields that are read here.
//!
//! <https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/custom-resource-definition-v1/>

use indexmap::IndexMap;
use operator_schema::Schema;
use serde::Deserialize;

use super::api::{PrinterColumn, Scale};

/// The parts of a CRD that the types depend on. An error in them makes the CRD unreadable.
#[derive(Deserialize)]
pub struct Definition {
    pub metadata: Metadata,
    pub spec: Spec,
}

#[derive(Deserialize)]
pub struct Metadata {
    pub name: String,
}

/// The annotations and labels. They are decoded separately, because an error in them does not concern the types.
#[derive(Default, Deserialize)]
pub struct Texts {
    #[serde(default)]
    pub annotations: Option<IndexMap<String, Option<String>>>,
    #[serde(default)]
    pub labels: Option<IndexMap<String, Option<String>>>,
}

#[derive(Deserialize)]
pub struct Spec {
    pub group: String,
    pub names: RawNames,
    pub scope: RawScope,
    pub versions: Vec<RawVersion>,
    #[serde(default)]
    pub conversion: Option<RawConversion>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RawNames {
    pub plural: String,
    pub kind: String,
    #[serde(default)]
    pub singular: Option<String>,
    #[serde(default)]
    pub list_kind: Option<String>,
    #[serde(default)]
    pub short_names: Option<Vec<String>>,
    #[serde(default)]
    pub categories: Option<Vec<String>>,
}

#[derive(Deserialize)]
pub enum RawScope {
    Namespaced,
    Cluster,
}

#[derive(Deserialize)]
pub struct RawConversion {
    pub strategy: Strategy,
}

#[derive(Deserialize)]
pub enum Strategy {
    None,
    Webhook,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RawVersion {
    pub name: String,
    #[serde(default)]
    pub served: Option<bool>,
    #[serde(default)]
    pub storage: Option<bool>,
    #[serde(default)]
    pub deprecated: Option<bool>,
    #[serde(default)]
    pub deprecation_warning: Option<String>,
    #[serde(default)]
    pub schema: Option<RawSchema>,
    #[serde(default)]
    pub subresources: Option<Subresources>,
    #[serde(default)]
    pub additional_printer_columns: Option<Vec<PrinterColumn>>,
    #[serde(default)]
    pub selectable_fields: Option<Vec<SelectableField>>,
}

#[derive(Deserialize)]
pub struct RawSchema {
    #[serde(rename = "openAPIV3Schema")]
    pub schema: Option<Schema>,
}

#[derive(Deserialize)]
pub struct Subresources {
    #[serde(default)]
    pub status: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    pub scale: Option<Scale>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SelectableField {
    pub json_path: String,
}
