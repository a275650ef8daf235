//! Prints values as Go does in the API server's messages.

use serde_json::{Number, Value};
use std::fmt::Write;
use std::ops::Range;

/// A number as the API server stores it: an `int64` if it is a whole number that fits, otherwise a `float64`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Num {
    Int(i64),
    Float(f64),
}

impl Num {
    pub(crate) fn of(number: &Number) -> Self {
        match number.as_i64() {
            Some(int) => Num::Int(int),
            None => Num::Float(number.as_f64().unwrap_or(f64::NAN)),
        }
    }

    pub(crate) fn as_f64(self) -> f64 {
        match self {
            Num::Int(int) => int as f64,
            Num::Float(float) => float,
        }
    }
}

impl std::fmt::Display for Num {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Num::Int(int) => write!(f, "{int}"),
            Num::Float(number) => f.write_str(&float(*number, -4..6)),
        }
    }
}

/// Prints a float with an exponent of at least two digits, or without an exponent if that is in `plain`.
fn float(number: f64, plain: Range<i32>) -> String {
    let scientific = format!("{number:e}");
    match scientific
        .split_once('e')
        .map(|(mantissa, power)| (mantissa, power.parse::<i32>()))
    {
        Some((mantissa, Ok(power))) if !plain.contains(&power) => {
            let sign = if power < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", power.abs())
        }
        _ => number.to_string(),
    }
}

/// Prints a string as `%q` does.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_ascii_control() => {
                let _ = write!(out, "\\x{:02x}", c as u32);
            }
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Prints a value as in messages: strings quoted, numbers plain, other values as JSON with sorted keys.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Number(number) => Num::of(number).to_string(),
        other => json(other),
    }
}

/// JSON with sorted keys: two values are duplicates for the API server if and only if their JSON is equal.
pub(crate) fn json(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(json).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entries: Vec<_> = entries
                .into_iter()
                .map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), json(value)))
                .collect();
            format!("{{{}}}", entries.join(","))
        }
        Value::Number(number) => match Num::of(number) {
            Num::Int(int) => int.to_string(),
            Num::Float(number) => float(number, -6..21),
        },
        scalar => scalar.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_printed_as_in_go() {
        for (number, text) in [
            (1.0, "1"),
            (0.5, "0.5"),
            (123456.5, "123456.5"),
            (1e6, "1e+06"),
            (1.5e-7, "1.5e-07"),
            (-64.0, "-64"),
        ] {
            assert_eq!(Num::Float(number).to_string(), text);
        }
    }

    #[test]
    fn strings_are_quoted_as_in_go() {
        assert_eq!(quoted("a\"\\\u{1}\n\u{e9}"), "\"a\\\"\\\\\\x01\\n\u{e9}\"");
    }
}
