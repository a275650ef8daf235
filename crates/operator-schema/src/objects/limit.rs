//! Values at the limits of a schema.

use crate::Schema;
use crate::sample::{accepts, scalar::candidates};
use serde_json::{Number, Value};

/// The first sought candidate that satisfies all schemas.
pub(super) fn first(facets: &[&Schema], is_sought: fn(&Value) -> bool) -> Option<Value> {
    candidates(facets, "")
        .into_iter()
        .find(|it| is_sought(it) && accepts(facets, it))
}

/// The smallest or the largest number of the schema's bounds and format.
pub(super) fn limit(schema: &Schema, is_most: bool) -> Option<Value> {
    let (bound, is_exclusive) = if is_most {
        (&schema.maximum, schema.exclusive_maximum)
    } else {
        (&schema.minimum, schema.exclusive_minimum)
    };
    let bound = bound.as_ref().and_then(Number::as_f64);
    let step = schema.multiple_of.as_ref().and_then(Number::as_f64);
    if schema.type_.as_deref() == Some("number") {
        let widest = match schema.format.as_deref() {
            Some("float") => f64::from(f32::MAX),
            _ => f64::MAX,
        };
        let number = match bound {
            Some(bound) if !is_exclusive => bound,
            None if step.is_none() && is_most => widest,
            None if step.is_none() => -widest,
            _ => return None,
        };
        return Some(number_of(number)).filter(|it| accepts(&[schema], it));
    }
    let (least, most) = match schema.format.as_deref() {
        Some("int32") => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    };
    let inward = i64::from(is_exclusive);
    let number = match (bound, is_most) {
        (None, true) => most,
        (None, false) => least,
        // saturating is right, because the limits of the type apply next
        (Some(bound), true) => (bound.floor() as i64).saturating_sub(inward).min(most),
        (Some(bound), false) => (bound.ceil() as i64).saturating_add(inward).max(least),
    };
    let number = match step {
        Some(step) if step >= 1.0 => {
            let beyond = number.rem_euclid(step as i64);
            if is_most || beyond == 0 {
                number.checked_sub(beyond)?
            } else {
                number.checked_add(step as i64 - beyond)?
            }
        }
        _ => number,
    };
    Some(Value::from(number)).filter(|it| accepts(&[schema], it))
}

/// A number with a fraction, within the bounds.
pub(super) fn fraction(schema: &Schema) -> Option<Value> {
    let bound = |bound: &Option<Number>| bound.as_ref().and_then(Number::as_f64);
    let (least, most) = (bound(&schema.minimum), bound(&schema.maximum));
    let tried = [
        Some(1.5),
        Some(0.1),
        least.map(|least| least + 0.5),
        most.map(|most| most - 0.5),
        least
            .zip(most)
            .map(|(least, most)| f64::midpoint(least, most)),
    ];
    let mut tried = tried.into_iter().flatten().filter(|it| it.fract() != 0.0);
    let is_accepted = |it: &f64| accepts(&[schema], &number_of(*it));
    tried.find(is_accepted).map(number_of)
}

fn number_of(number: f64) -> Value {
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}
