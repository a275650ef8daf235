//! The sizes that a schema declares, or those that fit into a request.

use super::path::{ITEMS, KEYS, VALUES};
use crate::rules::check::declared::{declared, has_own_metadata};
use crate::rules::value::escaped;
use crate::{Schema, SchemaOrBool};
use std::collections::BTreeSet;

/// The largest request in bytes.
pub(super) const REQUEST: i64 = 3 << 20;

/// The longest text of a request, without its quotes.
const TEXT: i64 = REQUEST - 2;

/// A part of a schema.
#[derive(Clone, Copy, Debug)]
pub(in crate::rules::check) enum Part<'s> {
    Schema(&'s Schema),
    /// The schema of an object with `apiVersion`, `kind` and `metadata`.
    Resource(&'s Schema),
    /// The metadata of a resource, of which rules see only `name` and `generateName`.
    Metadata,
    /// A text without a schema.
    Text,
    /// The key of a map.
    Key,
}

/// The keyword that bounds a value, and its value.
pub(super) fn bound(schema: &Schema) -> Option<(&'static str, Option<i64>)> {
    match schema.type_.as_deref() {
        _ if schema.int_or_string => Some(("maxLength", schema.max_length)),
        Some("array") => Some(("maxItems", schema.max_items)),
        Some("object") => {
            let is_map = schema.additional_properties.is_some();
            is_map.then_some(("maxProperties", schema.max_properties))
        }
        Some("string") => match schema.format.as_deref() {
            Some("duration" | "date" | "date-time") => None,
            _ => Some(("maxLength", schema.max_length)),
        },
        _ => None,
    }
}

impl<'s> Part<'s> {
    pub(in crate::rules::check) fn of(schema: &'s Schema, is_resource: bool) -> Self {
        if is_resource && !has_own_metadata(schema) {
            Part::Resource(schema)
        } else {
            Part::Schema(schema)
        }
    }

    pub(super) fn schema(self) -> Option<&'s Schema> {
        match self {
            Part::Schema(schema) | Part::Resource(schema) => Some(schema),
            _ => None,
        }
    }

    /// The part that a step of a path leads to.
    pub(in crate::rules::check) fn step(self, step: &str) -> Option<Self> {
        if let Part::Metadata = self {
            return matches!(step, "name" | "generateName").then_some(Part::Text);
        }
        let schema = self.schema().filter(|it| !it.int_or_string)?;
        let values = match &schema.additional_properties {
            Some(SchemaOrBool::Schema(values)) => Some(&**values),
            _ => None,
        };
        let below = match (schema.type_.as_deref()?, values, step) {
            ("array", _, ITEMS | VALUES) => schema.items.as_deref()?,
            ("object", Some(values), ITEMS | VALUES) => values,
            ("object", Some(_), KEYS) => return Some(Part::Key),
            ("object", None, name) => match (self, name) {
                (Part::Resource(_), "apiVersion" | "kind") => return Some(Part::Text),
                (Part::Resource(_), "metadata") => return Some(Part::Metadata),
                _ => {
                    let mut fields = schema.properties.iter();
                    if name.contains("__") {
                        fields.find_map(|(key, it)| (escaped(key)? == name).then_some(it))?
                    } else {
                        schema
                            .properties
                            .get(name)
                            .filter(|_| escaped(name).is_some_and(|it| it == name))?
                    }
                }
            },
            _ => return None,
        };
        declared(below, below.embedded_resource)?;
        Some(Part::of(below, below.embedded_resource))
    }

    /// The maximum number of characters, bytes, items or entries of a value; 0 for a value without a size.
    pub(super) fn most(self) -> u64 {
        let schema = match self {
            Part::Schema(schema) | Part::Resource(schema) => schema,
            Part::Text => return TEXT as u64,
            Part::Metadata | Part::Key => return 0,
        };
        // a character has at most four bytes; the product wraps as in Go
        let longest = || schema.max_length.map(|it| it.max(0).wrapping_mul(4));
        let counted = |max: Option<i64>, element: Option<Self>, around: i64| {
            let least = || element.map_or(0, Self::least_bytes);
            max.map_or_else(|| TEXT / (least() + around), |it| it.max(0))
        };
        let most = match schema.type_.as_deref() {
            _ if schema.int_or_string => longest().unwrap_or(TEXT),
            Some("array") => counted(schema.max_items, self.step(ITEMS), 1),
            // an object that is not a map has no step `VALUES`
            Some("object") => match self.step(VALUES) {
                Some(values) => counted(schema.max_properties, Some(values), 6),
                None => 0,
            },
            Some("string") => match schema.format.as_deref() {
                Some("byte") => schema.max_length.map_or(TEXT, |it| it.max(0)),
                Some("duration" | "date-time") => 32,
                Some("date") => 12,
                _ => longest().unwrap_or_else(|| match schema.enum_.as_deref() {
                    None | Some([]) => TEXT,
                    Some(values) => {
                        let lengths = values.iter().map(|it| it.as_str().map_or(0, str::len));
                        lengths.max().unwrap_or_default() as i64
                    }
                }),
            },
            _ => 0,
        };
        most as u64
    }

    /// The size of the shortest JSON of a value.
    pub(super) fn least_bytes(self) -> i64 {
        let schema = match self {
            Part::Schema(schema) | Part::Resource(schema) => schema,
            Part::Metadata | Part::Text | Part::Key => return 2,
        };
        match schema.type_.as_deref() {
            _ if schema.int_or_string => 1,
            Some("boolean") => 4,
            Some("number" | "integer") => 1,
            Some("string") => match schema.format.as_deref() {
                Some("duration") => 3,
                Some("date") => 12,
                Some("date-time") => 21,
                _ => 2,
            },
            Some("object") if self.step(VALUES).is_none() => {
                let required: BTreeSet<_> = schema.required.iter().collect();
                let fields = required
                    .iter()
                    .filter_map(|it| self.field_bytes(schema, it));
                2 + fields.sum::<i64>()
            }
            _ => 2,
        }
    }

    /// The bytes that a required field adds to the JSON of its object; `None` if it has a default.
    fn field_bytes(self, schema: &'s Schema, name: &str) -> Option<i64> {
        let least = match (self, name) {
            (Part::Resource(_), "apiVersion" | "kind" | "metadata") => 2,
            _ => {
                let field = schema.properties.get(name)?;
                if field.default.as_ref().is_some_and(|it| !it.is_null()) {
                    return None;
                }
                declared(field, field.embedded_resource)?;
                Part::of(field, field.embedded_resource).least_bytes()
            }
        };
        Some(name.len() as i64 + least + 4)
    }
}
