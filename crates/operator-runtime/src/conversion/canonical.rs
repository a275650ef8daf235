//! The text and the hash of a value, which do not depend on the order of its fields or on how numbers are written.

use serde_json::{Map, Value};

use crate::stable_hash::stable_hash;

/// The value with its fields sorted.
pub(super) fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort();
            let sorted = names
                .into_iter()
                .filter_map(|name| Some((name.clone(), sorted(fields.get(name)?))));
            Value::Object(sorted.collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

/// The same value for all JSON texts that mean the same: with sorted fields, and with `1` for `1.0`, as the API server writes it.
pub(super) fn canonical(value: &Value) -> Value {
    let mut value = sorted(value);
    write_integers(&mut value);
    value
}

fn write_integers(value: &mut Value) {
    // a double can represent every integer up to this one
    const EXACT: f64 = (1_u64 << 53) as f64;
    match value {
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().filter(|it| it.fract() == 0.0);
            if let Some(float) = float.filter(|it| it.abs() <= EXACT) {
                *number = (float as i64).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(write_integers),
        Value::Object(fields) => fields.values_mut().for_each(write_integers),
        _ => {}
    }
}

/// Whether two values are the same for the API server.
pub(super) fn is_same(a: Option<&Value>, b: Option<&Value>) -> bool {
    a == b || a.map(canonical) == b.map(canonical)
}

/// The hash of the canonical JSON.
pub(super) fn hash(value: &Value) -> String {
    stable_hash(&canonical(value).to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_hash_is_the_same_in_every_release() {
        assert_eq!(
            hash(&json!({"b": 1.0, "a": ["x", null]})),
            "5d3b347881e638f2"
        );
    }

    #[test]
    fn the_order_of_fields_does_not_matter_but_that_of_items_does() {
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(
            hash(&read(r#"{"a":1,"b":{"c":2,"d":3}}"#)),
            hash(&read(r#"{"b":{"d":3,"c":2},"a":1}"#))
        );
        assert_ne!(hash(&json!([1, 2])), hash(&json!([2, 1])));
        assert_eq!(hash(&json!([1.0, 1e300])), hash(&json!([1, 1e300])));
        assert_ne!(hash(&json!(1.5)), hash(&json!(1)));
        assert_eq!(hash(&json!("a")), "d4272417d7c77eea");
    }
}
