//! Leases.

use serde_json::Value;

use super::rule::field::{invalid, non_negative};
use super::value::drop_fields;
use crate::model::failure::Cause;

/// Checks a lease.
pub(crate) fn check(object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    let duration = spec["leaseDurationSeconds"].as_i64();
    if let Some(seconds) = duration.filter(|seconds| *seconds <= 0) {
        let why = "must be greater than 0";
        causes.push(invalid("spec.leaseDurationSeconds", seconds, why));
    }
    non_negative("spec", spec, &["leaseTransitions"], causes);
}

/// Drops fields that are not enabled by default.
pub(crate) fn prepare(lease: &mut Value) {
    drop_fields(&mut lease["spec"], &["strategy", "preferredHolder"]);
}
