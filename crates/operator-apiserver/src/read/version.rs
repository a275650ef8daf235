//! The resource version in a query.

use crate::go;
use crate::model::{Cause, Failure};

/// Parses a version in a query.
pub(crate) fn parse_version(text: &str) -> Result<u64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let shown = go::quoted(text);
    go::parse_uint(text).map_err(|why| format!("resourceVersion: Invalid value: {shown}: {why}"))
}

pub(crate) fn bad_version(wrong: String) -> Failure {
    Failure::bad_request(format!("invalid resource version: {wrong}"))
}

pub(crate) fn too_large(wanted: u64, newest: u64) -> Failure {
    let cause = Cause {
        reason: "ResourceVersionTooLarge",
        message: "Too large resource version".into(),
        field: String::new(),
    };
    let text = format!("Timeout: Too large resource version: {wanted}, current: {newest}");
    Failure::timeout(text, 1).with_causes(vec![cause])
}
