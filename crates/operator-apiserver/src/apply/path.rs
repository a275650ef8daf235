//! One element of a field path, in both notations of the API server: that of the keys in `fieldsV1`, and that of messages.

use std::collections::BTreeMap;
use std::fmt;

use super::atom::{Atom, map_in_json};

/// The element of a field path that leads from a value to one of its parts. The order is that of structured-merge-diff, in which messages
/// list fields.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PathElement {
    /// A field of an object.
    Field(String),
    /// An item of a list by its key fields.
    Key(BTreeMap<String, Atom>),
    /// An item of a set.
    Value(Atom),
    /// An item of a list by its index.
    Index(i64),
}

impl PathElement {
    pub fn field(name: &str) -> Self {
        Self::Field(name.to_owned())
    }

    /// Parses a key of `fieldsV1`, such as `f:spec` or `k:{"name":"x"}`. Returns `None` if it is invalid, `Some(None)` if its type is
    /// unknown.
    pub fn parse(text: &str) -> Option<Option<Self>> {
        let prefix = *text.as_bytes().first()?;
        let rest = text.get(1..)?.strip_prefix(':')?;
        let element = match prefix {
            b'f' => Self::field(rest),
            b'k' => match Atom::read(rest)? {
                Atom::Map(fields) => Self::Key(fields),
                _ => return None,
            },
            b'v' => Self::Value(Atom::read(rest)?),
            b'i' => Self::Index(rest.parse().ok()?),
            _ => return Some(None),
        };
        Some(Some(element))
    }

    /// Formats the element as a key of `fieldsV1`.
    pub fn to_key(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(fields) => format!("k:{}", map_in_json(fields)),
            Self::Value(value) => format!("v:{}", value.to_json()),
            Self::Index(index) => format!("i:{index}"),
        }
    }
}

/// Formats the element as in messages: `.spec`, `[name="x"]`, `[="x"]`, `[0]`.
impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                let parts: Vec<String> = fields
                    .iter()
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                write!(f, "[{}]", parts.join(","))
            }
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}
