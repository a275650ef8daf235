//! Checks the entries of `webhooks` without the CRDs: finds what the API server would refuse in a webhook configuration.

use operator_schema::{ConditionError, condition};
use serde_json::Value;

use super::{
    place::Place,
    selector::{Selector, SelectorProblem, is_qualified_name},
    webhook::{Operation, Webhook, WebhookType},
};

/// The name of the match condition that every webhook has.
pub const NOT_BEING_DELETED: &str = "not-being-deleted";

/// The name of the match condition of webhooks of kinds that the operator itself writes.
pub const NOT_OF_THE_OPERATOR: &str = "not-of-the-operator";

/// A mistake in an entry of `webhooks`.
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

/// The maximum number of match conditions of the user: the API server accepts 64, and the tool adds up to two.
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

/// The problems of the entries of a table, with their places. `table` is the place of the table, a `[[webhook]]` if `is_own`.
pub fn problems(table: &Place, is_own: bool, webhooks: &[Webhook]) -> Vec<(Place, WebhookProblem)> {
    if is_own && webhooks.is_empty() {
        return vec![(table.clone().then("webhooks"), WebhookProblem::None)];
    }
    let of_entry = |(number, webhook): (usize, &Webhook)| {
        let entry = table.clone().then("webhooks").then(number);
        let mut earlier = webhooks[..number].iter();
        if earlier.any(|other| other.webhook == webhook.webhook) {
            let problem = WebhookProblem::Twice(webhook.webhook.name());
            return Some((entry, problem));
        }
        of_entry(entry, webhook)
    };
    webhooks.iter().enumerate().filter_map(of_entry).collect()
}

/// The first problem of an entry.
fn of_entry(entry: Place, webhook: &Webhook) -> Option<(Place, WebhookProblem)> {
    let is_mutating = webhook.webhook == WebhookType::Mutate;
    let at = |key: &str, problem| Some((entry.clone().then(key), problem));
    if webhook.operations.is_empty() {
        return at("operations", WebhookProblem::NoOperations);
    }
    if is_mutating && webhook.operations.contains(&Operation::Delete) {
        return at("operations", WebhookProblem::MutateDelete);
    }
    if !(1..=30).contains(&webhook.timeout) {
        return at("timeout", WebhookProblem::Timeout(webhook.timeout));
    }
    if !is_mutating && webhook.reinvocation_policy.is_some() {
        return at("reinvocation-policy", WebhookProblem::Reinvocation);
    }
    if let Some(found) = of_conditions(entry.clone().then("match-conditions"), webhook) {
        return Some(found);
    }
    let selectors = [
        ("object-selector", &webhook.object_selector),
        ("namespace-selector", &webhook.namespace_selector),
    ];
    selectors.into_iter().find_map(|(key, selector)| {
        let problem = selector.as_ref().and_then(Selector::problem)?;
        at(key, problem.into())
    })
}

fn is_reserved(condition: &str) -> bool {
    [NOT_BEING_DELETED, NOT_OF_THE_OPERATOR].contains(&condition)
}

/// The first problem of the match conditions of an entry.
fn of_conditions(place: Place, webhook: &Webhook) -> Option<(Place, WebhookProblem)> {
    let conditions = &webhook.match_conditions;
    if conditions.len() > MOST_CONDITIONS {
        return Some((place, WebhookProblem::Conditions(conditions.len())));
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
        Some((place.clone().then(item), problem))
    })
}

/// Whether the text is CEL. The types of its variables are not known, so only the API server checks their use.
fn is_expression(text: &str) -> bool {
    let variables = ["object", "oldObject", "request"].map(|name| (name, &Value::Null));
    let is_syntax = |error: &ConditionError| matches!(error, ConditionError::Unsupported { what, .. } if what.starts_with("syntax:"));
    !text.trim().is_empty() && !condition(text, &variables).is_err_and(|error| is_syntax(&error))
}
