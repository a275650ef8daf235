//! Describes how the API server answered the requests of a run with faults in webhooks.

use std::collections::{BTreeMap, BTreeSet};

use super::WebhookRun;
use super::user::Answers;
use crate::schedule::Schedule;
use crate::webhook_fault::WebhookFault;

/// How many of the operator's requests are shown.
const SHOWN: usize = 8;

/// Describes a run that fails, and why.
pub(super) fn failed(schedule: &Schedule<WebhookFault>, run: &WebhookRun, why: &str) -> String {
    let why = format!("{why}{}", missed(&run.missed));
    let answered = answered(run).join("\n    ");
    let headline = schedule.headline("WEBHOOK_FAULTS", "from call", &run.calls);
    format!("{headline}\n  {why}\n  the API server answered:\n    {answered}")
}

/// Describes a run that does not fail.
pub(super) fn survived(schedule: &Schedule<WebhookFault>, run: &WebhookRun) -> String {
    let refused: Vec<String> = answered(run)
        .into_iter()
        .filter(|line| line.contains("refused"))
        .collect();
    let refused = if refused.is_empty() {
        "no request was refused".to_owned()
    } else {
        refused.join("\n  ")
    };
    let headline = schedule.headline("WEBHOOK_FAULTS", "from call", &run.calls);
    format!("{headline}\n  {refused}")
}

/// A line for each kind of request: first those of the user, then the refused ones of the operator.
fn answered(run: &WebhookRun) -> Vec<String> {
    let of_user = run
        .user
        .iter()
        .map(|(what, answers)| format!("the user's {what}: {}", line(answers)));
    let operator: BTreeMap<_, _> = run
        .operator
        .iter()
        .filter(|(_, answers)| !answers.refused.is_empty())
        .collect();
    let shown = operator
        .iter()
        .take(SHOWN)
        .map(|(what, answers)| format!("the operator's {what}: {}", line(answers)));
    let rest = operator.len().saturating_sub(SHOWN);
    let rest = (rest > 0).then(|| format!("and {rest} more requests of the operator"));
    of_user.chain(shown).chain(rest).collect()
}

fn line(answers: &Answers) -> String {
    let refused = answers
        .refused
        .iter()
        .map(|(message, times)| format!("refused {}: {message}", count(*times)));
    let accepted = (answers.accepted > 0).then(|| format!("accepted {}", count(answers.accepted)));
    let parts: Vec<String> = refused.chain(accepted).collect();
    parts.join("; ")
}

fn count(times: usize) -> String {
    match times {
        1 => "once".to_owned(),
        times => format!("{times} times"),
    }
}

/// Explains the webhooks whose failures were ignored.
fn missed(missed: &BTreeSet<String>) -> String {
    if missed.is_empty() {
        return String::new();
    }
    let calls: Vec<&str> = missed.iter().map(String::as_str).take(SHOWN).collect();
    format!(
        "\n  with `failurePolicy: Ignore`, the API server went on when these calls failed:\n    {}\n  help: set `failure-policy = \"fail\"` for this webhook in operator.toml, so that such requests are refused until it answers; or let the controller do what the webhook does",
        calls.join("\n    ")
    )
}
