//! Parses numbers in strings as Go does.

use super::text::quoted;

/// Parses an unsigned number.
pub(crate) fn parse_uint(text: &str) -> Result<u64, String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(number) if is_number => Ok(number),
        _ => Err(unparsed("ParseUint", text, is_number)),
    }
}

/// Parses a number.
pub(crate) fn parse_int(text: &str) -> Result<i64, String> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    text.parse()
        .map_err(|_| unparsed("ParseInt", text, is_number))
}

/// The error of `strconv` for a text that is not a number, or too large.
fn unparsed(function: &str, text: &str, is_number: bool) -> String {
    let why = if is_number {
        "value out of range"
    } else {
        "invalid syntax"
    };
    format!("strconv.{function}: parsing {}: {why}", quoted(text))
}
