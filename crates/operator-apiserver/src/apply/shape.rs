//! How server-side apply treats a value: as one leaf, as fields, or as a list whose items have identities.
//!
//! The shapes of built-in types are in the recorded data, those of custom types follow from their schema. Without a schema, the shape is
//! deduced from the value.

use std::collections::BTreeMap;

use operator_schema::{Schema, SchemaOrBool};
use serde_json::Value;

use super::atom::Atom;
use super::path::PathElement;
use crate::go::{in_source, last_word, printed};
use crate::model::builtin::resolve;

/// The part of a schema that describes a value.
#[derive(Clone, Copy)]
pub(crate) enum Node<'a> {
    Schema(&'a Schema),
    /// Without a schema: objects have fields, everything else is a leaf.
    Deduced,
}

/// How a merge treats a value.
#[derive(Clone, Copy)]
pub(crate) enum Shape<'a> {
    /// Owned and replaced as a whole.
    Leaf,
    /// Owned field by field.
    Fields,
    /// Owned item by item.
    Items(Items<'a>),
}

/// How the items of a list are identified.
#[derive(Clone, Copy)]
pub(crate) enum Items<'a> {
    /// By their value.
    Set,
    /// By key fields.
    Map(&'a [String], Node<'a>),
}

/// The ownership that a schema defines, regardless of the value.
#[derive(Clone, Copy)]
pub(crate) enum Relation {
    Object {
        is_atomic: bool,
    },
    List {
        is_atomic: bool,
    },
    /// A scalar, or undefined: the value decides.
    Unknown,
}

impl<'a> Node<'a> {
    /// The ownership of a value here, as the schema defines it.
    pub fn relation(self) -> Relation {
        let Self::Schema(schema) = self else {
            return Relation::Unknown;
        };
        let target = resolve(schema);
        match target.type_.as_deref() {
            Some("array") => Relation::List {
                is_atomic: !matches!(target.list_type.as_deref(), Some("set" | "map")),
            },
            None | Some("object") if is_raw(schema) || !is_free(target) => Relation::Object {
                is_atomic: is_atomic(schema),
            },
            _ => Relation::Unknown,
        }
    }

