//! One step of the path to a field, in the three notations that the API server has for it: `fieldsV1`'s keys, messages, and JSON.

use std::fmt;

use serde_json::{Map, Value};

/// A step from a value into one of its parts. The order is that of structured-merge-diff, which messages show.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// A field of an object.
    Field(String),
    /// An item of a list by its key fields, as canonical JSON text.
    Key(String),
    /// An item of a set, as JSON text.
    Value(String),
    /// An item of a list by its place.
    Index(i64),
}

impl Step {
    pub fn field(name: &str) -> Self {
        Self::Field(name.to_owned())
    }

    /// The step to the item that has these key fields.
    pub fn key(mut fields: Vec<(&str, Value)>) -> Self {
        fields.sort_by(|a, b| a.0.cmp(b.0));
        let fields: Map<String, Value> = fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        Self::Key(Value::Object(fields).to_string())
    }

    /// Reads a key of `fieldsV1`, such as `f:spec` or `k:{"name":"x"}`: `None` where it is none, `Some(None)` of a sort that is not known.
    pub fn parse(text: &str) -> Option<Option<Self>> {
        let sort = *text.as_bytes().first()?;
        let rest = text.get(1..)?.strip_prefix(':')?;
        let step = match sort {
            b'f' => Self::field(rest),
            b'k' => {
                let fields: Map<String, Value> = serde_json::from_str(rest).ok()?;
                let fields = fields
                    .iter()
                    .map(|(name, value)| (name.as_str(), value.clone()));
                Self::key(fields.collect())
            }
            b'v' => Self::Value(serde_json::from_str::<Value>(rest).ok()?.to_string()),
            b'i' => Self::Index(rest.parse().ok()?),
            _ => return Some(None),
        };
        Some(Some(step))
    }

    /// The key of `fieldsV1`.
    pub fn to_key(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(fields) => format!("k:{fields}"),
            Self::Value(value) => format!("v:{value}"),
            Self::Index(index) => format!("i:{index}"),
        }
    }
}

/// As in messages: `.spec`, `[name="x"]`, `[="x"]`, `[0]`.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                let fields: Map<String, Value> = serde_json::from_str(fields).unwrap_or_default();
                let parts: Vec<String> = fields
                    .iter()
                    .map(|(name, value)| format!("{name}={}", shown(value)))
                    .collect();
                write!(f, "[{}]", parts.join(","))
            }
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// A value of a key as Go's library shows it, which shows nothing around what is in an object.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(shown).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(name, value)| format!("{name}={}", shown(value)));
            fields.collect()
        }
        other => other.to_string(),
    }
}
