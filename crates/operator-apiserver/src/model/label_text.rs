//! Labels and their selectors as text.

use serde_json::Value;

use crate::model::json::{entries, items};

/// Formats labels: `app=web,tier=front`, or `<none>`.
#[cfg(feature = "faces")]
pub(crate) fn labels(labels: &Value) -> String {
    let mut terms: Vec<String> = equalities(labels).collect();
    terms.sort();
    or_none(terms.join(","))
}

/// Formats a selector: `app=web,tier in (back,front)`; empty if it selects all or nothing.
pub(crate) fn selector(selector: &Value) -> String {
    let expressions = selector["matchExpressions"].as_array();
    let mut terms: Vec<(String, String)> = equalities(&selector["matchLabels"])
        .map(|term| (term.split('=').next().unwrap_or_default().to_owned(), term))
        .chain(expressions.into_iter().flatten().map(expression))
        .collect();
    terms.sort_by(|(a, _), (b, _)| a.cmp(b));
    let terms: Vec<String> = terms.into_iter().map(|(_, term)| term).collect();
    terms.join(",")
}

#[cfg(feature = "faces")]
pub(crate) fn or_none(text: String) -> String {
    if text.is_empty() {
        return "<none>".to_owned();
    }
    text
}

fn equalities(labels: &Value) -> impl Iterator<Item = String> {
    let labels = entries(labels);
    labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
}

/// The key of a requirement, and the requirement as text.
fn expression(expression: &Value) -> (String, String) {
    let key = expression["key"].as_str().unwrap_or_default();
    let values = items(&expression["values"]);
    let mut values: Vec<&str> = values.filter_map(Value::as_str).collect();
    values.sort_unstable();
    let values = values.join(",");
    let term = match expression["operator"].as_str().unwrap_or_default() {
        "In" => format!("{key} in ({values})"),
        "NotIn" => format!("{key} notin ({values})"),
        "DoesNotExist" => format!("!{key}"),
        _ => key.to_owned(),
    };
    (key.to_owned(), term)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_selector_is_sorted_by_key() {
        let object = json!({
            "matchLabels": {"b": "2"},
            "matchExpressions": [
                {"key": "c", "operator": "NotIn", "values": ["y", "x"]},
                {"key": "a", "operator": "DoesNotExist"},
            ],
        });
        assert_eq!(selector(&object), "!a,b=2,c notin (x,y)");
        assert_eq!(labels(&json!({"b": "2", "a": "1"})), "a=1,b=2");
        assert_eq!(labels(&Value::Null), "<none>");
    }
}
