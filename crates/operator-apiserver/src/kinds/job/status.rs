//! Validates the status of a Job: its final conditions, times and counts are consistent, and final ones do not change. Indexes are not
//! checked.

use serde_json::Value;

use crate::go::sorted;
use crate::kinds::rule::field::{invalid, is_empty, list, non_negative, number};
use crate::model::Cause;

/// The old and the new status in an update.
struct Change<'a> {
    old: &'a Value,
    new: &'a Value,
}

impl Change<'_> {
    /// Whether the new status has the condition.
    fn is(&self, condition: &str) -> bool {
        has(self.new, condition)
    }

    /// Whether the old status has the condition.
    fn was(&self, condition: &str) -> bool {
        has(self.old, condition)
    }

    /// Whether one of the conditions was added or removed.
    fn turned(&self, conditions: &[&str]) -> bool {
        conditions
            .iter()
            .any(|condition| self.is(condition) != self.was(condition))
    }

    fn changed(&self, field: &str) -> bool {
        self.old[field] != self.new[field]
    }

    /// Whether the Job becomes finished, or unfinished.
    fn ends(&self) -> bool {
        let is_finished = |status| has(status, "Complete") || has(status, "Failed");
        is_finished(self.old) != is_finished(self.new)
    }
}

fn has(status: &Value, condition: &str) -> bool {
    list(status, "conditions")
        .iter()
        .any(|found| found["type"] == condition && found["status"] == "True")
}

pub(crate) fn check(live: &Value, object: &Value, causes: &mut Vec<Cause>) {
    let counts = ["active", "succeeded", "failed", "ready", "terminating"];
    non_negative("status", &object["status"], &counts, causes);
    let change = Change {
        old: &live["status"],
        new: &object["status"],
    };
    if change.old != change.new {
        endings(&change, causes);
        times(&change, &object["spec"], causes);
        pods(&change, causes);
        criteria(&change, &object["spec"], causes);
        kept(&change, &object["spec"], causes);
    }
}

fn conditions(why: &str) -> Cause {
    Cause::invalid("status.conditions", format!("Invalid value: {why}"))
}

/// Checks that a Job has only one final condition.
fn endings(change: &Change<'_>, causes: &mut Vec<Cause>) {
    let both = [
        (
            "Failed",
            "cannot set Complete=True and Failed=true conditions",
        ),
        (
            "FailureTarget",
            "cannot set Complete=True and FailureTarget=true conditions",
        ),
    ];
    for (other, why) in both {
        let is_wrong = change.is("Complete") && change.is(other);
        if is_wrong && change.turned(&["Complete", other]) {
            causes.push(conditions(why));
        }
    }
}

/// Checks the times and the counts of a Job against its final conditions.
fn times(change: &Change<'_>, spec: &Value, causes: &mut Vec<Cause>) {
    const COMPLETION: &str = "status.completionTime";
    let time = |field: &str| change.new[field].as_str().unwrap_or_default();
    let (started, completed) = (time("startTime"), time("completionTime"));
    let is_complete = change.is("Complete");
    if change.turned(&["Complete"]) || change.changed("completionTime") {
        if !completed.is_empty() && !is_complete {
            let why = "cannot set completionTime when there is no Complete=True condition";
            causes.push(invalid(COMPLETION, format!("{completed:?}"), why));
        }
        if completed.is_empty() && is_complete {
            let why = "completionTime is required for Complete jobs";
            causes.push(Cause::required(COMPLETION, why));
        }
    }
    let is_timed = !started.is_empty() && !completed.is_empty();
    if is_timed
        && completed < started
        && (change.changed("startTime") || change.changed("completionTime"))
    {
        let why = "must be equal to or after `startTime`";
        causes.push(invalid(COMPLETION, format!("{completed:?}"), why));
    }
    if change.turned(&["Failed"]) && change.is("Failed") && !change.is("FailureTarget") {
        let why = "cannot set Failed=True condition without the FailureTarget=true condition";
        causes.push(conditions(why));
    }
    if is_complete
        && !change.is("SuccessCriteriaMet")
        && change.turned(&["Complete", "SuccessCriteriaMet"])
    {
        let why =
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
        causes.push(conditions(why));
    }
    let is_finished = is_complete || change.is("Failed");
    let active = number(change.new, "active");
    if active > 0 && is_finished && (change.ends() || change.changed("active")) {
        let why = "active>0 is invalid for finished job";
        causes.push(invalid("status.active", active, why));
    }
    let never_ran = spec["suspend"] == true && spec["completions"] == 0;
    if started.is_empty()
        && is_finished
        && !never_ran
        && (change.ends() || change.changed("startTime"))
    {
        let why = "startTime is required for finished job";
        causes.push(Cause::required("status.startTime", why));
    }
}

