//! The differences between YAML 1.2 and what kubectl and the API server read. They use go-yaml v2
//! (<https://pkg.go.dev/go.yaml.in/yaml/v2>), whose booleans, numbers and line breaks are those of YAML 1.1, without numbers in base 60.

use serde_json::{Number, Value};

/// The characters that end a line in YAML 1.1, but not in YAML 1.2.
pub const BREAKS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

/// Whether go-yaml reads another value than `ours`.
pub fn differs(scalar: &str, ours: &Value) -> bool {
    match (boolean(scalar).map(Value::Bool), number(scalar)) {
        (Some(theirs), _) => theirs != *ours,
        (None, Some(theirs)) => ours.as_number().is_none_or(|ours| !equal(&theirs, ours)),
        (None, None) => ours.is_boolean() || ours.is_number(),
    }
}

/// Whether go-yaml changes a key, or fails. It reads a key like any other scalar, and then converts the value to text.
pub fn differs_as_key(scalar: &str) -> bool {
    let text = match (boolean(scalar), number(scalar)) {
        (Some(value), _) => value.to_string(),
        (None, Some(value)) if value.as_u64() > Some(i64::MAX as u64) => return true,
        (None, Some(value)) => text(&value),
        (None, None) => return false,
    };
    text != scalar
}

fn boolean(scalar: &str) -> Option<bool> {
    match scalar {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "true" | "True" | "TRUE" => {
            Some(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "false" | "False" | "FALSE" => {
            Some(false)
        }
        _ => None,
    }
}

/// Parses an integer in the syntax of Go with `_` anywhere, or a float. An invalid octal integer, such as `08`, is a float.
fn number(scalar: &str) -> Option<Number> {
    let has_digit = scalar.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    // go-yaml does not remove the `_` of `.1_0`
    let is_parted = scalar.contains('_') && !scalar.starts_with('.');
    let plain = if is_parted {
        scalar.replace('_', "").into()
    } else {
        std::borrow::Cow::Borrowed(scalar)
    };
    let number = || integer(&plain).or_else(|| float(&plain));
    has_digit.then(number).flatten()
}

fn integer(plain: &str) -> Option<Number> {
    let unsigned = plain.strip_prefix(['+', '-']).unwrap_or(plain);
    let prefix = unsigned.get(..2).map(str::to_ascii_lowercase);
    let (radix, digits) = match prefix.as_deref() {
        Some("0x") => (16, &unsigned[2..]),
        Some("0o") => (8, &unsigned[2..]),
        Some("0b") => (2, &unsigned[2..]),
        Some(_) if unsigned.starts_with('0') => (8, &unsigned[1..]),
        _ => (10, unsigned),
    };
    // `from_str_radix` accepts a sign, which would be the second one
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let magnitude = i128::from_str_radix(digits, radix).ok()?;
    if plain.starts_with('-') {
        i64::try_from(-magnitude).ok().map(Number::from)
    } else {
        u64::try_from(magnitude).ok().map(Number::from)
    }
}

fn float(plain: &str) -> Option<Number> {
    let is_decimal = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    let unsigned = plain.strip_prefix(['+', '-']).unwrap_or(plain);
    let is_float = plain.chars().all(is_decimal) && !unsigned.starts_with(['+', '-']);
    Number::from_f64(plain.parse().ok().filter(|_| is_float)?)
}

fn equal(a: &Number, b: &Number) -> bool {
    a == b || a.as_f64() == b.as_f64()
}

/// The text of a number that is a key. Floats have the precision of 32 bits.
fn text(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => {
            let float = float as f32;
            let is_short = float == 0.0 || (1e-4..1e6).contains(&float.abs());
            let exponent = if is_short { "" } else { "e" };
            format!("{float}{exponent}")
        }
        _ => number.to_string(),
    }
}

/// Whether a tab between two nodes is at the beginning of its line, or after the indicator of an item or of a key.
pub fn is_indentation(text: &str, since: usize, tab: usize) -> bool {
    let line = text[..tab].rfind('\n').map_or(0, |at| at + 1);
    let within = text[line.max(since)..tab].trim_end_matches([' ', '\t']);
    let is_first = text[line..tab].trim().is_empty();
    let is_comment = within.contains('#');
    // the `-` of `>-` is not the indicator of an item
    let mut last = within.chars().rev();
    let is_indicator =
        matches!(last.next(), Some('-' | '?')) && last.next().is_none_or(char::is_whitespace);
    !is_comment && (is_first || is_indicator || text[line..tab].trim() == ":")
}

/// The number of bytes before an offset in its line.
pub fn column(text: &str, at: usize) -> usize {
    at - text[..at].rfind('\n').map_or(0, |at| at + 1)
}

/// The message about an escape in double quotes that JSON has, but kubectl does not know: `\/`, or `\u` with half of a surrogate pair.
pub fn unknown_escape(quoted: Option<&str>) -> Option<&'static str> {
    let mut escaped = quoted.unwrap_or_default().split('\\').skip(1);
    // an empty part is between two backslashes, of which the second one is escaped
    while let Some(part) = escaped.next() {
        let is_half = || {
            let code = part.strip_prefix('u').and_then(|it| it.get(..4));
            let code = code.and_then(|code| u32::from_str_radix(code, 16).ok());
            code.is_some_and(|code| char::from_u32(code).is_none())
        };
        match part {
            "" => drop(escaped.next()),
            part if part.starts_with('/') => {
                return Some("kubectl does not know the escape `\\/`: write `/`");
            }
            _ if is_half() => {
                return Some("kubectl does not know pairs of `\\u`: write the character itself");
            }
            _ => {}
        }
    }
    None
}

