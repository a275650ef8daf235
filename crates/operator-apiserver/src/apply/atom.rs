//! The values that identify list items: their keys, or the items of sets themselves.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::go;

/// A value with the order of structured-merge-diff, which compares integers with other numbers as floating point numbers.
#[derive(Clone, Debug)]
pub(crate) enum Atom {
    Number(Number),
    Text(String),
    Bool(bool),
    List(Vec<Atom>),
    Map(BTreeMap<String, Atom>),
    Null,
}

/// A number, as JSON distinguishes them in Go.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Whole(i64),
    Float(f64),
}

impl Atom {
    /// Converts a value of an object.
    pub fn of(value: &Value) -> Self {
        Self::with(value, |number| match number.as_i64() {
            Some(whole) => Number::Whole(whole),
            None => Number::Float(number.as_f64().unwrap_or_default()),
        })
    }

    /// Converts a value of the managed fields, in which all numbers are floating point numbers.
    pub fn read(text: &str) -> Option<Self> {
        let value = serde_json::from_str(text).ok()?;
        Some(Self::with(&value, |number| {
            Number::Float(number.as_f64().unwrap_or_default())
        }))
    }

    fn with(value: &Value, number: fn(&serde_json::Number) -> Number) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(value) => Self::Number(number(value)),
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(items) => {
                Self::List(items.iter().map(|item| Self::with(item, number)).collect())
            }
            Value::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(name, value)| (name.clone(), Self::with(value, number)));
                Self::Map(fields.collect())
            }
        }
    }

    /// Formats the value as in the managed fields, as Go encodes JSON.
    pub fn to_json(&self) -> String {
        match self {
            Self::Number(Number::Whole(whole)) => whole.to_string(),
            Self::Number(Number::Float(float)) => go::float_in_json(*float),
            Self::Text(text) => go::text_in_json(text),
            Self::Bool(value) => value.to_string(),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(Self::to_json).collect();
                format!("[{}]", items.join(","))
            }
            Self::Map(fields) => map_in_json(fields),
            Self::Null => "null".to_owned(),
        }
    }

    /// The rank of a type of values in the order.
    fn rank(&self) -> u8 {
        match self {
            Self::Number(_) => 0,
            Self::Text(_) => 1,
            Self::Bool(_) => 2,
            Self::List(_) => 3,
            Self::Map(_) => 4,
            Self::Null => 5,
        }
    }
}

/// Formats a map as Go encodes JSON, with sorted keys.
pub(crate) fn map_in_json(fields: &BTreeMap<String, Atom>) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{}:{}", go::text_in_json(name), value.to_json()))
        .collect();
    format!("{{{}}}", fields.join(","))
}

/// Formats the value as in the messages of structured-merge-diff.
impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(Number::Whole(whole)) => write!(f, "{whole}"),
            Self::Number(Number::Float(float)) => f.write_str(&go::float(*float)),
            Self::Text(text) => f.write_str(&go::quoted(text)),
            Self::Bool(value) => write!(f, "{value}"),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(Self::to_string).collect();
                write!(f, "[{}]", items.join(","))
            }
            Self::Map(fields) => fields
                .iter()
                .try_for_each(|(name, value)| write!(f, "{name}={value}")),
            Self::Null => f.write_str("null"),
        }
    }
}

impl Ord for Atom {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.cmp(*b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::List(a), Self::List(b)) => a.cmp(b),
            (Self::Map(a), Self::Map(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Atom {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Atom {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Atom {}

impl Number {
    fn cmp(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => a.cmp(&b),
            (a, b) => a.float().total_cmp(&b.float()),
        }
    }

    fn float(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Float(float) => float,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_number_is_equal_to_those_that_round_to_it() {
        let stored = Atom::read("9007199254740993");
        let at = |number: i64| Some(Atom::of(&number.into()));
        assert_eq!(stored, at(9_007_199_254_740_992));
        assert_eq!(stored, at(9_007_199_254_740_993));
        assert_ne!(at(9_007_199_254_740_992), at(9_007_199_254_740_993));
        assert!(at(80) < at(1000));
    }
}
