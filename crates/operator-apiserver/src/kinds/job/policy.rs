//! Validates the [policies] of Jobs for failed pods and succeeded indexes, and `managedBy`.
//!
//! [policies]: https://kubernetes.io/docs/concepts/workloads/controllers/job/#handling-pod-and-container-failures

use std::collections::HashSet;

use serde_json::Value;

use crate::kinds::rule::field::too_long;
use crate::kinds::rule::field::{
    duplicate, invalid, is_empty, list, non_negative, number, refuse, text, too_many, unsupported,
};
use crate::model::{Cause, name};

const MOST_RULES: usize = 20;
const MOST_EXIT_CODES: usize = 255;
const MOST_CONDITIONS: usize = 20;
/// With more completions, limits are stricter. It is also the maximum of `maxFailedIndexes`.
const COMPLETIONS_SOFT_LIMIT: i64 = 100_000;
const LIMIT_FOR_HIGH_COMPLETIONS: i64 = 10_000;

/// Checks the controller that a Job names.
pub(crate) fn manager(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    let field = format!("{path}.managedBy");
    let Some(found) = spec["managedBy"].as_str() else {
        return;
    };
    match found.split_once('/') {
        _ if found.is_empty() => causes.push(Cause::required(&field, "")),
        Some((domain, rest)) if !domain.is_empty() && !rest.is_empty() => {
            refuse(&field, domain, name::bad_subdomain(domain), causes);
        }
        _ => {
            let why = "must be a domain-prefixed path (such as \"acme.io/foo\")";
            causes.push(invalid(&field, format!("{found:?}"), why));
        }
    }
    if found.len() > 63 {
        causes.push(too_long(&field, 63));
    }
}

/// Checks `maxFailedIndexes` of an indexed Job, and its `parallelism` if it has many completions and a `backoffLimitPerIndex`.
pub(crate) fn failed_indexes(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    let field = format!("{path}.maxFailedIndexes");
    let (completions, failed) = (&spec["completions"], spec["maxFailedIndexes"].as_i64());
    let mut limit = |found: i64, most: i64, more: &str| {
        if found > most {
            let why = format!("must be less than or equal to {more}");
            causes.push(invalid(&field, found, why));
        }
    };
    if let (Some(count), Some(failed)) = (completions.as_i64(), failed) {
        limit(failed, count, "completions");
    }
    if let Some(failed) = failed {
        limit(failed, COMPLETIONS_SOFT_LIMIT, "100000");
    }
    if number(spec, "completions") <= COMPLETIONS_SOFT_LIMIT
        || spec["backoffLimitPerIndex"].is_null()
    {
        return;
    }
    const MORE: &str =
        "10000 when completions are above 100000 and used with backoff limit per index";
    if failed.is_none() {
        let why = "must be specified when completions is above 100000";
        causes.push(Cause::required(&field, why));
    }
    let why = format!("must be less than or equal to {MORE}");
    for name in ["parallelism", "maxFailedIndexes"] {
        let found = number(spec, name);
        if found > LIMIT_FOR_HIGH_COMPLETIONS {
            causes.push(invalid(format!("{path}.{name}"), found, &why));
        }
    }
}

/// Checks the policy for failed pods.
pub(crate) fn failure(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    let rules = list(&spec["podFailurePolicy"], "rules");
    let path = format!("{path}.podFailurePolicy.rules");
    if rules.len() > MOST_RULES {
        causes.push(too_many(&path, rules.len(), MOST_RULES));
    }
    for (at, rule) in rules.iter().enumerate() {
        failure_rule(spec, rule, &format!("{path}[{at}]"), causes);
    }
}

fn failure_rule(spec: &Value, rule: &Value, path: &str, causes: &mut Vec<Cause>) {
    const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];
    let field = format!("{path}.action");
    let action = &rule["action"];
    if action == "FailIndex" && spec["backoffLimitPerIndex"].is_null() {
        let why = "requires the backoffLimitPerIndex to be set";
        causes.push(invalid(field, action, why));
    } else {
        known(&field, action, &ACTIONS, causes);
    }
    let (codes, conditions) = (&rule["onExitCodes"], list(rule, "onPodConditions"));
    if !codes.is_null() {
        exit_codes(spec, codes, &format!("{path}.onExitCodes"), causes);
    }
    pod_conditions(conditions, &format!("{path}.onPodConditions"), causes);
    let wrong = match (codes.is_null(), conditions.is_empty()) {
        (false, false) => "specifying both OnExitCodes and OnPodConditions is not supported",
        (true, true) => "specifying one of OnExitCodes and OnPodConditions is required",
        _ => return,
    };
    causes.push(Cause::invalid(path, format!("Invalid value: {wrong}")));
}

/// Checks the exit codes of a rule, which must be sorted and unique.
fn exit_codes(spec: &Value, codes: &Value, path: &str, causes: &mut Vec<Cause>) {
    let operator = &codes["operator"];
    known(
        &format!("{path}.operator"),
        operator,
        &["In", "NotIn"],
        causes,
    );
    let template = &spec["template"]["spec"];
    let containers = ["containers", "initContainers"].map(|field| list(template, field));
    let container = &codes["containerName"];
    if !container.is_null()
        && !containers
            .iter()
            .copied()
            .flatten()
            .any(|it| it["name"] == *container)
    {
        let why = "must be one of the container or initContainer names in the pod template";
        causes.push(invalid(format!("{path}.containerName"), container, why));
    }
    let values = list(codes, "values");
    let path = format!("{path}.values");
    if values.is_empty() {
        causes.push(invalid(
            &path,
            &codes["values"],
            "at least one value is required",
        ));
    } else if values.len() > MOST_EXIT_CODES {
        causes.push(too_many(&path, values.len(), MOST_EXIT_CODES));
    }
    let mut seen = HashSet::new();
    for (at, value) in values.iter().enumerate() {
        let field = format!("{path}[{at}]");
        if operator == "In" && *value == 0 {
            causes.push(invalid(&field, value, "must not be 0 for the In operator"));
        }
        if !seen.insert(value.as_i64()) {
            causes.push(duplicate(field, value));
        }
    }
    if !values.is_sorted_by_key(Value::as_i64) {
        causes.push(invalid(path, &codes["values"], "must be ordered"));
    }
}

