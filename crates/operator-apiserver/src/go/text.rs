//! Formats values and strings as Go does.

use serde_json::Value;

/// Formats a floating point number as Go's `%v` does: with an exponent below 1e-4 and from 1e6 on.
pub(crate) fn float(float: f64) -> String {
    match float.abs() {
        least if least != 0.0 && !(1e-4..1e6).contains(&least) => with_exponent(float),
        _ => float.to_string(),
    }
}

/// Formats a floating point number as in Go's JSON.
pub(crate) fn float_in_json(float: f64) -> String {
    match float.abs() {
        least if least != 0.0 && !(1e-6..1e21).contains(&least) => with_exponent(float),
        _ => float.to_string(),
    }
}

/// Formats a number with an exponent of at least two digits.
fn with_exponent(float: f64) -> String {
    let text = format!("{float:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    match exponent.strip_prefix('-') {
        Some(exponent) => format!("{digits}e-{exponent:0>2}"),
        None => format!("{digits}e+{exponent:0>2}"),
    }
}

/// Formats a string as in the JSON of managed fields, which escapes HTML characters.
pub(crate) fn text_in_json(text: &str) -> String {
    quoted_with(text, |letter, quoted| match letter {
        '\n' => *quoted += "\\n",
        '\r' => *quoted += "\\r",
        '\t' => *quoted += "\\t",
        '\0'..' ' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
            *quoted += &format!("\\u{:04x}", u32::from(letter));
        }
        letter => quoted.push(letter),
    })
}

/// Quotes a string. `write` adds a character that is neither a quote nor a backslash.
pub(super) fn quoted_with(text: &str, write: impl Fn(char, &mut String)) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        if matches!(letter, '"' | '\\') {
            quoted.push('\\');
            quoted.push(letter);
        } else {
            write(letter, &mut quoted);
        }
    }
    quoted.push('"');
    quoted
}

/// Formats a value as Go's `%v` does.
pub(crate) fn printed(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name}:{}", printed(value)))
                .collect();
            fields.sort();
            format!("map[{}]", fields.join(" "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(printed).collect();
            format!("[{}]", items.join(" "))
        }
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".to_owned(),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => self::float(float),
            None => number.to_string(),
        },
        Value::Bool(value) => value.to_string(),
    }
}

/// Quotes a string as Go does.
pub(crate) fn quoted(text: &str) -> String {
    quoted_with(text, |letter, quoted| match letter {
        '\x07' => *quoted += "\\a",
        '\x08' => *quoted += "\\b",
        '\x0c' => *quoted += "\\f",
        '\n' => *quoted += "\\n",
        '\r' => *quoted += "\\r",
        '\t' => *quoted += "\\t",
        '\x0b' => *quoted += "\\v",
        _ if is_printed(letter) => quoted.push(letter),
        '\0'..='\x7f' => *quoted += &format!("\\x{:02x}", u32::from(letter)),
        '\u{10000}'.. => *quoted += &format!("\\U{:08x}", u32::from(letter)),
        _ => *quoted += &format!("\\u{:04x}", u32::from(letter)),
    })
}

/// Whether a character is printable.
pub(crate) fn is_printed(letter: char) -> bool {
    // Rust formats unprintable characters as numbers, and combining characters only if there is no base character.
    let shown = format!("a{letter}").escape_debug().to_string();
    !letter.is_control() && (letter == ' ' || !shown.starts_with("a\\u"))
}

/// Formats a value as Go's `%#v` does.
pub(crate) fn in_source(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name:?}:{}", in_source(value)))
                .collect();
            fields.sort();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(in_source).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        other => other.to_string(),
    }
}

/// The value with its fields sorted by name, as Go formats maps.
pub(crate) fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            let fields = fields
                .into_iter()
                .map(|(name, value)| (name.clone(), sorted(value)));
            Value::Object(fields.collect())
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}
