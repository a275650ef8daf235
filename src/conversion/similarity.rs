//! Finds enum values that mean the same, and fields that may be the same, by the similarity of their names.

use heck::ToSnakeCase;
use serde_json::Value;

/// The pairs of values that differ only in how their words are written, such as `round-robin` and `RoundRobin`, and the remaining values.
pub fn same_values(spoke: &[Value], hub: &[Value]) -> (Vec<(Value, Value)>, [Vec<Value>; 2]) {
    let only = |these: &[Value], others: &[Value]| -> Vec<Value> {
        let only = these.iter().filter(|value| !others.contains(value));
        only.cloned().collect()
    };
    let (mut in_spoke, mut in_hub) = (only(spoke, hub), only(hub, spoke));
    let mut pairs = vec![];
    for value in in_spoke.clone() {
        let is_same = |other: &&Value| words(other).is_some() && words(other) == words(&value);
        let mut same = in_hub.iter().filter(is_same);
        let twin = in_spoke.iter().filter(is_same).count() > 1;
        if let (Some(counterpart), None, false) = (same.next().cloned(), same.next(), twin) {
            in_spoke.retain(|it| *it != value);
            in_hub.retain(|it| *it != counterpart);
            pairs.push((value, counterpart));
        }
    }
    (pairs, [in_spoke, in_hub])
}

/// The letters and digits of a string value, in lower case.
fn words(value: &Value) -> Option<String> {
    let text = value.as_str()?.to_lowercase();
    Some(text.chars().filter(|c| c.is_alphanumeric()).collect())
}

/// The likeness of two names of fields, from 0 to 1: how probable a rename is, apart from the schemas.
pub fn likeness(before: &str, after: &str) -> f64 {
    let (before, after) = (before.to_snake_case(), after.to_snake_case());
    let (before, after): (Vec<&str>, Vec<&str>) =
        (before.split('_').collect(), after.split('_').collect());
    let shared = before
        .iter()
        .filter(|a| after.iter().any(|b| is_same(a, b)));
    let shared = 2.0 * shared.count() as f64 / (before.len() + after.len()) as f64;
    let is_opposite = |a: &str, b: &str| {
        ["un", "in", "not", "non"]
            .iter()
            .any(|no| *a == format!("{no}{b}"))
    };
    let opposites = |a: &[&str], b: &[&str]| a.iter().any(|a| b.iter().any(|b| is_opposite(a, b)));
    if opposites(&before, &after) || opposites(&after, &before) {
        return shared.min(0.5);
    }
    let spelled = strsim::jaro_winkler(&before.concat(), &after.concat());
    if spelled > 0.9 {
        shared.max(spelled)
    } else {
        shared
    }
}

/// Whether two names share a word, or one begins with all words of the other, as `ip` and `ipAddress`. This is weaker than a likeness, for
/// fields whose types differ: a unit or a new structure gives them another name, too.
pub fn is_related(before: &str, after: &str) -> bool {
    let (before, after) = (before.to_snake_case(), after.to_snake_case());
    let begins = |long: &str, short: &str| {
        let rest = long.strip_prefix(short);
        rest.is_some_and(|rest| rest.starts_with('_'))
    };
    // shorter words, such as `is` and `of`, mean little
    let is_shared = |word: &str| word.len() >= 3 && after.split('_').any(|it| is_same(it, word));
    before.split('_').any(is_shared) || begins(&before, &after) || begins(&after, &before)
}

/// Whether two words are the same, apart from a plural.
fn is_same(a: &str, b: &str) -> bool {
    a.trim_end_matches('s') == b.trim_end_matches('s')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_that_are_written_differently_are_pairs() {
        let list = |text: &str| text.split(' ').map(Value::from).collect::<Vec<_>>();
        let (pairs, [spoke, hub]) = same_values(
            &list("Same round-robin OFF a-b ab"),
            &list("Same RoundRobin Off Ab new"),
        );
        assert_eq!(
            json!(pairs),
            json!([["round-robin", "RoundRobin"], ["OFF", "Off"]])
        );
        assert_eq!(json!([spoke, hub]), json!([["a-b", "ab"], ["Ab", "new"]]));
    }

    #[test]
    fn names_of_renamed_fields_are_alike() {
        for (before, after, is_alike) in [
            ("namingStrategy", "naming", true),
            ("taskPodTemplate", "podTemplate", true),
            ("updatedReplicas", "upToDateReplicas", true),
            ("DisableMetrics", "disableMetrics", true),
            ("unavailableReplicas", "availableReplicas", false),
            ("failureMessage", "failureDomain", false),
            ("fullyLabeledReplicas", "upToDateReplicas", false),
            ("size", "replicas", false),
        ] {
            let likeness = likeness(before, after);
            assert_eq!(likeness > 0.5, is_alike, "{before} {after}: {likeness}");
        }
    }

    #[test]
    fn names_that_share_a_word_are_related() {
        for (before, after, is_expected) in [
            ("timeout", "timeoutSeconds", true),
            ("ip", "ipAddress", true),
            ("nodeDeletionTimeout", "deletion", true),
            ("stepOverrides", "stepSpecs", true),
            ("isReady", "isActive", false),
            ("port", "portability", false),
            ("size", "replicas", false),
        ] {
            assert_eq!(is_related(before, after), is_expected, "{before} {after}");
        }
    }
}
