//! What the API server did to the requests of a run with faults in webhooks, as text.

use std::collections::{BTreeMap, BTreeSet};

use super::WebhookRun;
use super::user::Answers;
use crate::webhook_fault::WebhookSchedule;

/// How many of the operator's requests are shown.
const SHOWN: usize = 8;

/// A run that fails, and why.
pub(super) fn failed(schedule: &WebhookSchedule, run: &WebhookRun, why: &str) -> String {
    let why = format!("{why}{}", missed(&run.missed));
    let answered = answered(run).join("\n    ");
    format!(
        "{}\n  {why}\n  the API server answered:\n    {answered}",
        headline(schedule, run)
    )
}

/// A run that does not fail.
pub(super) fn survived(schedule: &WebhookSchedule, run: &WebhookRun) -> String {
    let refused: Vec<String> = answered(run)
        .into_iter()
        .filter(|line| line.contains("refused"))
        .collect();
    if refused.is_empty() {
        format!("{}\n  no request was refused", headline(schedule, run))
    } else {
        format!("{}\n  {}", headline(schedule, run), refused.join("\n  "))
    }
}

fn headline(schedule: &WebhookSchedule, run: &WebhookRun) -> String {
    let begun = schedule.0.iter().map(|(number, fault)| {
        let call = run
            .calls
            .get(*number)
            .map_or("which was not made", String::as_str);
        format!("{fault} from call {number}, {call}")
    });
    let begun: Vec<String> = begun.collect();
    format!("WEBHOOK_FAULTS=\"{schedule}\": {}", begun.join("; "))
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
