//! Converts a YAML scalar to JSON: a null, boolean or number of YAML 1.2's core schema, or a string.

use std::borrow::Cow;

use granit_parser::Tag;
use serde_json::{Number, Value};

/// Converts a scalar. Fails if its value contradicts its tag, or cannot be represented in JSON.
pub fn resolve(text: Cow<'_, str>, is_plain: bool, tag: Option<&Tag>) -> Result<Value, String> {
    let Some(tag) = tag else {
        return if is_plain {
            plain(text)
        } else {
            Ok(Value::String(text.into_owned()))
        };
    };
    check(tag)?;
    let (value, expected) = match name(tag).as_deref() {
        Some("null") => (is_null(&text).then_some(Value::Null), "null"),
        Some("bool") => (boolean(&text).map(Value::Bool), "a boolean"),
        Some("int") => (integer(&text).map(Value::Number), "an integer"),
        Some("float") => (float(&text).map(number).transpose()?, "a float"),
        _ => return Ok(Value::String(text.into_owned())),
    };
    value.ok_or_else(|| format!("`{text}` is not {expected}"))
}

/// The name of a tag that YAML defines, such as `int`.
pub fn name(tag: &Tag) -> Option<Cow<'_, str>> {
    tag.suffix_in_namespace("tag:yaml.org,2002:")
}

/// Rejects all tags except those of JSON's types, of texts such as timestamps, and `!!merge` and `!!set`. The meaning of tags of
/// applications is unknown, and kubectl decodes `!!binary`.
pub fn check(tag: &Tag) -> Result<(), String> {
    let known = [
        "bool",
        "float",
        "int",
        "map",
        "merge",
        "null",
        "seq",
        "set",
        "str",
        "timestamp",
    ];
    if name(tag).is_some_and(|name| known.contains(&&*name)) || tag.original() == "!" {
        Ok(())
    } else {
        Err(format!("the tag `{}` is not supported", tag.original()))
    }
}

/// The value of a scalar without quotes and without a tag.
fn plain(text: Cow<'_, str>) -> Result<Value, String> {
    if is_null(&text) {
        return Ok(Value::Null);
    }
    if let Some(value) = boolean(&text) {
        return Ok(value.into());
    }
    if text.starts_with(|c: char| matches!(c, '0'..='9' | '+' | '-' | '.')) {
        if let Some(value) = integer(&text) {
            return Ok(Value::Number(value));
        }
        if !is_padded(&text)
            && let Some(value) = float(&text)
        {
            return number(value);
        }
    }
    Ok(Value::String(text.into_owned()))
}

/// Whether a plain scalar is null.
pub fn is_null(text: &str) -> bool {
    matches!(text, "" | "null" | "Null" | "NULL" | "~")
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// Parses an integer. One of more than 64 bits becomes a double, as in the API server.
fn integer(text: &str) -> Option<Number> {
    let (is_negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let radix = match unsigned.get(..2) {
        Some("0x") => 16,
        Some("0o") => 8,
        Some("0b") => 2,
        _ => 10,
    };
    let digits = if radix == 10 {
        unsigned
    } else {
        &unsigned[2..]
    };
    // `from_str_radix` accepts a sign, which would be the second one
    if digits.starts_with(['+', '-']) || radix == 10 && is_padded(unsigned) {
        return None;
    }
    let magnitude = u128::from_str_radix(digits, radix).ok()?;
    // like kubectl, converts only decimal integers to doubles
    if radix != 10 && magnitude > u128::from(u64::MAX) {
        return None;
    }
    if is_negative {
        let value = 0_i128.checked_sub_unsigned(magnitude)?;
        i64::try_from(value).map_or_else(|_| Number::from_f64(value as f64), |it| Some(it.into()))
    } else {
        u64::try_from(magnitude)
            .map_or_else(|_| Number::from_f64(magnitude as f64), |it| Some(it.into()))
    }
}

/// Whether a text is digits with a leading zero, such as `0755`. It is octal in YAML 1.1 and decimal in YAML 1.2, so it is read as a
/// string here, and reported as ambiguous.
fn is_padded(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit())
}

fn float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    match text {
        ".nan" | ".NaN" | ".NAN" => return Some(f64::NAN),
        "-.inf" | "-.Inf" | "-.INF" => return Some(f64::NEG_INFINITY),
        _ if matches!(unsigned, ".inf" | ".Inf" | ".INF") => return Some(f64::INFINITY),
        _ if unsigned.len() < text.len() && unsigned.starts_with(['+', '-']) => return None,
        _ => {}
    }
    unsigned
        .parse()
        .ok()
        .filter(|value: &f64| value.is_finite())
}

fn number(value: f64) -> Result<Value, String> {
    Number::from_f64(value)
        .map(Value::Number)
        .ok_or_else(|| format!("{value} is not a JSON number"))
}
