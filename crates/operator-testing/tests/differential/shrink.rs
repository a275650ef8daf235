//! Shrinks a sequence, by [delta debugging], as long as it has the same difference, and prints it.
//!
//! [delta debugging]: https://www.debuggingbook.org/html/DeltaDebugger.html

use serde_json::Value;

use crate::generate::spoil::{places, remove};

/// The maximum number of sequences to try.
const TRIES: usize = 250;

/// Removes steps, and parts of bodies and queries, as long as `holds` is true for the rest.
pub async fn shrink(steps: Vec<Value>, holds: impl AsyncFn(&[Value]) -> bool) -> Vec<Value> {
    let mut best = steps;
    let mut tries = 0;
    let mut size = best.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        while at < best.len() {
            let mut fewer = best.clone();
            fewer.drain(at..(at + size).min(best.len()));
            tries += 1;
            if tries < TRIES && !fewer.is_empty() && holds(&fewer).await {
                best = fewer;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    for at in 0..best.len() {
        // Look up the places again after each success, because indices of lists have changed.
        let mut passed = 0;
        while let Some(smaller) = smaller(&best[at]).into_iter().nth(passed) {
            let mut tried = best.clone();
            tried[at] = smaller;
            tries += 1;
            if tries < TRIES && holds(&tried).await {
                best = tried;
            } else {
                passed += 1;
            }
        }
    }
    best
}

/// The variants of a step that lack one of its parts.
fn smaller(step: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    for place in places(step) {
        let is_part = place.starts_with("/send/") || place.starts_with("/save/");
        if is_part || matches!(place.as_str(), "/save" | "/agent") {
            let mut smaller = step.clone();
            remove(&mut smaller, &place);
            found.push(smaller);
        }
    }
    for (verb, path) in step.as_object().into_iter().flatten() {
        let Some((path, query)) = path.as_str().and_then(|path| path.split_once('?')) else {
            continue;
        };
        let options: Vec<&str> = query.split('&').collect();
        for left_out in &options {
            let rest: Vec<&str> = options.iter().copied().filter(|o| o != left_out).collect();
            let mut smaller = step.clone();
            smaller[verb] = if rest.is_empty() {
                path.into()
            } else {
                format!("{path}?{}", rest.join("&")).into()
            };
            found.push(smaller);
        }
    }
    found
}

/// The steps as a case, to be pasted into `requests/`.
pub fn case(name: &str, steps: &[Value]) -> String {
    let steps = steps.iter().map(|step| format!("    - {}\n", flow(step)));
    format!("- case: {name}\n  steps:\n{}", steps.collect::<String>())
}

/// YAML on one line, with few quotes.
fn flow(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| format!("{}: {}", text(name), flow(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            format!(
                "[{}]",
                items.iter().map(flow).collect::<Vec<_>>().join(", ")
            )
        }
        Value::String(found) => text(found),
        other => other.to_string(),
    }
}

/// A YAML string, without quotes if it is read as the same text.
fn text(text: &str) -> String {
    let is_bare = text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '/')
        && text
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "./-_?=&%".contains(letter))
        && serde_yaml::from_str::<Value>(text).is_ok_and(|read| read == text);
    match is_bare {
        true => text.to_owned(),
        false if text.contains('\n') => Value::from(text).to_string(),
        false => format!("'{}'", text.replace('\'', "''")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn unneeded_parts_are_removed() {
        let steps: Vec<Value> = (0..20)
            .map(|at| json!({"post": "configmaps?dryRun=All&pretty=true", "send": {"at": at, "more": [1, 2, at]}}))
            .collect();
        let shrunk = shrink(steps, async |steps: &[Value]| {
            let has = |at: usize| steps.iter().any(|step| step["send"]["more"] == json!([at]));
            let had = |at: usize| {
                steps.iter().any(|step| {
                    step["send"]["more"]
                        .as_array()
                        .is_some_and(|more| more.contains(&at.into()))
                })
            };
            let dry = steps.iter().all(|step| {
                step["post"]
                    .as_str()
                    .is_some_and(|path| path.contains("dryRun"))
            });
            (has(3) || had(3)) && (has(17) || had(17)) && dry
        })
        .await;
        let expected = |at: usize| json!({"post": "configmaps?dryRun=All", "send": {"more": [at]}});
        assert_eq!(shrunk, [expected(3), expected(17)]);
    }

    #[test]
    fn a_printed_case_equals_the_sent_requests() {
        let steps = [
            json!({"merge": "widgets/a?x=y&z=%20", "send": {"a": null, "b": "null", "c": "1", "d": "it's", "e": "x\ny", "f": "", "g h": [true, 1.5], "h": "${version}"}}),
        ];
        let text = case("found", &steps);
        let read: Vec<Value> = serde_yaml::from_str(&text).unwrap();
        assert_eq!(read[0]["steps"], json!(steps));
    }
}
