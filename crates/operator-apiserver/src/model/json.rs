//! The items and the entries of a value that may be absent.

use std::slice;

use serde_json::Value;

/// The items of a list; none if it is not a list.
pub(crate) fn items(list: &Value) -> slice::Iter<'_, Value> {
    list.as_array().map_or(&[][..], Vec::as_slice).iter()
}

/// The items of a field with a list.
pub(crate) fn list<'a>(object: &'a Value, field: &str) -> &'a [Value] {
    object[field].as_array().map_or(&[], Vec::as_slice)
}

/// A number; 0 if it is absent.
pub(crate) fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

/// The entries of a map; none if it is not a map.
pub(crate) fn entries(map: &Value) -> impl Iterator<Item = (&String, &Value)> {
    map.as_object().into_iter().flatten()
}
