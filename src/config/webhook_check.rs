//! Checks the entries of `webhooks` as far as `operator.toml` alone decides: what the API server would reject in a configuration.

use std::ops::Range;

use operator_schema::{ConditionError, condition};
use serde_json::Value;

use super::{
    selector::{Selector, SelectorProblem, is_qualified_name},
    webhook::{Operation, Webhook, WebhookType},
};

/// The name of the match condition that every webhook has.
pub const NOT_BEING_DELETED: &str = "not-being-deleted";

/// The name of the match condition of webhooks of kinds that the operator itself writes.
pub const NOT_OF_THE_OPERATOR: &str = "not-of-the-operator";

/// Where an entry of `webhooks` is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookPlace {
    /// `kind` or `webhook`.
    pub table: &'static str,
    /// The position of the table.
    pub index: usize,
    /// The position of the entry, and a key of it, with the position in its list.
    pub entry: Option<usize>,
    pub key: Option<(&'static str, Option<usize>)>,
}

impl WebhookPlace {
    /// The byte range in the text of `operator.toml`: of the value, or of the nearest one around it.
    pub fn range(&self, text: &str) -> Option<Range<usize>> {
        let document = toml_edit::Document::parse(text).ok()?;
        let mut item = document.get(self.table)?.get(self.index)?;
        // of the table as a whole, its kind
        let part = if self.entry.is_some() {
            "webhooks"
        } else {
            "kind"
        };
        item = item.get(part).unwrap_or(item);
        let entry = self.entry.and_then(|entry| item.get(entry));
        let value = entry.and_then(|entry| entry.get(self.key?.0));
        let element = value.and_then(|value| value.get(self.key?.1?));
        element.or(value).or(entry).unwrap_or(item).span()
    }
}

/// What is wrong with an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebhookProblem {
    #[error("the webhook `{0}` is listed twice")]
    Twice(&'static str),
    #[error("the table has no webhooks")]
    None,
    #[error("`timeout` is {0}")]
    Timeout(i64),
    #[error("`operations` is empty, so the webhook would never be called")]
    NoOperations,
    #[error("a webhook that mutates cannot have the operation `delete`")]
    MutateDelete,
    #[error("a webhook that validates has no `reinvocation-policy`")]
    Reinvocation,
    #[error("`{0}` is not the name of a match condition")]
    ConditionName(String),
    #[error("the match condition `{0}` is listed twice")]
    ConditionTwice(String),
    #[error("the match condition `{0}` is not a CEL expression")]
    Expression(String),
    #[error("there are {0} match conditions")]
    Conditions(usize),
    #[error(transparent)]
    Selector(#[from] SelectorProblem),
}

/// The match conditions that the user may add: the API server accepts 64, and up to two are the tool's.
const MOST_CONDITIONS: usize = 62;

impl WebhookProblem {
    pub fn help(&self) -> &'static str {
        match self {
            Self::Twice(_) => {
                "write one entry with the operations of both; the code can distinguish them by `request.operation`"
            }
            Self::None => "list at least one: `webhooks = [\"validate\"]`",
            Self::Timeout(_) => "write the seconds that the API server waits: 1 to 30",
            Self::NoOperations => {
                "list them, or omit the key for the default: `operations = [\"create\", \"update\"]`"
            }
            Self::MutateDelete => {
                "remove it: a deletion has no object that could be changed; a webhook that validates can refuse it"
            }
            Self::Reinvocation => "remove it: only webhooks that mutate are called again",
            Self::ConditionName(_) => {
                "write at most 63 letters, digits, `-`, `_` and `.`, beginning and ending with a letter or a digit"
            }
            Self::ConditionTwice(name) if is_reserved(name) => {
                "choose another name: the tool adds a condition of this name"
            }
            Self::ConditionTwice(_) => "rename one of the two",
            Self::Expression(_) => {
                "write an expression as in https://kubernetes.io/docs/reference/using-api/cel/, such as \"request.userInfo.username != 'admin'\""
            }
            Self::Conditions(_) => {
                "combine some of them with `&&`: the API server accepts 62 beside those of the tool"
            }
            Self::Selector(problem) => problem.help(),
        }
    }
}

