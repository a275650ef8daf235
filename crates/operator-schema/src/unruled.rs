//! Replaces `rules` without the feature `cel`: samples ignore rules.

use crate::{Schema, Violation};
use serde_json::Value;

pub(crate) fn permits(_: &Schema, _: &Value) -> bool {
    true
}

pub(crate) fn broken(_: &Schema, _: &Value) -> Vec<Violation> {
    Vec::new()
}

pub(crate) fn metadata(_: &Schema, _: &Value) -> Option<Value> {
    None
}

pub(crate) fn mentioned(_: &Schema) -> Vec<&str> {
    Vec::new()
}

pub(crate) fn solve(_: &Schema, _: &Value, _: &[&str]) -> Option<Value> {
    None
}
