//! The errors of Go's decoder for invalid JSON.

use serde_json::Value;

/// Parses JSON, with the errors of Go.
pub(crate) fn read_json(text: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(text).map_err(|error| syntax_error(text, &error))
}

/// Converts an error of `serde_json` to that of Go's decoder for the same body.
pub(crate) fn syntax_error(body: &[u8], error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "unexpected end of JSON input".to_owned();
    }
    let line = body
        .split(|byte| *byte == b'\n')
        .nth(error.line().saturating_sub(1));
    let found = line.and_then(|line| line.get(error.column().saturating_sub(1)));
    let found = char::from(found.copied().unwrap_or_default());
    let text = error.to_string();
    let before = line.and_then(|line| line.get(..error.column().saturating_sub(1)));
    if let Some((literal, expected)) = before.and_then(broken_literal)
        && text.starts_with("expected ident")
    {
        return format!(
            "invalid character {found:?} in literal {literal} (expecting {expected:?})"
        );
    }
    let place = [
        (
            "trailing comma",
            match found {
                '}' => "looking for beginning of object key string",
                _ => "looking for beginning of value",
            },
        ),
        (
            "key must be a string",
            "looking for beginning of object key string",
        ),
        ("expected `:`", "after object key"),
        ("expected `,` or `}`", "after object key:value pair"),
        ("expected `,` or `]`", "after array element"),
        ("trailing characters", "after top-level value"),
    ];
    let place = place
        .iter()
        .find(|(ours, _)| text.starts_with(ours))
        .map_or("looking for beginning of value", |(_, theirs)| theirs);
    format!("invalid character {found:?} {place}")
}

/// The incomplete literal at the end of a text, and its next character.
fn broken_literal(text: &[u8]) -> Option<(&'static str, char)> {
    ["null", "true", "false"].into_iter().find_map(|literal| {
        let (_, rest) = (1..literal.len())
            .map(|at| literal.split_at(at))
            .find(|(has, _)| text.ends_with(has.as_bytes()))?;
        Some((literal, rest.chars().next()?))
    })
}
