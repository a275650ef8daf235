//! Checks the bounds, multiples and format ranges of numbers.
//!
//! The API server stores bounds as floats, and compares integers with the integer part of a bound. Since Kubernetes 1.36, it checks that
//! values fit the format, and rejects every value of a field whose bound does not fit it (for example an int64 with `maximum:
//! 9223372036854775807`, which rounds up).

use crate::go::Num;
use crate::{Reason, Schema, Violation, format};
use serde_json::Value;

/// Adds the violations of the bounds of `schema` by `value` to `violations`.
pub(crate) fn check(schema: &Schema, value: Num, path: &str, violations: &mut Vec<Violation>) {
    let range = Range::of(schema);
    violations.extend(range.excludes("Checked", value, path));
    let bound =
        |bound: &Option<serde_json::Number>| bound.as_ref().and_then(serde_json::Number::as_f64);

    if let Some(factor) = bound(&schema.multiple_of) {
        let out = range.excludes("MultipleOf", Num::Float(factor), path);
        let (value, factor) = comparable(value, factor, out.is_none());
        violations.extend(out);
        violations.extend(multiple(value, factor, path));
    }
    if let Some(minimum) = bound(&schema.minimum) {
        let out = range.excludes("Minimum boundary", Num::Float(minimum), path);
        let (value, minimum) = comparable(value, minimum, out.is_none());
        violations.extend(out);
        let (beyond, words) = if schema.exclusive_minimum {
            (at_most(value, minimum), "greater than")
        } else {
            (less(value, minimum), "greater than or equal to")
        };
        violations.extend(beyond.then(|| refused(value, words, minimum, path)));
    }
    if let Some(maximum) = bound(&schema.maximum) {
        let out = range.excludes("Maximum boundary", Num::Float(maximum), path);
        let (value, maximum) = comparable(value, maximum, out.is_none());
        violations.extend(out);
        let (beyond, words) = if schema.exclusive_maximum {
            (at_most(maximum, value), "less than")
        } else {
            (less(maximum, value), "less than or equal to")
        };
        violations.extend(beyond.then(|| refused(value, words, maximum, path)));
    }
}

/// The keywords of the bounds with which the API server rejects every number.
pub(crate) fn unusable(schema: &Schema) -> impl Iterator<Item = &'static str> {
    let range = Range::of(schema);
    let bounds = [
        ("minimum", &schema.minimum),
        ("maximum", &schema.maximum),
        ("multipleOf", &schema.multiple_of),
    ];
    bounds.into_iter().filter_map(move |(keyword, bound)| {
        let bound = bound.as_ref()?.as_f64()?;
        let no_factor = keyword == "multipleOf" && bound <= 0.0;
        (no_factor || range.excludes(keyword, Num::Float(bound), "").is_some()).then_some(keyword)
    })
}

/// Whether the API server accepts a float as an integer.
pub(crate) fn is_whole(number: f64) -> bool {
    const LARGEST: f64 = 9_007_199_254_740_991.0;
    if !(-LARGEST..=LARGEST).contains(&number) {
        return false;
    }
    // The server converts to `uint64` first. A negative number wraps to a large one there, so only positive numbers have a tolerance.
    let rounded = number.trunc();
    number == rounded
        || (number > 0.0 && rounded != 0.0 && (number - rounded) / (number + rounded) < 1e-9)
}

/// Converts a value and a bound for the comparison: to integers if the value is one and the bound is `native`, which means within the range
/// of the schema; otherwise to floats.
fn comparable(value: Num, bound: f64, native: bool) -> (Num, Num) {
    match value {
        Num::Int(_) if native => (value, Num::Int(bound as i64)),
        _ => (Num::Float(value.as_f64()), Num::Float(bound)),
    }
}

fn less(a: Num, b: Num) -> bool {
    match (a, b) {
        (Num::Int(a), Num::Int(b)) => a < b,
        _ => a.as_f64() < b.as_f64(),
    }
}

fn at_most(a: Num, b: Num) -> bool {
    match (a, b) {
        (Num::Int(a), Num::Int(b)) => a <= b,
        _ => a.as_f64() <= b.as_f64(),
    }
}

fn refused(value: Num, words: &str, bound: Num, path: &str) -> Violation {
    let detail = format!("{path} in body should be {words} {bound}");
    Violation::new(Reason::Invalid, path, value, detail)
}

fn multiple(value: Num, factor: Num, path: &str) -> Option<Violation> {
    if factor.as_f64() <= 0.0 {
        let detail = format!("factor MultipleOf declared for {path} must be positive: {factor}");
        return Some(Violation::new(Reason::Invalid, path, factor, detail));
    }
    let is_multiple = match (value, factor) {
        (Num::Int(value), Num::Int(factor)) => value % factor == 0,
        _ => {
            let (value, factor) = (value.as_f64(), factor.as_f64());
            is_whole(if factor < 1.0 {
                1.0 / factor * value
            } else {
                value / factor
            })
        }
    };
    (!is_multiple).then(|| refused(value, "a multiple of", factor, path))
}

/// The range of a type and its format.
enum Range {
    Int32,
    Int64 { format: &'static str },
    Float32,
    Any,
}

impl Range {
    fn of(schema: &Schema) -> Self {
        let type_ = if schema.int_or_string {
            None
        } else {
            schema.type_.as_deref()
        };
        match (type_, format::effective(schema)) {
            (Some("integer"), Some("int32")) => Range::Int32,
            (Some("integer"), Some(_)) => Range::Int64 {
                format: "with format int64",
            },
            (Some("integer"), None) => Range::Int64 {
                format: "(default format)",
            },
            (Some("number"), Some("float")) => Range::Float32,
            _ => Range::Any,
        }
    }

    /// The violation if a value or a bound (`what`) is outside of the range.
    fn excludes(&self, what: &str, number: Num, path: &str) -> Option<Violation> {
        let integer = match number {
            Num::Int(int) => Some(int),
            // Through the text, as the server does: 2^63 is out, -2^63 is in.
            Num::Float(number) => format!("{number}").parse().ok(),
        };
        let wanted = match self {
            Range::Int32 if integer.is_none_or(|int| i32::try_from(int).is_err()) => {
                "integer with format int32"
            }
            Range::Int64 { format } if integer.is_none() => {
                return Some(Violation::without_field(format_args!(
                    "{what} value must be of type integer {format} in {path}"
                )));
            }
            Range::Float32 if (number.as_f64() as f32).is_infinite() => "number with format float",
            _ => return None,
        };
        let text = format!("{what} value must be of type {wanted} in {path}");
        Some(Violation::without_field(text))
    }
}

/// A JSON number; whole numbers are written without a fraction.
pub(crate) fn written(number: f64) -> Option<Value> {
    const LARGEST: f64 = 9e18;
    if number.fract() == 0.0 && number.abs() < LARGEST {
        Some(Value::from(number as i64))
    } else {
        serde_json::Number::from_f64(number).map(Value::Number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_floats_are_those_that_the_server_accepts_as_integers() {
        for whole in [0.0, 1.0, -3.0, 9_007_199_254_740_991.0, 1e9 + 1e-1] {
            assert!(is_whole(whole), "{whole}");
        }
        for other in [0.5, -0.5, 9_007_199_254_740_993.0, f64::NAN, float("1e300")] {
            assert!(!is_whole(other), "{other}");
        }
    }

    fn float(text: &str) -> f64 {
        text.parse().unwrap()
    }
}
