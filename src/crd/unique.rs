//! Reads JSON and rejects duplicate keys. `serde_json::Value` would silently keep the last; kubectl and the API server reject the document.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

/// A JSON value without duplicate keys.
pub struct Unique(pub Value);

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

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
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
                return Err(A::Error::custom("a key is given twice"));
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
    fn duplicate_keys_are_refused() {
        let is_read = |text: &str| serde_json::from_str::<Unique>(text).is_ok();
        assert!(is_read(r#"{"a": {"x": 1}, "b": {"x": 1}}"#));
        assert!(!is_read(r#"{"a": [{"x": 1, "x": 2}]}"#));
        assert!(!is_read(r#"{"x\"": 1, "\u0078\"": 2}"#));
    }

    #[test]
    fn other_values_are_read_unchanged() {
        let text = r#"{"a": [1, -1, 1.5, 1e3, true, null, "x\n", 18446744073709551615, 18446744073709551616], "b": {}}"#;
        let Unique(value) = serde_json::from_str(text).unwrap();
        assert_eq!(value, serde_json::from_str::<Value>(text).unwrap());
    }
}
