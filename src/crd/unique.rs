//! Reads a value whose mappings have each key once. `serde_json::Value` would silently keep the last; kubectl and the API server refuse
//! the document.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

/// What the error of a key that stands there twice begins with.
const TWICE: &str = "a key stands there twice: ";

/// A value of which that holds.
pub struct Unique(pub Value);

/// The key that an error of reading a [`Unique`] complains of, if it is of that kind.
pub fn twice(error: &str) -> Option<String> {
    let (_, rest) = error.split_once(TWICE)?;
    let mut keys = serde_json::Deserializer::from_str(rest).into_iter();
    keys.next()?.ok()
}

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor).map(Self)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON has")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    // the API server holds what is larger as a double
    fn visit_i128<E: Error>(self, value: i128) -> Result<Value, E> {
        self.visit_f64(value as f64)
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<Value, E> {
        self.visit_f64(value as f64)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        let number = serde_json::Number::from_f64(value);
        number
            .map(Value::Number)
            .ok_or_else(|| E::custom(format!("{value} is no number of JSON")))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = vec![];
        while let Some(Unique(item)) = access.next_element()? {
            items.push(item);
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((key, Unique(value))) = access.next_entry::<String, Unique>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!("{TWICE}{}", Value::from(key))));
            }
            map.insert(key, value);
        }
        Ok(map.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_stands_there_twice_is_told() {
        let error = |text: &str| match serde_yaml::from_str::<Unique>(text) {
            Ok(Unique(value)) => panic!("{value}"),
            Err(error) => twice(&error.to_string()),
        };
        assert_eq!(
            error("a:\n- b: 1\n  \"c\\\"\": 2\n  \"c\\\"\": 2\n"),
            Some("c\"".into())
        );
        assert_eq!(error("{\"a\": {\"x\": 1, \"x\": 2}}"), Some("x".into()));
        assert_eq!(error("a: [\n"), None);
    }

    #[test]
    fn every_other_value_is_read_as_it_is() {
        let text = "a: [1, -1, 1.5, true, null, x, 18446744073709551615]\nb: {a: {b: 'y'}}\n1: &c {d: 1}\ne: *c\n";
        let Unique(value) = serde_yaml::from_str(text).unwrap();
        assert_eq!(value, serde_yaml::from_str::<Value>(text).unwrap());
    }
}
