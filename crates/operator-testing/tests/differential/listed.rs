//! Known differences: two rejections with the same code, in other words. `differences.yaml` has a case of each, except for those in order.

use serde_json::Value;

use crate::ask::Answer;

/// The beginnings of messages that end with an object as Go prints it.
const WORDS: [&str; 4] = [
    "pod updates may not change fields other than",
    "spec is immutable after creation except",
    "spec.template: Invalid value: {",
    "spec.template.spec: Invalid value: {",
];

pub fn is_listed(found: &Answer, expected: &Answer) -> bool {
    let is_alike = |part: fn(&Answer) -> Option<String>| {
        let part_of_expected = part(expected);
        part_of_expected.is_some() && part(found) == part_of_expected
    };
    // Only the form of a time zone is checked, because machines have different lists of them.
    if message(expected).contains("unknown time zone") {
        return true;
    }
    found.code == expected.code
        && found.code >= 400
        && (is_alike(words)
            || is_alike(patched)
            || is_alike(place)
            || is_alike(converted)
            || is_alike(causes)
            || is_alike(undeclared)
            || expected.body["details"]["kind"] == "CustomResourceDefinition")
}

fn message(answer: &Answer) -> &str {
    answer.body["message"].as_str().unwrap_or_default()
}

fn words(answer: &Answer) -> Option<String> {
    WORDS
        .iter()
        .find(|words| message(answer).contains(**words))
        .map(|words| (*words).to_owned())
}

/// What is wrong with a patched object, without the object itself, whose fields Go prints in its own order.
fn patched(answer: &Answer) -> Option<String> {
    let (_, rest) = message(answer).split_once(" is invalid: patch: Invalid value: \"{")?;
    let (_, wrong) = rest.rsplit_once("}\": ")?;
    let wrong = wrong
        .split_once(" of type ")
        .map_or(wrong, |(place, _)| place);
    Some(wrong.to_owned())
}

/// Where a value has a wrong type, without Go's name of the right one.
fn place(answer: &Answer) -> Option<String> {
    let (place, _) = message(answer).split_once(" of type ")?;
    Some(place.to_owned())
}

/// What cannot be converted, without Go's name of the right type.
fn converted(answer: &Answer) -> Option<String> {
    let (place, _) = message(answer).rsplit_once(" to ")?;
    place
        .contains(": cannot convert ")
        .then(|| place.to_owned())
}

/// The fields of an applied object that the schema lacks, sorted: the real server has them in the random order of Go's maps.
fn undeclared(answer: &Answer) -> Option<String> {
    let (_, wrong) = message(answer).split_once(" errors:\n")?;
    let mut wrong: Vec<&str> = wrong.lines().collect();
    wrong.sort_unstable();
    Some(wrong.concat())
}

/// The causes of a rejection, sorted: for conflicts and for custom objects, the real server has them in the random order of Go's maps.
fn causes(answer: &Answer) -> Option<String> {
    let causes = answer.body.pointer("/details/causes")?.as_array()?;
    let mut causes: Vec<String> = causes.iter().map(Value::to_string).collect();
    causes.sort();
    Some(causes.concat())
}
