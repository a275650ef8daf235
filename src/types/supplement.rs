//! The parts of a schema that no attribute of a type can express.

use std::collections::BTreeMap;

use serde_json::Value;

/// The items that a module needs besides attributes to express the whole schema.
#[derive(Clone, Debug, Default)]
pub struct Supplement {
    /// The parts by their JSON pointers into the schema.
    pub parts: BTreeMap<String, SchemaPart>,
    /// Functions that attributes call, with the JSON that they return.
    pub functions: Vec<(String, Value)>,
    /// Whether a doc comment wraps or escapes its description, so that `crd()` must restore it.
    pub unwraps: bool,
    /// Whether a node is marked, so that `crd()` does not unwrap the descriptions below it.
    pub has_verbatim: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaPart {
    /// `null` removes a keyword.
    pub value: Value,
    pub reason: Reason,
}

/// The reason why no attribute can express a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A description with line feeds and markup that a doc comment cannot contain.
    Text,
    /// A value that the macro `json!` cannot read.
    Long,
    /// A list or map between a field and the type of its items.
    Between,
    /// `apiVersion`, `kind` and `metadata` are not fields of the type, so they have no attributes.
    Envelope,
}
