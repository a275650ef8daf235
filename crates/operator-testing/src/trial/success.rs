//! Whether the operator succeeded: once it has settled, each object must have been reconciled, and its last reconciliation must have
//! succeeded.

use std::{collections::BTreeSet, fmt};

use serde_json::Value;

use super::{Sample, Trial};
use crate::install::documents;
use crate::outcome::{ObjectKey, Outcome};
use crate::{Outcomes, Server};

/// The help for an object that was never reconciled successfully.
const MISSING: &str =
    "if the sample refers to an object that does not exist, add that object to tests/fixtures/";

/// The help for a call that has timed out on a simulated clock.
const JUMPED: &str = "the clock of this test is simulated: while the operator waits for something outside of the test, it jumps to the next timeout. Start a fake of that in tests/all/support/external.rs, or wrap the call in `operator_testing::real_time`";

/// Parts of the errors of calls that have timed out.
const TIMEOUTS: [&str; 4] = ["elapsed", "timed out", "timeout", "has not returned after"];

/// The reason of the event that reports a value for which the status has no field.
const LOST: &str = "StatusFieldMissing";

/// The part of a run in which the operator stopped making requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    WithSample,
    /// The sample was changed after its creation.
    Changed,
    Deleted,
}

impl Trial {
    /// Checks that the operator has succeeded with all objects of its kinds, including the sample.
    pub(super) async fn check_success(
        &self,
        server: &Server,
        sample: &Sample,
        phase: Phase,
    ) -> Result<(), String> {
        let outcomes = server.outcomes();
        let sampled: BTreeSet<ObjectKey> = sampled(server, sample).await?;
        let mut kinds: BTreeSet<(&str, &str)> = self
            .kinds
            .iter()
            .map(|(group, kind)| (&**group, &**kind))
            .collect();
        kinds.extend(sampled.iter().map(|key| (&*key.group, &*key.kind)));
        let objects = server.objects().await;
        let mut problems = vec![];
        let mut present = BTreeSet::new();
        for object in objects.values() {
            let key = key_of(object);
            if !kinds.contains(&(&*key.group, &*key.kind)) {
                continue;
            }
            let expected = match phase {
                Phase::WithSample | Phase::Changed if sampled.contains(&key) => {
                    sample.fails.as_deref()
                }
                _ => None,
            };
            let outcome = outcomes.of(&key);
            // a handler that fails for a new object need not fail for a change
            let has_recovered = phase == Phase::Changed
                && self.depends_on_history
                && outcome.as_ref().is_some_and(|it| it.failing.is_none());
            let expected = expected.filter(|_| !has_recovered);
            // an object that is being deleted may not be reconciled any more
            let is_deleted = !object["metadata"]["deletionTimestamp"].is_null();
            // a controller may select some objects of a kind that exists without the operator
            let is_existing =
                |(group, kind): &(String, String)| *group == key.group && *kind == key.kind;
            let is_selected = sampled.contains(&key) || !self.existing.iter().any(is_existing);
            let must_succeed = !is_deleted && is_selected || outcome.is_some();
            let warnings: Vec<Warning> = warnings(objects.values().map(|it| &**it), &key);
            let lost = warnings.iter().find(|it| it.reason == LOST);
            match problem(outcome, expected, !server.is_real()) {
                Some(why) if must_succeed => {
                    let events = warnings.iter().take(4);
                    let events: String = events.map(|it| format!("\n    event: {it}")).collect();
                    problems.push(format!("{key} {why}{events}"));
                }
                _ => problems.extend(lost.map(|it| format!("{key} has the event {it}"))),
            }
            present.insert(key);
        }
        if phase != Phase::Deleted {
            // the operator may have deleted the sample itself
            for key in sampled.difference(&present) {
                let outcome = outcomes.of(key).unwrap_or_default();
                if outcome.succeeded == 0
                    && let Some(why) =
                        problem(Some(outcome), sample.fails.as_deref(), !server.is_real())
                {
                    problems.push(format!("{key} {why}"));
                }
            }
        }
        if problems.is_empty() {
            Ok(())
        } else {
            Err(problems.join("\n  "))
        }
    }
}

/// The objects of a sample.
async fn sampled(server: &Server, sample: &Sample) -> Result<BTreeSet<ObjectKey>, String> {
    let wrong = |error| format!("the sample: {error}");
    let mut keys = BTreeSet::new();
    for mut object in documents(&sample.text).map_err(wrong)? {
        // `path_of` sets the namespace if there is none
        server.path_of(&mut object).await.map_err(wrong)?;
        keys.insert(key_of(&object));
    }
    Ok(keys)
}

fn key_of(object: &Value) -> ObjectKey {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let api_version = text(&object["apiVersion"]);
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    ObjectKey {
        group: group.to_owned(),
        kind: text(&object["kind"]),
        namespace: text(&object["metadata"]["namespace"]),
        name: text(&object["metadata"]["name"]),
    }
}

/// The problem with the results for an object. `expected` is the error with which its reconciliation must fail, if it must; `is_simulated`
/// tells whether the clock is.
fn problem(outcome: Option<Outcome>, expected: Option<&str>, is_simulated: bool) -> Option<String> {
    let outcome = outcome.unwrap_or_default();
    match (&outcome.failing, expected) {
        _ if outcome.succeeded + outcome.failed == 0 => Some(
            "was never reconciled\n  help: is its controller registered in src/lib.rs?".to_owned(),
        ),
        (None, None) => None,
        (Some(error), Some(expected)) if error.contains(expected) => None,
        (None, Some(expected)) => Some(format!(
            "is declared to fail with `{expected}`, but its last reconciliation succeeded"
        )),
        (Some(_), Some(expected)) => Some(format!(
            "is declared to fail with `{expected}`, but {}",
            indented(&outcome)
        )),
        (Some(error), None) => {
            let is_timeout = TIMEOUTS.iter().any(|part| error.contains(part));
            let help = match outcome.succeeded {
                _ if is_timeout && is_simulated => Some(JUMPED),
                0 if !error.contains("help:") => Some(MISSING),
                _ => None,
            };
            let help = help.map(|help| format!("\n      help: {help}"));
            Some(indented(&outcome) + &help.unwrap_or_default())
        }
    }
}

/// Formats a failure below the line that names its run.
fn indented(outcome: &Outcome) -> String {
    outcome.failure().replace('\n', "\n      ")
}

/// The failing objects, for the message of a run that fails for another reason.
pub(super) fn failures(outcomes: &Outcomes) -> String {
    outcomes
        .failing()
        .into_iter()
        .map(|(key, outcome)| format!("\n  {key} {}", indented(&outcome)))
        .collect()
}

/// An event of the type Warning.
#[derive(Debug, PartialEq, Eq)]
struct Warning {
    reason: String,
    note: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason, self.note)
    }
}

/// The warnings about an object.
fn warnings<'a>(objects: impl Iterator<Item = &'a Value>, key: &ObjectKey) -> Vec<Warning> {
    let warnings = objects.filter_map(|event| {
        let about = match &event["involvedObject"] {
            Value::Null => &event["regarding"],
            found => found,
        };
        let is_about_object = event["type"] == "Warning"
            && about["kind"] == *key.kind
            && about["name"] == *key.name
            && about["namespace"].as_str().unwrap_or_default() == key.namespace;
        let note = match &event["message"] {
            Value::Null => &event["note"],
            found => found,
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        is_about_object.then(|| Warning {
            reason: text(&event["reason"]),
            note: text(note),
        })
    });
    warnings.collect()
}