fn pod_conditions(conditions: &[Value], path: &str, causes: &mut Vec<Cause>) {
    if conditions.len() > MOST_CONDITIONS {
        causes.push(too_many(path, conditions.len(), MOST_CONDITIONS));
    }
    for (at, condition) in conditions.iter().enumerate() {
        let type_ = text(condition, "type");
        let field = format!("{path}[{at}].type");
        refuse(&field, type_, name::bad_label_key(type_), causes);
        known(
            &format!("{path}[{at}].status"),
            &condition["status"],
            &["False", "True", "Unknown"],
            causes,
        );
    }
}

/// Checks the success policy.
pub(crate) fn success(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    let rules = list(&spec["successPolicy"], "rules");
    let path = format!("{path}.successPolicy");
    if spec["completionMode"] != "Indexed" {
        let shown = format!("{{\"Rules\":{}}}", Value::from(rules));
        causes.push(invalid(path, shown, "requires indexed completion mode"));
        return;
    }
    let path = format!("{path}.rules");
    if rules.is_empty() {
        let why = "at least one rules must be specified when the successPolicy is specified";
        causes.push(Cause::required(&path, why));
    }
    if rules.len() > MOST_RULES {
        causes.push(too_many(&path, rules.len(), MOST_RULES));
    }
    for (at, rule) in rules.iter().enumerate() {
        success_rule(spec, rule, &format!("{path}[{at}]"), causes);
    }
}

fn success_rule(spec: &Value, rule: &Value, path: &str, causes: &mut Vec<Cause>) {
    let (count, indexes) = (&rule["succeededCount"], rule["succeededIndexes"].as_str());
    if count.is_null() && indexes.is_none() {
        let why = "at least one of succeededCount or succeededIndexes must be specified";
        causes.push(Cause::required(path, why));
    }
    let completions = number(spec, "completions");
    let mut named = None;
    if let Some(indexes) = indexes {
        let read = count_indexes(indexes, completions);
        named = Some(*read.as_ref().unwrap_or(&0));
        if let Err(why) = read {
            causes.push(invalid(
                format!("{path}.succeededIndexes"),
                format!("{indexes:?}"),
                format!("error parsing succeededIndexes: {why}"),
            ));
        }
    }
    if let Some(count) = count.as_i64() {
        non_negative(path, rule, &["succeededCount"], causes);
        let field = format!("{path}.succeededCount");
        let limits = [
            (Some(completions), "the number of specified completions"),
            (
                named,
                "the number of indexes in the specified succeededIndexes field",
            ),
        ];
        for (most, what) in limits {
            if let Some(most) = most.filter(|most| count > *most) {
                let why = format!("must be less than or equal to {most} ({what})");
                causes.push(invalid(&field, count, why));
            }
        }
    }
}

/// The number of indexes in a text such as `0,2-4`.
fn count_indexes(text: &str, completions: i64) -> Result<i64, String> {
    let index = |text: &str| match text.parse::<i64>() {
        Err(_) => Err(format!(
            "cannot convert string to integer for index: {text:?}"
        )),
        Ok(index) if index >= completions => Err(format!("too large index: {text:?}")),
        Ok(index) => Ok(index),
    };
    let out_of_order = |previous: i64, current: i64| {
        Err(format!(
            "non-increasing order, previous: {previous}, current: {current}"
        ))
    };
    let mut last = None;
    let mut count = 0;
    for interval in text.split(',').filter(|_| !text.is_empty()) {
        let parts: Vec<&str> = interval.split('-').collect();
        let (first, end) = match parts[..] {
            [one] => (index(one)?, index(one)?),
            [first, end] => match (index(first)?, index(end)?) {
                (first, end) if first >= end => return out_of_order(first, end),
                both => both,
            },
            _ => {
                return Err(format!(
                    "the fragment {interval:?} violates the requirement that an index interval can have at most two parts separated by '-'"
                ));
            }
        };
        if let Some(last) = last.filter(|last| *last >= first) {
            return out_of_order(last, first);
        }
        count += end - first + 1;
        last = Some(end);
    }
    Ok(count)
}

/// Checks a required value that must be one of a few.
fn known(field: &str, found: &Value, allowed: &[&str], causes: &mut Vec<Cause>) {
    if is_empty(found) {
        let allowed: Vec<String> = allowed.iter().map(|it| format!("{it:?}")).collect();
        let why = format!("valid values: [{}]", allowed.join(" "));
        causes.push(Cause::required(field, &why));
    } else if !allowed.iter().any(|it| found == it) {
        causes.push(unsupported(field, found, allowed));
    }
}

#[cfg(test)]
mod tests {
    use crate::kinds::job::policy::count_indexes;

    #[test]
    fn indexes_are_counted_in_order_and_below_the_completions() {
        assert_eq!(count_indexes("0,2-4", 5), Ok(4));
        assert_eq!(count_indexes("", 5), Ok(0));
        for wrong in ["5", "1,0", "3-2", "2-2", "1-2-3", "x", "1-9", ","] {
            assert!(count_indexes(wrong, 5).is_err(), "{wrong}");
        }
    }
}
