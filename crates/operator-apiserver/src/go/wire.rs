//! The fields of Go's types, from `data/wire.json`, which `tests/control-plane/wire` generates from Kubernetes' own types.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use serde_json::Value;

/// The fields of a type by number: the name in JSON, and the type as described in `tests/control-plane/wire`.
pub(crate) type Fields = BTreeMap<u64, (String, String)>;

pub(crate) fn types() -> &'static HashMap<String, Fields> {
    static TYPES: OnceLock<HashMap<String, Fields>> = OnceLock::new();
    TYPES.get_or_init(|| {
        serde_json::from_str(include_str!("../../data/wire.json"))
            .expect("the recorded data has this form, which the tests of protobuf see")
    })
}

/// The type of a field, in the notation of the data.
fn field_type(owner: &str, field: &str) -> Option<&'static str> {
    types()
        .get(owner)?
        .values()
        .find(|(name, _)| name == field)
        .map(|(_, type_)| type_.as_str())
}

/// A field of a struct, as the decoder names it: with the nested struct that contains it.
pub(crate) fn in_struct(owner: &str, field: &str) -> String {
    fn find(owner: &str, field: &str) -> Option<String> {
        let fields = types().get(owner)?;
        if fields.values().any(|(name, _)| name == field) {
            return Some(field.to_owned());
        }
        fields
            .values()
            .filter(|(name, _)| name.is_empty())
            .find_map(|(_, type_)| {
                let name = type_.rsplit('.').next()?;
                Some(format!("{name}.{}", find(type_, field)?))
            })
    }
    find(owner, field).unwrap_or_else(|| field.to_owned())
}

/// Whether the value is a zero value that Go omits from a struct.
pub(crate) fn omits(owner: &str, field: &str, value: &Value) -> bool {
    let is_zero = match value {
        Value::String(text) => text.is_empty(),
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_i64() == Some(0),
        _ => false,
    };
    is_zero && matches!(field_type(owner, field), Some("s" | "b" | "i"))
}