/// Checks that a finished Job has no uncounted or terminating pods, and that no Job has more ready pods than active ones.
fn pods(change: &Change<'_>, causes: &mut Vec<Cause>) {
    let is_finished = change.is("Complete") || change.is("Failed");
    let uncounted = &change.new["uncountedTerminatedPods"];
    let is_counted = ["succeeded", "failed"]
        .iter()
        .all(|field| is_empty(&uncounted[*field]));
    if is_finished && !is_counted && (change.ends() || change.changed("uncountedTerminatedPods")) {
        causes.push(invalid(
            "status.uncountedTerminatedPods",
            sorted(uncounted),
            "must be empty for finished job",
        ));
    }
    let terminating = number(change.new, "terminating");
    if terminating > 0 && is_finished && (change.ends() || change.changed("terminating")) {
        let why = "terminating>0 is invalid for finished job";
        causes.push(invalid("status.terminating", terminating, why));
    }
    let (ready, active) = (number(change.new, "ready"), number(change.new, "active"));
    if ready > active && (change.changed("ready") || change.changed("active")) {
        let why = "cannot set more ready pods than active";
        causes.push(invalid("status.ready", ready, why));
    }
}

/// Checks `SuccessCriteriaMet` against the other conditions.
fn criteria(change: &Change<'_>, spec: &Value, causes: &mut Vec<Cause>) {
    let is_met = change.is("SuccessCriteriaMet");
    if is_met && change.is("Failed") {
        let why = "cannot set SuccessCriteriaMet=True and Failed=true conditions";
        causes.push(conditions(why));
    }
    if is_met && change.is("FailureTarget") {
        let why = "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions";
        causes.push(conditions(why));
    }
    if !spec["successPolicy"].is_null() && !is_met && change.is("Complete") {
        let why =
            "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True";
        causes.push(conditions(why));
    }
}

/// Checks that final states do not change.
fn kept(change: &Change<'_>, spec: &Value, causes: &mut Vec<Cause>) {
    for condition in ["Failed", "Complete", "FailureTarget"] {
        if change.was(condition) && !change.is(condition) {
            let why = format!("cannot disable the terminal {condition}=True condition");
            causes.push(conditions(&why));
        }
    }
    let is_elastic =
        spec["completionMode"] == "Indexed" && spec["completions"] == spec["parallelism"];
    for field in ["failed", "succeeded"] {
        let (was, now) = (number(change.old, field), number(change.new, field));
        if now < was && !(is_elastic && field == "succeeded") {
            let why = format!("cannot decrease the {field} counter");
            causes.push(invalid(format!("status.{field}"), now, why));
        }
    }
    let both = |field: &str| !change.old[field].is_null() && !change.new[field].is_null();
    if both("completionTime") && change.changed("completionTime") {
        causes.push(invalid(
            "status.completionTime",
            &change.new["completionTime"],
            "field is immutable",
        ));
    }
    let is_suspended = |status: &Value, value: &str| {
        list(status, "conditions")
            .iter()
            .any(|it| it["type"] == "Suspended" && it["status"] == value)
    };
    let resumes = is_suspended(change.old, "True") && is_suspended(change.new, "False");
    let has_begun = !change.old["startTime"].is_null() && spec["suspend"] != true;
    if has_begun && change.changed("startTime") && !resumes {
        let why = "field is immutable for unsuspended job once set";
        causes.push(invalid("status.startTime", &change.new["startTime"], why));
    }
    if change.was("SuccessCriteriaMet") && !change.is("SuccessCriteriaMet") {
        causes.push(conditions(
            "cannot disable the SuccessCriteriaMet=True condition",
        ));
    }
    if change.was("Complete")
        && !change.was("SuccessCriteriaMet")
        && change.is("SuccessCriteriaMet")
    {
        let why = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
        causes.push(conditions(why));
    }
}
