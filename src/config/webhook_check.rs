//! Checks the entries of `webhooks` without the CRDs: finds what the API server would refuse in a webhook configuration.

use operator_apiserver::{Refusal, refusals};
use operator_schema::{ConditionError, condition};
use serde_json::{Value, json};

use super::{
    deployment::{indexed, refused},
    place::Place,
    webhook::{MatchCondition, Operation, Webhook, WebhookType},
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
    #[error("a webhook that mutates cannot have the operation `delete`")]
    MutateDelete,
    #[error("a webhook that validates has no `reinvocation-policy`")]
    Reinvocation,
    #[error("the match condition `{0}` is not a CEL expression")]
    Expression(String),
    #[error("{}", refused(.field, .message))]
    Refused { field: String, message: String },
}

impl WebhookProblem {
    pub fn help(&self) -> &'static str {
        match self {
            Self::Twice(_) => {
                "write one entry with the operations of both; the code can distinguish them by `request.operation`"
            }
            Self::None => "list at least one: `webhooks = [\"validate\"]`",
            Self::MutateDelete => {
                "remove it: a deletion has no object that could be changed; a webhook that validates can refuse it"
            }
            Self::Reinvocation => "remove it: only webhooks that mutate are called again",
            Self::Expression(_) => {
                "write an expression as in https://kubernetes.io/docs/reference/using-api/cel/, such as \"request.userInfo.username != 'admin'\""
            }
            Self::Refused { field, .. } if field.starts_with("match-conditions") => {
                "the API server would refuse the conditions, to which the tool adds `not-being-deleted` and `not-of-the-operator`"
            }
            Self::Refused { .. } => {
                "the API server would refuse the configuration; the fields are those of a webhook: https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/validating-webhook-configuration-v1/"
            }
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
    if is_mutating && webhook.operations.contains(&Operation::Delete) {
        return at("operations", WebhookProblem::MutateDelete);
    }
    if !is_mutating && webhook.reinvocation_policy.is_some() {
        return at("reinvocation-policy", WebhookProblem::Reinvocation);
    }
    let expression = |(item, it): (usize, &MatchCondition)| {
        let place = entry.clone().then("match-conditions").then(item);
        let problem = WebhookProblem::Expression(it.name.clone());
        (!is_expression(&it.expression)).then_some((place, problem))
    };
    let mut conditions = webhook.match_conditions.iter().enumerate();
    refusal(&entry, webhook).or_else(|| conditions.find_map(expression))
}

/// The fields of a webhook in a configuration, with their keys.
const KEYS: [(&str, &str); 5] = [
    ("rules[0].operations", "operations"),
    ("timeoutSeconds", "timeout"),
    ("matchConditions", "match-conditions"),
    ("objectSelector", "object-selector"),
    ("namespaceSelector", "namespace-selector"),
];

/// What the API server refuses, with the field in `operator.toml`.
fn refusal(entry: &Place, webhook: &Webhook) -> Option<(Place, WebhookProblem)> {
    let reserved = [NOT_BEING_DELETED, NOT_OF_THE_OPERATOR];
    let own = reserved.map(|name| json!({"name": name, "expression": "true"}));
    let conditions = webhook.match_conditions.iter().map(|it| json!(it));
    let conditions: Vec<Value> = own.into_iter().chain(conditions).collect();
    let operations = webhook.operations.iter();
    let operations: Vec<String> = operations.map(|it| it.name().to_uppercase()).collect();
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "operator"},
        "webhooks": [{
            "name": "validate.kind.operator",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": {"name": "operator", "namespace": "operator"}},
            "sideEffects": "None",
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "resources": ["any"], "operations": operations,
            }],
            "timeoutSeconds": webhook.timeout,
            "matchConditions": conditions,
            "objectSelector": webhook.object_selector,
            "namespaceSelector": webhook.namespace_selector,
        }],
    });
    let Refusal { field, message } = refusals(&configuration).into_iter().next()?;
    let field = field.strip_prefix("webhooks[0].").unwrap_or(&field);
    let known = KEYS.iter().find(|(prefix, _)| field.starts_with(prefix));
    let (prefix, key) = known.expect("all other fields are valid");
    let (place, rest) = (entry.clone().then(*key), &field[prefix.len()..]);
    let (place, field) = match indexed(rest) {
        Some((index, rest)) if *key == "match-conditions" => {
            let index = index - reserved.len();
            (place.then(index), format!("{key}[{index}]{rest}"))
        }
        _ => (place, format!("{key}{rest}")),
    };
    Some((place, WebhookProblem::Refused { field, message }))
}

/// Whether the text is CEL. The types of its variables are not known, so only the API server checks their use.
fn is_expression(text: &str) -> bool {
    let variables = ["object", "oldObject", "request"].map(|name| (name, &Value::Null));
    let is_syntax = |error: &ConditionError| matches!(error, ConditionError::Unsupported { what, .. } if what.starts_with("syntax:"));
    !condition(text, &variables).is_err_and(|error| is_syntax(&error))
}
