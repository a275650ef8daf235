//! How many pods a rollout may remove or add at once: a number or a percentage.

use serde_json::Value;

use crate::kinds::rule::field::{invalid, non_negative};
use crate::model::Cause;

const PERCENT: &str = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

pub(crate) fn of_deployment(rolling: &Value, causes: &mut Vec<Cause>) {
    const PATH: &str = "spec.strategy.rollingUpdate";
    let (unavailable, surge) = (&rolling["maxUnavailable"], &rolling["maxSurge"]);
    count(&format!("{PATH}.maxUnavailable"), unavailable, causes);
    count(&format!("{PATH}.maxSurge"), surge, causes);
    let field = format!("{PATH}.maxUnavailable");
    if amount(unavailable) == 0 && amount(surge) == 0 {
        let why = "may not be 0 when `maxSurge` is 0";
        causes.push(invalid(&field, unavailable, why));
    }
    at_most_all(&field, unavailable, causes);
}

pub(crate) fn of_daemons(rolling: &Value, causes: &mut Vec<Cause>) {
    const PATH: &str = "spec.updateStrategy.rollingUpdate";
    let (unavailable, surge) = (&rolling["maxUnavailable"], &rolling["maxSurge"]);
    let fields = [
        (format!("{PATH}.maxUnavailable"), unavailable),
        (format!("{PATH}.maxSurge"), surge),
    ];
    for (field, found) in &fields {
        count(field, found, causes);
    }
    for (field, found) in &fields {
        at_most_all(field, found, causes);
    }
    let [(at_unavailable, _), (at_surge, _)] = fields;
    match (amount(unavailable) != 0, amount(surge) != 0) {
        (true, true) => {
            let why = "may not be set when maxUnavailable is non-zero";
            causes.push(invalid(at_surge, surge, why));
        }
        (false, false) => {
            let why = "cannot be 0 when maxSurge is 0";
            causes.push(Cause::required(at_unavailable, why));
        }
        _ => {}
    }
}

pub(crate) fn of_stateful_set(rolling: &Value, causes: &mut Vec<Cause>) {
    const PATH: &str = "spec.updateStrategy.rollingUpdate";
    non_negative(PATH, rolling, &["partition"], causes);
    let (field, found) = (format!("{PATH}.maxUnavailable"), &rolling["maxUnavailable"]);
    if !found.is_null() {
        count(&field, found, causes);
        if amount(found) == 0 {
            causes.push(invalid(&field, found, "cannot be 0"));
        }
        at_most_all(&field, found, causes);
    }
}

/// Checks that a value is a non-negative number or a percentage.
fn count(field: &str, found: &Value, causes: &mut Vec<Cause>) {
    match found {
        Value::String(_) if percentage(found).is_none() => {
            causes.push(invalid(field, found, PERCENT));
        }
        found if found.as_i64().is_some_and(|count| count < 0) => {
            causes.push(invalid(field, found, "must be greater than or equal to 0"));
        }
        _ => {}
    }
}

/// Checks that a percentage is at most 100.
fn at_most_all(field: &str, found: &Value, causes: &mut Vec<Cause>) {
    if percentage(found).is_some_and(|percent| percent > 100) {
        causes.push(invalid(field, found, "must not be greater than 100%"));
    }
}

/// Parses a percentage.
fn percentage(found: &Value) -> Option<i64> {
    let digits = found.as_str()?.strip_suffix('%')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(i64::MAX))
}

/// A number, the number of a percentage, or the number in a text.
fn amount(found: &Value) -> i64 {
    let number = || found.as_str().and_then(|text| text.parse().ok());
    let known = found.as_i64().or_else(|| percentage(found)).or_else(number);
    known.unwrap_or_default()
}
