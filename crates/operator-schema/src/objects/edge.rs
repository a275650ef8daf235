//! The edge cases of a node: values for which code that was written for usual values may fail.

use super::limit;
use crate::sample::accepts;
use crate::{Schema, SchemaOrBool};
use serde_json::{Value, json};

/// An edge case of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Edge {
    /// An optional field is absent from its object.
    Absent,
    /// `null` for a nullable schema.
    Null,
    /// An empty string, list or object.
    Empty,
    /// The smallest number of the bounds and the format; `false`.
    Least,
    /// The largest number of the bounds and the format; `true`.
    Most,
    /// A number with a fraction.
    Fraction,
    /// The integer of an int-or-string.
    Integer,
    /// The string of an int-or-string.
    Text,
    /// A field that the schema does not specify, but preserves.
    Unknown,
    /// A key of a map with a dot, a slash and a dash.
    OddKey,
}

pub(super) const ODD_KEY: &str = "odd.key/with-dash_1";
pub(super) const UNKNOWN: &str = "unknownField";

impl Edge {
    const ALL: [Edge; 9] = [
        Edge::Null,
        Edge::Empty,
        Edge::Least,
        Edge::Most,
        Edge::Fraction,
        Edge::Integer,
        Edge::Text,
        Edge::Unknown,
        Edge::OddKey,
    ];

    /// The edge cases that the schema itself allows; `Absent` depends on the surrounding object.
    pub(super) fn of(schema: &Schema) -> impl Iterator<Item = Edge> {
        Self::ALL.into_iter().filter(|edge| match edge {
            Edge::Unknown => keeps_unknown(schema),
            Edge::OddKey => {
                matches!(schema.additional_properties, Some(SchemaOrBool::Schema(_)))
                    && schema.max_properties.is_none_or(|most| most > 0)
            }
            Edge::Empty if schema.type_.as_deref() == Some("array") => {
                schema.min_items.unwrap_or(0) <= 0
            }
            edge => edge
                .value(schema, &[schema])
                .is_some_and(|value| accepts(&[schema], &value)),
        })
    }

    /// The value of this edge case, for nodes whose value does not depend on nodes below.
    pub(super) fn value(self, schema: &Schema, facets: &[&Schema]) -> Option<Value> {
        let type_ = schema.type_.as_deref();
        let free = schema.enum_.is_none();
        match self {
            Edge::Null => schema.nullable.then_some(Value::Null),
            Edge::Empty => match type_ {
                Some("string") if free => Some(json!("")),
                Some("array") => Some(json!([])),
                Some("object") if !schema.embedded_resource => Some(json!({})),
                _ => None,
            },
            Edge::Least | Edge::Most => match type_ {
                Some("boolean") => Some(json!(self == Edge::Most)),
                Some("integer" | "number") if free => limit::limit(schema, self == Edge::Most),
                _ => None,
            },
            Edge::Fraction if free && type_ == Some("number") => limit::fraction(schema),
            Edge::Integer if free && schema.int_or_string => limit::first(facets, Value::is_number),
            Edge::Text if free && schema.int_or_string => limit::first(facets, Value::is_string),
            _ => None,
        }
    }

    /// Whether a value is this edge case of its schema.
    pub(super) fn is_at(self, schema: &Schema, value: &Value) -> bool {
        match (self, value) {
            (Edge::Null, value) => value.is_null(),
            (Edge::Empty, Value::String(text)) => text.is_empty(),
            (Edge::Empty, Value::Array(items)) => items.is_empty(),
            (Edge::Empty, Value::Object(map)) => map.is_empty(),
            (Edge::Least | Edge::Most, value) => self.value(schema, &[]).as_ref() == Some(value),
            (Edge::Fraction, value) => value.as_f64().is_some_and(|it| it.fract() != 0.0),
            (Edge::Integer, value) => value.is_number(),
            (Edge::Text, value) => value.is_string(),
            (Edge::Unknown, Value::Object(map)) => {
                map.keys().any(|key| !schema.properties.contains_key(key))
            }
            (Edge::OddKey, Value::Object(map)) => map.contains_key(ODD_KEY),
            _ => false,
        }
    }
}

/// Whether a field that the schema does not specify can be added to an object.
pub(super) fn keeps_unknown(schema: &Schema) -> bool {
    schema.preserve_unknown_fields == Some(true)
        && schema.additional_properties.is_none()
        && schema.max_properties.is_none()
        && matches!(schema.type_.as_deref(), Some("object") | None)
}
