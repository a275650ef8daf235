//! The items and the entries of a value that may be absent.

use std::slice;

use serde_json::Value;

/// The items of a list; none if it is not a list.
pub(crate) fn items(list: &Value) -> slice::Iter<'_, Value> {
    list.as_array().map_or(&[][..], Vec::as_slice).iter()
}

/// The entries of a map; none if it is not a map.
pub(crate) fn entries(map: &Value) -> impl Iterator<Item = (&String, &Value)> {
    map.as_object().into_iter().flatten()
}