/// The first problem of the entries of a table, with its place.
pub fn problem(
    table: &'static str,
    index: usize,
    webhooks: &[Webhook],
) -> Option<(WebhookPlace, WebhookProblem)> {
    let place = WebhookPlace {
        table,
        index,
        entry: None,
        key: None,
    };
    if table == "webhook" && webhooks.is_empty() {
        return Some((place, WebhookProblem::None));
    }
    webhooks.iter().enumerate().find_map(|(number, webhook)| {
        let place = WebhookPlace {
            entry: Some(number),
            ..place.clone()
        };
        let mut earlier = webhooks[..number].iter();
        if earlier.any(|other| other.webhook == webhook.webhook) {
            let problem = WebhookProblem::Twice(webhook.webhook.name());
            return Some((place, problem));
        }
        let (key, item, problem) = of_entry(webhook)?;
        let key = Some((key, item));
        Some((WebhookPlace { key, ..place }, problem))
    })
}

/// The first problem of an entry, with its key and the position in its list.
fn of_entry(webhook: &Webhook) -> Option<(&'static str, Option<usize>, WebhookProblem)> {
    let is_mutating = webhook.webhook == WebhookType::Mutate;
    if webhook.operations.is_empty() {
        return Some(("operations", None, WebhookProblem::NoOperations));
    }
    if is_mutating && webhook.operations.contains(&Operation::Delete) {
        return Some(("operations", None, WebhookProblem::MutateDelete));
    }
    if !(1..=30).contains(&webhook.timeout) {
        let problem = WebhookProblem::Timeout(webhook.timeout);
        return Some(("timeout", None, problem));
    }
    if !is_mutating && webhook.reinvocation_policy.is_some() {
        return Some(("reinvocation-policy", None, WebhookProblem::Reinvocation));
    }
    if let Some((item, problem)) = of_conditions(webhook) {
        return Some(("match-conditions", item, problem));
    }
    let selectors = [
        ("object-selector", &webhook.object_selector),
        ("namespace-selector", &webhook.namespace_selector),
    ];
    selectors.into_iter().find_map(|(key, selector)| {
        let problem = selector.as_ref().and_then(Selector::problem)?;
        Some((key, None, problem.into()))
    })
}

fn is_reserved(condition: &str) -> bool {
    [NOT_BEING_DELETED, NOT_OF_THE_OPERATOR].contains(&condition)
}

fn of_conditions(webhook: &Webhook) -> Option<(Option<usize>, WebhookProblem)> {
    let conditions = &webhook.match_conditions;
    if conditions.len() > MOST_CONDITIONS {
        return Some((None, WebhookProblem::Conditions(conditions.len())));
    }
    conditions.iter().enumerate().find_map(|(item, it)| {
        let name = &it.name;
        let mut earlier = conditions[..item].iter();
        let problem = if !is_qualified_name(name) {
            WebhookProblem::ConditionName(name.clone())
        } else if is_reserved(name) || earlier.any(|other| other.name == *name) {
            WebhookProblem::ConditionTwice(name.clone())
        } else if !is_expression(&it.expression) {
            WebhookProblem::Expression(name.clone())
        } else {
            return None;
        };
        Some((Some(item), problem))
    })
}

/// Whether the text is CEL. The types of its variables are not known, so only the API server checks their use.
fn is_expression(text: &str) -> bool {
    let variables = ["object", "oldObject", "request"].map(|name| (name, &Value::Null));
    let is_syntax = |error: &ConditionError| matches!(error, ConditionError::Unsupported { what, .. } if what.starts_with("syntax:"));
    !text.trim().is_empty() && !condition(text, &variables).is_err_and(|error| is_syntax(&error))
}
