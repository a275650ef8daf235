//! The messages of failed rules.

use super::evaluate::{NO_OVERLOAD, Refusal};
use crate::go::shown;
use crate::path::child;
use crate::{Reason, Rule, Schema, Violation};
use serde_json::Value;

/// The violation that the API server would report; `path` is that of the value.
pub(super) fn violation(
    rule: &Rule,
    schema: &Schema,
    path: &str,
    value: &Value,
    refusal: Refusal,
) -> Violation {
    match refusal {
        Refusal::False { message } => {
            let path = match rule.field_path.as_deref() {
                Some(below) if !below.is_empty() => child_at(path, below),
                _ => path.to_owned(),
            };
            let text = message.unwrap_or_else(|| message_or(rule, &failed(rule)));
            let reason = match rule.reason.as_deref() {
                Some("FieldValueRequired") => Reason::Required,
                Some("FieldValueForbidden") => Reason::Forbidden,
                Some("FieldValueDuplicate") => Reason::Duplicate,
                _ => Reason::Invalid,
            };
            let is_scalar = !(value.is_array() || value.is_object());
            match reason {
                Reason::Duplicate if is_scalar => Violation::one(reason, &path, shown(value)),
                Reason::Duplicate => Violation::bare(reason, &path),
                Reason::Invalid if is_scalar => Violation::new(reason, &path, shown(value), text),
                _ => Violation::one(reason, &path, text),
            }
        }
        Refusal::Error(error) => {
            let type_ = schema.type_.as_deref().unwrap_or("");
            let rule = message_or(rule, rule.rule.trim());
            let value = format!("\"{type_}\"");
            let text = match error.as_str() {
                NO_OVERLOAD => format!("'{error}': {NO_MATCH} for rule: {rule}"),
                _ => format!("{error} evaluating rule: {rule}"),
            };
            Violation::new(Reason::Invalid, path, value, text)
        }
    }
}

const NO_MATCH: &str =
    "call arguments did not match a supported operator, function or macro signature";

fn failed(rule: &Rule) -> String {
    format!("failed rule: {}", rule.rule.trim())
}

/// The rule's message, or `text` if it has none.
fn message_or(rule: &Rule, text: &str) -> String {
    rule.message
        .as_deref()
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .unwrap_or(text)
        .to_owned()
}

/// The field that `fieldPath` names (`.spec.ports`, `.labels['a.b']`), below the value of the rule.
fn child_at(path: &str, below: &str) -> String {
    let below = below.replace("['", "[").replace("']", "]");
    match below.strip_prefix('.') {
        Some(below) => child(path, below),
        None => format!("{path}{below}"),
    }
}
