//! The text and the hash of a value, which do not depend on the order of its fields.

use serde_json::{Map, Value};

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

/// A hash that is the same in every release: FNV-1a with 64 bits, of the sorted JSON, in hexadecimal.
pub(super) fn hash(value: &Value) -> String {
    let text = sorted(value).to_string();
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_order_of_fields_does_not_matter_but_that_of_items_does() {
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(
            hash(&read(r#"{"a":1,"b":{"c":2,"d":3}}"#)),
            hash(&read(r#"{"b":{"d":3,"c":2},"a":1}"#))
        );
        assert_ne!(hash(&json!([1, 2])), hash(&json!([2, 1])));
        assert_eq!(hash(&json!("a")), "d4272417d7c77eea");
    }
}
