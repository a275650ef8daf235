//! Leases.

use serde_json::Value;

use super::rule::field::{invalid, non_negative};
use super::strategy::Strategy;
use super::value::drop_fields;
use crate::model::Cause;

pub(crate) const LEASE: Strategy = Strategy {
    drop_disabled_fields: |_, lease| {
        drop_fields(&mut lease["spec"], &["strategy", "preferredHolder"]);
    },
    validate: check,
    validates_updates_as_new: false,
    allows_short_finalizers: true,
    creates_on_update: true,
    allows_unconditional_update: false,
    cells: cells!(core::lease),
    ..Strategy::of(("coordination.k8s.io", "leases"))
};

fn check(_: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    let duration = spec["leaseDurationSeconds"].as_i64();
    if let Some(seconds) = duration.filter(|seconds| *seconds <= 0) {
        let why = "must be greater than 0";
        causes.push(invalid("spec.leaseDurationSeconds", seconds, why));
    }
    non_negative("spec", spec, &["leaseTransitions"], causes);
}