/// Removes the blanks around separators of lines and paragraphs in a quoted text, as kubectl does.
pub fn without_blanks(text: &str) -> String {
    let parts = text.split_inclusive(['\u{2028}', '\u{2029}']).enumerate();
    let mut out = String::with_capacity(text.len());
    for (nth, part) in parts {
        let part = if nth > 0 {
            part.trim_start_matches([' ', '\t'])
        } else {
            part
        };
        let line = part.trim_end_matches(['\u{2028}', '\u{2029}']);
        if line.len() < part.len() {
            out += line.trim_end_matches([' ', '\t']);
            out += &part[line.len()..];
        } else {
            out += part;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ambiguous_words_and_numbers_are_distinguished() {
        for scalar in [
            "on", "No", "y", "0777", "-07", "1_000", "0888", "0x1_0", "0X1F", "1_000.5", "-_1",
        ] {
            assert!(differs(scalar, &scalar.into()), "{scalar}");
        }
        for scalar in [
            "online",
            "none",
            "v1:2",
            "1:30",
            "190:20:30",
            "oN",
            "",
            "0x",
            "0xg",
            "1e400",
            "2001-01-01",
            "_1",
            "--1",
            ".",
            "0x10000000000000000",
            "0_x",
        ] {
            assert!(!differs(scalar, &scalar.into()), "{scalar}");
        }
        for (scalar, ours) in [
            ("true", json!(true)),
            ("0", json!(0)),
            ("10.5", json!(10.5)),
            (".5", json!(0.5)),
            ("1e3", json!(1000.0)),
        ] {
            assert!(!differs(scalar, &ours), "{scalar}");
        }
    }

    #[test]
    fn keys_that_kubectl_writes_in_another_way_are_distinguished() {
        for scalar in [
            "on",
            "True",
            "1.50",
            "1e3",
            "0x10",
            "+1",
            "-0",
            "01",
            "1_0",
            "16777217.5",
            "1000000.5",
            "0.00001",
            "9223372036854775808",
        ] {
            assert!(differs_as_key(scalar), "{scalar}");
        }
        for scalar in [
            "true",
            "1",
            "-1",
            "1.5",
            "0.25",
            "a",
            "1:30",
            "9223372036854775807",
        ] {
            assert!(!differs_as_key(scalar), "{scalar}");
        }
    }
}
