//! The OpenAPI v3 schema of a CustomResourceDefinition, with its properties in the order of the document.
//!
//! Every schema that the API server can store can be read: unknown keywords are kept in [`Schema::unknown`], so that the caller can report
//! them. Nothing is checked here; see `structural`.

use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Number, Value};
use std::ops::Not;

/// One node of a schema: [`JSONSchemaProps`], with the order of properties and the text of numbers.
///
/// [`JSONSchemaProps`]: https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/custom-resource-definition-v1/#JSONSchemaProps
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Schema {
    /// The description of the value, for humans.
    #[serde(
        deserialize_with = "not_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<String>,
    /// A short title, for humans.
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
    /// The format of a string or number, such as `date-time` or `int32`.
    #[serde(
        deserialize_with = "not_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub format: Option<String>,
    /// Whether `null` is allowed.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Not::not")]
    pub nullable: bool,
    /// The value of an absent field. `null` counts as no default, as in the API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// An example, which the API server ignores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<Value>,
    /// The allowed values.
    #[serde(
        rename = "enum",
        deserialize_with = "not_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub enum_: Option<Vec<Value>>,

    /// The fields of an object, in the order of the CRD.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "IndexMap::is_empty"
    )]
    pub properties: IndexMap<String, Schema>,
    /// The fields that an object must have.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<String>,
    /// The schema of a map's values, or whether an object may have fields that `properties` does not name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_properties: Option<SchemaOrBool>,
    /// The least number of fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_properties: Option<i64>,
    /// The greatest number of fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_properties: Option<i64>,

    /// The schema of a list's items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Box<Schema>>,
    /// The least number of items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_items: Option<i64>,
    /// The greatest number of items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_items: Option<i64>,
    /// Whether no two items may be equal. The API server rejects a CRD in which this is `true`.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Not::not")]
    pub unique_items: bool,

    /// The lower bound of a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<Number>,
    /// Whether `minimum` itself is excluded.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Not::not")]
    pub exclusive_minimum: bool,
    /// The upper bound of a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum: Option<Number>,
    /// Whether `maximum` itself is excluded.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Not::not")]
    pub exclusive_maximum: bool,
    /// The number must be a multiple of this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiple_of: Option<Number>,

    /// A regular expression of Go's dialect that a string must match, not anchored.
    #[serde(
        deserialize_with = "not_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub pattern: Option<String>,
    /// The least length of a string, in Unicode code points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<i64>,
    /// The greatest length of a string, in Unicode code points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<i64>,

    /// The value must satisfy all of these.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub all_of: Vec<Schema>,
    /// The value must satisfy at least one of these.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub any_of: Vec<Schema>,
    /// The value must satisfy exactly one of these.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<Schema>,
    /// The value must not satisfy this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not: Option<Box<Schema>>,

    /// Whether the API server keeps fields that the schema does not name.
    #[serde(
        rename = "x-kubernetes-preserve-unknown-fields",
        skip_serializing_if = "Option::is_none"
    )]
    pub preserve_unknown_fields: Option<bool>,
    /// Whether the object is a Kubernetes object with `apiVersion`, `kind` and `metadata` of its own.
    #[serde(
        rename = "x-kubernetes-embedded-resource",
        deserialize_with = "or_default",
        skip_serializing_if = "Not::not"
    )]
    pub embedded_resource: bool,
    /// Whether the value is an integer or a string.
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
    /// The fields that identify an item of a list of type `map`.
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
    /// The CEL rules of the value.
    #[serde(
        rename = "x-kubernetes-validations",
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub validations: Vec<Rule>,

    /// A link to documentation, which the API server ignores.
    #[serde(
        rename = "externalDocs",
        deserialize_with = "without_empty_texts",
        skip_serializing_if = "Option::is_none"
    )]
    pub external_docs: Option<Value>,
    /// Keywords that a CustomResourceDefinition's schema does not have, `$ref` among them.
    #[serde(flatten, deserialize_with = "without_absent")]
    pub unknown: IndexMap<String, Value>,
}

/// What `additionalProperties` may be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SchemaOrBool {
    /// Whether other fields are allowed.
    Bool(bool),
    /// The schema of the values of other fields.
    Schema(Box<Schema>),
}

/// A CEL rule of [`x-kubernetes-validations`](https://kubernetes.io/docs/reference/using-api/cel/).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rule {
    /// The CEL expression; `self` is the value.
    pub rule: String,
    /// What the API server reports if the rule fails.
    #[serde(
        deserialize_with = "not_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub message: Option<String>,
    /// A CEL expression that computes the message.
    #[serde(
        deserialize_with = "not_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub message_expression: Option<String>,
    /// The reason that the API server reports, such as `FieldValueInvalid`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The field that the failure is reported at, relative to the value, such as `.size`.
    #[serde(
        deserialize_with = "not_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub field_path: Option<String>,
    /// Whether a rule that uses `oldSelf` is evaluated without an old value as well; `oldSelf` is then a CEL optional.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional_old_self: Option<bool>,
}

/// Reads an empty string or list as absent, because the API server does not store it: its Go type has `omitempty`.
fn not_empty<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default + PartialEq,
{
    let value = Option::<T>::deserialize(deserializer)?;
    Ok(value.filter(|value| *value != T::default()))
}

/// Reads an object without its empty strings, which the API server does not store.
fn without_empty_texts<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Value>, D::Error> {
    let mut value = Option::<Value>::deserialize(deserializer)?;
    if let Some(Value::Object(fields)) = &mut value {
        fields.retain(|_, value| *value != "");
    }
    Ok(value)
}

/// The keywords that the Go type of a CRD's schema has, but the API server forbids.
pub(crate) const FORBIDDEN: [&str; 7] = [
    "$ref",
    "$schema",
    "additionalItems",
    "definitions",
    "dependencies",
    "id",
    "patternProperties",
];

/// Whether the API server treats the keyword as absent: it is `null`, or an empty string or map in a forbidden field.
fn is_absent(keyword: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty() && FORBIDDEN.contains(&keyword),
        Value::Object(entries) => {
            entries.is_empty() && keyword != "additionalItems" && FORBIDDEN.contains(&keyword)
        }
        value => value.is_null(),
    }
}

/// Reads unknown keywords without those that the API server treats as absent.
fn without_absent<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<IndexMap<String, Value>, D::Error> {
    let mut keywords = IndexMap::<String, Value>::deserialize(deserializer)?;
    keywords.retain(|keyword, value| !is_absent(keyword, value));
    Ok(keywords)
}

/// Reads a keyword that is `null` as absent, as the API server does.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
