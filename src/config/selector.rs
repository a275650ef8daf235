//! A label selector of a webhook, with the keys that it has in Kubernetes, and its syntax.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A [label selector](https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Selector {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<Requirement>,
}

/// A requirement of a selector on one label.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    pub key: String,
    pub operator: SelectorOperator,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum SelectorOperator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

impl SelectorOperator {
    /// The name in Kubernetes.
    pub fn name(self) -> &'static str {
        match self {
            Self::In => "In",
            Self::NotIn => "NotIn",
            Self::Exists => "Exists",
            Self::DoesNotExist => "DoesNotExist",
        }
    }

    fn has_values(self) -> bool {
        matches!(self, Self::In | Self::NotIn)
    }
}

/// Why the API server would reject a selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorProblem {
    #[error("`{0}` is not the key of a label")]
    Key(String),
    #[error("`{0}` is not the value of a label")]
    Value(String),
    #[error("the requirement on `{0}` has the operator {1} and no values")]
    NoValues(String, &'static str),
    #[error("the requirement on `{0}` has the operator {1} and values")]
    Values(String, &'static str),
}

impl SelectorProblem {
    pub fn help(&self) -> &'static str {
        match self {
            Self::Key(_) => {
                "write letters, digits, `-`, `_` and `.`, at most 63, after an optional prefix that is a domain name: `example.com/tier`"
            }
            Self::Value(_) => {
                "write at most 63 letters, digits, `-`, `_` and `.`, beginning and ending with a letter or a digit"
            }
            Self::NoValues(..) => "add `values`, or use the operator Exists or DoesNotExist",
            Self::Values(..) => "remove `values`, or use the operator In or NotIn",
        }
    }
}

impl Selector {
    /// The first problem of the selector.
    pub fn problem(&self) -> Option<SelectorProblem> {
        self.match_labels
            .iter()
            .find_map(|(key, value)| problem_of(key, std::slice::from_ref(value)))
            .or_else(|| self.match_expressions.iter().find_map(Requirement::problem))
    }
}

impl Requirement {
    fn problem(&self) -> Option<SelectorProblem> {
        let (key, operator) = (self.key.clone(), self.operator.name());
        match (self.operator.has_values(), self.values.is_empty()) {
            (true, true) => Some(SelectorProblem::NoValues(key, operator)),
            (false, false) => Some(SelectorProblem::Values(key, operator)),
            _ => problem_of(&self.key, &self.values),
        }
    }
}

fn problem_of(key: &str, values: &[String]) -> Option<SelectorProblem> {
    if !is_qualified_name(key) {
        return Some(SelectorProblem::Key(key.to_owned()));
    }
    let value = values
        .iter()
        .find(|value| !value.is_empty() && !is_name_part(value));
    value.map(|value| SelectorProblem::Value(value.clone()))
}

/// Whether it is the key of a label, or the name of a match condition: `NAME` or `DOMAIN/NAME`.
pub fn is_qualified_name(name: &str) -> bool {
    let (prefix, name) = match name.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, name),
    };
    let is_label = |label: &str| {
        let is_word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        !label.is_empty()
            && label.bytes().all(is_word)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let is_domain = |domain: &str| domain.len() <= 253 && domain.split('.').all(is_label);
    prefix.is_none_or(is_domain) && is_name_part(name)
}

/// Whether a name has at most 63 letters, digits and `-_.`, and begins and ends with a letter or a digit.
fn is_name_part(name: &str) -> bool {
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    let is_end = |c: char| c.is_ascii_alphanumeric();
    name.len() <= 63
        && name.bytes().all(is_word)
        && name.starts_with(is_end)
        && name.ends_with(is_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> Option<String> {
        let selector: Selector = toml_edit::de::from_str(text).unwrap();
        selector.problem().map(|problem| problem.to_string())
    }

    #[test]
    fn a_selector_that_the_api_server_rejects_has_a_problem() {
        for (text, expected) in [
            (
                r#"matchLabels = { "a b" = "x" }"#,
                "`a b` is not the key of a label",
            ),
            (
                r#"matchLabels = { "A.io/b" = "x" }"#,
                "`A.io/b` is not the key of a label",
            ),
            (
                r#"matchLabels = { a = "x/y" }"#,
                "`x/y` is not the value of a label",
            ),
            (
                r#"matchExpressions = [{ key = "a", operator = "In" }]"#,
                "the requirement on `a` has the operator In and no values",
            ),
            (
                r#"matchExpressions = [{ key = "a", operator = "Exists", values = ["x"] }]"#,
                "the requirement on `a` has the operator Exists and values",
            ),
        ] {
            assert_eq!(problem(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            r#"matchLabels = { "example.com/tier" = "" }"#,
            r#"matchExpressions = [{ key = "a", operator = "NotIn", values = ["x"] }]"#,
        ] {
            assert_eq!(problem(text), None, "{text}");
        }
    }
}
