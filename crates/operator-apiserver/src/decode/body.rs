//! Parses bodies as JSON or YAML, with the errors of Go's decoder.

use serde_json::{Map, Value};

use super::round;
use crate::go::{json_type, no_value_of, syntax_error};
use crate::model::{Failure, Kind, Result};

/// Parses the options of a deletion.
pub(crate) fn options(body: &[u8]) -> Result<Value> {
    serde_json::from_slice(body).map_err(|error| {
        let text = format!(
            "couldn't get version/kind; json parse error: {}",
            syntax_error(body, &error)
        );
        Failure::bad_request(text)
    })
}

/// Parses the body of a patch in JSON.
pub(crate) fn patch(body: &[u8]) -> Result<Value> {
    serde_json::from_slice(body).map_err(|error| {
        Failure::bad_request(format!(
            "error decoding patch: {}",
            syntax_error(body, &error)
        ))
    })
}

/// Parses YAML, of which JSON is a subset. Go converts it to JSON first, in which an integer has no fraction.
pub(crate) fn yaml(body: &[u8]) -> Result<Value> {
    let has_controls = str::from_utf8(body).is_ok_and(|text| !text.chars().all(is_in_yaml));
    if has_controls {
        let text = "error decoding YAML: error converting YAML to JSON: yaml: control characters are not allowed";
        return Err(Failure::bad_request(text));
    }
    let mut value = serde_json::from_slice(body).or_else(|_| {
        if is_too_deep(body) {
            let text = "error decoding YAML: recursion limit exceeded";
            return Err(Failure::bad_request(text));
        }
        serde_yaml::from_slice(body)
            .map_err(|error| Failure::bad_request(format!("error decoding YAML: {error}")))
    })?;
    round(&mut value);
    Ok(value)
}

/// Whether YAML allows a character.
fn is_in_yaml(letter: char) -> bool {
    matches!(letter,
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// Whether brackets are nested more deeply than any parser here supports. The YAML parser needs quadratic time to find this out.
fn is_too_deep(body: &[u8]) -> bool {
    const MOST: usize = 1_000;
    let mut depth: usize = 0;
    body.iter().any(|byte| {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MOST
    })
}

/// How Go prints the type into which it decodes the kind of a body.
pub(crate) const TYPE_META: &str = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

/// The error in the `apiVersion` and `kind` of a body, which are decoded first. Both may be absent.
pub(crate) fn kind_error(value: &Value) -> Option<String> {
    let Some(fields) = value.as_object() else {
        return Some(no_value_of(TYPE_META, value));
    };
    let (name, found) = fields.iter().find(|(name, value)| {
        ["apiVersion", "kind"].contains(&name.as_str()) && !value.is_string() && !value.is_null()
    })?;
    Some(format!(
        "json: cannot unmarshal {} into Go struct field .{name} of type string",
        json_type(found)
    ))
}

/// Parses the body of a create or update.
pub(crate) fn object(kind: &Kind, body: &[u8]) -> Result<Value> {
    let wrong = match serde_json::from_slice::<Value>(body) {
        Ok(Value::Null) if kind.custom.is_none() => return Ok(Value::Object(Map::new())),
        Ok(object) if kind_error(&object).is_none() => {
            let has_kind = object["kind"].as_str().is_some_and(|kind| !kind.is_empty());
            if has_kind || kind.custom.is_none() {
                return Ok(object);
            }
            return Err(unrecognized(
                kind,
                body,
                &format!(
                    "Object 'Kind' is missing in '{}'",
                    String::from_utf8_lossy(body)
                ),
            ));
        }
        Ok(other) => kind_error(&other).unwrap_or_default(),
        Err(error) => syntax_error(body, &error),
    };
    let wrong = format!("couldn't get version/kind; json parse error: {wrong}");
    Err(unrecognized(kind, body, &wrong))
}

fn unrecognized(kind: &Kind, body: &[u8], wrong: &str) -> Failure {
    Failure::bad_request(format!(
        "the object provided is unrecognized (must be of type {}): {wrong} ({})",
        kind.kind,
        summary(body)
    ))
}

/// The part of a body that an error shows.
fn summary(body: &[u8]) -> String {
    let (shown, rest) = body.split_at(body.len().min(30));
    let mut text = match shown {
        [] => "<empty>".to_owned(),
        [b'{', ..] => String::from_utf8_lossy(shown).into_owned(),
        other => other.iter().map(|byte| format!("{byte:02x}")).collect(),
    };
    if !rest.is_empty() {
        text += " ...";
    }
    text
}