    /// The shape of a value here. A null has the shape of the schema.
    pub fn shape(self, value: &Value) -> Shape<'a> {
        let Self::Schema(schema) = self else {
            return match value {
                Value::Object(_) | Value::Null => Shape::Fields,
                _ => Shape::Leaf,
            };
        };
        let target = resolve(schema);
        let is = |type_: &str| value.is_null() && target.type_.as_deref() == Some(type_);
        if value.is_object() || is("object") {
            return if is_atomic(schema) {
                Shape::Leaf
            } else {
                Shape::Fields
            };
        }
        if value.is_array() || is("array") {
            return match target.list_type.as_deref() {
                Some("set") => Shape::Items(Items::Set),
                Some("map") => Shape::Items(Items::Map(&target.list_map_keys, self.item())),
                _ => Shape::Leaf,
            };
        }
        Shape::Leaf
    }

    /// The schema of a field of an object.
    pub fn field(self, name: &str) -> Node<'a> {
        let Self::Schema(schema) = self else {
            return self;
        };
        let schema = resolve(schema);
        match (schema.properties.get(name), &schema.additional_properties) {
            (Some(property), _) => Node::Schema(property),
            (None, Some(SchemaOrBool::Schema(element))) => Node::Schema(element),
            _ => Node::Deduced,
        }
    }

    /// The schema of a list's items.
    pub fn item(self) -> Node<'a> {
        match self {
            Self::Schema(schema) => match &resolve(schema).items {
                Some(items) => Node::Schema(items),
                None => Node::Deduced,
            },
            Self::Deduced => self,
        }
    }

    /// The schema of the part that an element leads to.
    pub fn at(self, element: &PathElement) -> Node<'a> {
        match element {
            PathElement::Field(name) => self.field(name),
            _ => self.item(),
        }
    }

    /// Whether the schema names this field, instead of allowing any.
    pub fn declares(self, name: &str) -> bool {
        matches!(self, Self::Schema(schema) if resolve(schema).properties.contains_key(name))
    }

    /// Whether an object here may have this field.
    pub fn knows(self, name: &str) -> bool {
        let Self::Schema(schema) = self else {
            return true;
        };
        let schema = resolve(schema);
        schema.properties.is_empty()
            || schema.properties.contains_key(name)
            || schema.additional_properties.is_some()
            || schema.preserve_unknown_fields == Some(true)
    }

    /// The expected and the actual type, for a value with a wrong type.
    pub fn mismatch(self, value: &Value) -> Option<String> {
        let Self::Schema(schema) = self else {
            return None;
        };
        let target = resolve(schema);
        let type_ = match (target.type_.as_deref(), target.format.as_deref()) {
            _ if matches!(last_word(schema), Some("Time" | "MicroTime" | "Quantity")) => "scalar",
            (Some("string"), Some(format)) if format != "byte" => "scalar",
            (type_, _) => type_?,
        };
        let go_type = match value {
            Value::String(_) => "string",
            Value::Bool(_) => "bool",
            Value::Array(_) => "[]interface {}",
            _ => "map[string]interface {}",
        };
        match (type_, value) {
            (_, Value::Null) | ("object", Value::Object(_)) | ("array", Value::Array(_)) => None,
            ("object", value) => Some(format!("map, got &{{{}}}", printed(value))),
            ("array", value) => Some(format!("list, got &{{{}}}", printed(value))),
            ("scalar", Value::Object(_) | Value::Array(_)) => {
                Some(format!("any scalar, got &{{{}}}", printed(value)))
            }
            ("string", value) if !value.is_string() => Some(format!(
                "string, got &value.valueUnstructured{{Value:{}}}",
                in_source(value)
            )),
            ("boolean", value) if !value.is_boolean() => {
                Some(format!("boolean, got &{{{}}}", printed(value)))
            }
            ("integer" | "number", value) if !value.is_number() => {
                Some(format!("numeric (int or float), got {go_type}"))
            }
            _ => None,
        }
    }

    /// Whether a strategic merge patch merges the list here instead of replacing it.
    pub fn merges_lists(self) -> bool {
        self.keyword("x-kubernetes-patch-strategy")
            .unwrap_or_default()
            .split(',')
            .any(|part| part == "merge")
    }

    /// The field by which a strategic merge patch identifies items.
    pub fn merge_key(self) -> Option<&'a str> {
        self.keyword("x-kubernetes-patch-merge-key")
    }

    fn keyword(self, name: &str) -> Option<&'a str> {
        match self {
            Self::Schema(schema) => schema.unknown.get(name)?.as_str(),
            Self::Deduced => None,
        }
    }

    fn default_of(self, field: &str) -> Option<&'a Value> {
        match self {
            Self::Schema(schema) => resolve(schema).properties.get(field)?.default.as_ref(),
            Self::Deduced => None,
        }
    }
}

impl Items<'_> {
    /// The path element that identifies an item, or the error in the item.
    pub fn path_element(self, item: &Value) -> Result<PathElement, String> {
        let Self::Map(keys, node) = self else {
            return match item {
                Value::Object(_) => {
                    Err("associative list without keys has an element that's a map type".into())
                }
                Value::Array(_) => {
                    Err("not supported: associative list with lists as elements".into())
                }
                Value::Null => Err(
                    "associative list without keys has an element that's an explicit null".into(),
                ),
                value => Ok(PathElement::Value(Atom::of(value))),
            };
        };
        if item.is_null() {
            return Err("associative list with keys may not have a null element".into());
        }
        let Value::Object(item) = item else {
            return Err("associative list with keys may not have non-map elements".into());
        };
        let fields: BTreeMap<String, Atom> = keys
            .iter()
            .filter_map(|key| {
                let value = item.get(key).or_else(|| node.default_of(key))?;
                Some((key.clone(), Atom::of(value)))
            })
            .collect();
        if fields.is_empty() {
            let keys: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
                keys.join(" ")
            ));
        }
        Ok(PathElement::Key(fields))
    }
}

/// Whether objects are owned as a whole.
fn is_atomic(schema: &Schema) -> bool {
    [schema, resolve(schema)]
        .iter()
        .any(|s| s.map_type.as_deref() == Some("atomic"))
        || is_raw(schema)
}

/// Whether an object may have any fields, all without a type.
fn is_free(schema: &Schema) -> bool {
    schema.properties.is_empty()
        && match &schema.additional_properties {
            Some(SchemaOrBool::Schema(element)) => resolve(element).type_.is_none(),
            Some(SchemaOrBool::Bool(allows)) => *allows,
            None => true,
        }
}

/// Whether the Go type is RawExtension, which holds any JSON.
fn is_raw(schema: &Schema) -> bool {
    let name = schema.unknown.get("$ref").and_then(Value::as_str);
    name.is_some_and(|name| name.ends_with("runtime.RawExtension"))
}
