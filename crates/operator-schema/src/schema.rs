//! The OpenAPI v3 schema of a CustomResourceDefinition, keyword by keyword, in the order of its document.
//!
//! Reading is total over what the API server can store: an unknown keyword is kept in [`Schema::unknown`], so that the
//! caller can say so. Nothing is checked here; that is the work of `structural`.

use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Number, Value};
use std::ops::Not;

/// One node of a schema: [`JSONSchemaProps`] with the order of properties and the text of numbers kept.
///
/// [`JSONSchemaProps`]: https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/custom-resource-definition-v1/#JSONSchemaProps
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Schema {
    #[serde(
        deserialize_with = "not_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<String>,
    #[serde(
        deserialize_with = "not_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub title: Option<String>,
    /// `object`, `array`, `string`, `integer`, `number`, `boolean`; absent with int-or-string and preserved fields.
    #[serde(
        rename = "type",
        deserialize_with = "not_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub type_: Option<String>,
    #[serde(
        deserialize_with = "not_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub format: Option<String>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Not::not")]
    pub nullable: bool,
    /// The API server does not tell `null` from absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<Value>,
    #[serde(
        rename = "enum",
        deserialize_with = "not_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub enum_: Option<Vec<Value>>,

    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "IndexMap::is_empty"
    )]
    pub properties: IndexMap<String, Schema>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_properties: Option<SchemaOrBool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_properties: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_properties: Option<i64>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Box<Schema>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_items: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_items: Option<i64>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Not::not")]
    pub unique_items: bool,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<Number>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Not::not")]
    pub exclusive_minimum: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum: Option<Number>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Not::not")]
    pub exclusive_maximum: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiple_of: Option<Number>,

    #[serde(
        deserialize_with = "not_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub pattern: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<i64>,

    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub all_of: Vec<Schema>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub any_of: Vec<Schema>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<Schema>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not: Option<Box<Schema>>,

    #[serde(
        rename = "x-kubernetes-preserve-unknown-fields",
        skip_serializing_if = "Option::is_none"
    )]
    pub preserve_unknown_fields: Option<bool>,
    #[serde(
        rename = "x-kubernetes-embedded-resource",
        deserialize_with = "or_default",
        skip_serializing_if = "Not::not"
    )]
    pub embedded_resource: bool,
    #[serde(
        rename = "x-kubernetes-int-or-string",
        deserialize_with = "or_default",
        skip_serializing_if = "Not::not"
    )]
    pub int_or_string: bool,
    /// `atomic`, `set` or `map`.
    #[serde(
        rename = "x-kubernetes-list-type",
        skip_serializing_if = "Option::is_none"
    )]
    pub list_type: Option<String>,
    #[serde(
        rename = "x-kubernetes-list-map-keys",
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub list_map_keys: Vec<String>,
    /// `granular` or `atomic`.
    #[serde(
        rename = "x-kubernetes-map-type",
        skip_serializing_if = "Option::is_none"
    )]
    pub map_type: Option<String>,
    #[serde(
        rename = "x-kubernetes-validations",
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub validations: Vec<Rule>,

    #[serde(
        rename = "externalDocs",
        deserialize_with = "without_empty_texts",
        skip_serializing_if = "Option::is_none"
    )]
    pub external_docs: Option<Value>,
    /// Keywords that a CustomResourceDefinition's schema does not have, `$ref` among them.
    #[serde(flatten)]
    pub unknown: IndexMap<String, Value>,
}

/// What `additionalProperties` may be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SchemaOrBool {
    Bool(bool),
    Schema(Box<Schema>),
}

/// A CEL rule of [`x-kubernetes-validations`](https://kubernetes.io/docs/reference/using-api/cel/).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rule {
    pub rule: String,
    #[serde(
        deserialize_with = "not_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub message: Option<String>,
    #[serde(
        deserialize_with = "not_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub message_expression: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(
        deserialize_with = "not_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub field_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional_old_self: Option<bool>,
}

/// A text or list that is empty counts as absent, as the API server stores none: its Go type has `omitempty`.
fn not_empty<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default + PartialEq,
{
    let value = Option::<T>::deserialize(deserializer)?;
    Ok(value.filter(|value| *value != T::default()))
}

/// An object without its empty texts, which the API server does not store either.
fn without_empty_texts<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Value>, D::Error> {
    let mut value = Option::<Value>::deserialize(deserializer)?;
    if let Some(Value::Object(fields)) = &mut value {
        fields.retain(|_, value| *value != "");
    }
    Ok(value)
}

/// A keyword that is `null` counts as absent, as for the API server.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
