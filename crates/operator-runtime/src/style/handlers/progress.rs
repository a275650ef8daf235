//! How far the handlers of an object are, and what was handled last: two annotations of the object.
//!
//! ```json
//! shop/handled:  {"format":1,"essence":{"spec":{"size":3}},"failed":{"relabel":"no such zone"}}
//! shop/progress: {"format":1,"cause":"update","target":{"essence":{"spec":{"size":4}}},
//!                 "handlers":{"resize":{"started":"2026-01-02T03:04:05Z","attempts":1,"next":"2026-01-02T03:05:05Z","message":"busy"},
//!                             "relabel":{"started":"2026-01-02T03:04:05Z","attempts":1,"end":"succeeded"}}}
//! ```

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;
use kube::{Resource, ResourceExt};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{cause::Cause, handled::Handled};

/// The format of both annotations that this release writes.
const FORMAT: u32 = 1;

/// The longest message that is kept of an error, in bytes.
const LONGEST_MESSAGE: usize = 512;

/// What the annotations of an object say.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Record {
    /// `None` if no handler has finished with the object yet.
    pub handled: Option<Handled>,
    pub progress: Option<Progress>,
    /// The annotations that cannot be read, and why.
    pub problems: Vec<String>,
    /// Whether there is something that says what was handled, also if it cannot be read.
    pub is_known: bool,
}

/// What is written when all handlers of a cause have ended.
#[derive(Serialize)]
pub(super) struct Outcome<'a> {
    #[serde(flatten)]
    pub handled: &'a Handled,
    /// The last errors of the handlers that have failed for good, for people.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, String>,
}

/// How far the handlers of a cause are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Progress {
    pub cause: Cause,
    /// The object as the cause found it: what is handled once all handlers have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Handled>,
    /// By the ids of the handlers.
    pub handlers: BTreeMap<String, Entry>,
}

/// The attempts of a handler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// When the first attempt began.
    pub started: Timestamp,
    /// The number of attempts that have ended.
    pub attempts: u32,
    /// When the next attempt is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
    /// The last error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum End {
    Succeeded,
    Failed,
}

#[derive(Serialize, Deserialize)]
struct Formatted<T> {
    format: u32,
    #[serde(flatten)]
    content: T,
}

/// The keys of the annotations of a controller.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    pub handled: String,
    pub progress: String,
}

impl Keys {
    /// Those of a controller; one that has a name does not share them with others of its kind.
    pub fn of(operator: &str, controller: Option<&str>) -> Self {
        let prefix = match controller {
            Some(controller) => format!("{operator}/{controller}."),
            None => format!("{operator}/"),
        };
        Self {
            handled: format!("{prefix}handled"),
            progress: format!("{prefix}progress"),
        }
    }
}

impl Record {
    pub fn of(object: &impl Resource, keys: &Keys) -> Self {
        let annotations = object.annotations();
        let mut problems = vec![];
        let handled = annotations.get(&keys.handled);
        let progress = annotations.get(&keys.progress);
        Self {
            is_known: handled.is_some(),
            handled: handled.and_then(|text| read(&keys.handled, text, &mut problems)),
            progress: progress.and_then(|text| read(&keys.progress, text, &mut problems)),
            problems,
        }
    }
}

fn read<T: DeserializeOwned>(key: &str, text: &str, problems: &mut Vec<String>) -> Option<T> {
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    let problem = match serde_json::from_str::<Format>(text) {
        Ok(Format { format: FORMAT }) => match serde_json::from_str::<Formatted<T>>(text) {
            Ok(Formatted { content, .. }) => return Some(content),
            Err(error) => error.to_string(),
        },
        Ok(Format { format }) => {
            format!("its format is {format}, and this operator knows {FORMAT}")
        }
        Err(error) => error.to_string(),
    };
    problems.push(format!("the annotation {key} cannot be read: {problem}"));
    None
}

/// The text of an annotation.
pub(super) fn text(content: &impl Serialize) -> serde_json::Result<String> {
    let format = FORMAT;
    serde_json::to_string(&Formatted { format, content })
}

impl Progress {
    pub fn new(cause: Cause) -> Self {
        Self {
            cause,
            target: None,
            handlers: BTreeMap::new(),
        }
    }

    /// Whether a handler has ended.
    pub fn has_ended(&self) -> bool {
        self.handlers.values().any(|entry| entry.end.is_some())
    }

    /// The last errors of the handlers that have failed for good.
    pub fn failed(&self) -> BTreeMap<String, String> {
        let failed = self.handlers.iter();
        let failed = failed.filter(|(_, entry)| entry.end == Some(End::Failed));
        let message = |entry: &Entry| entry.message.clone().unwrap_or_default();
        failed
            .map(|(id, entry)| (id.clone(), message(entry)))
            .collect()
    }

    /// Whether it was written, and not just begun.
    pub fn has_target(&self) -> bool {
        self.target.is_some()
    }
}

impl Entry {
    pub fn new(now: Timestamp) -> Self {
        Self {
            started: now,
            attempts: 0,
            next: None,
            end: None,
            message: None,
        }
    }

    pub fn succeed(&mut self) {
        self.attempts = self.attempts.saturating_add(1);
        (self.end, self.next, self.message) = (Some(End::Succeeded), None, None);
    }

    pub fn fail(&mut self, message: &str) {
        self.attempts = self.attempts.saturating_add(1);
        (self.end, self.next) = (Some(End::Failed), None);
        self.message = Some(shortened(message));
    }

    pub fn retry(&mut self, next: Timestamp, message: &str) {
        self.attempts = self.attempts.saturating_add(1);
        self.next = Some(next);
        self.message = Some(shortened(message));
    }
}

fn shortened(message: &str) -> String {
    let mut end = message.len().min(LONGEST_MESSAGE);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    message[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    use super::*;

    fn object(annotations: &[(&str, &str)]) -> ConfigMap {
        let annotations: BTreeMap<&str, &str> = annotations.iter().copied().collect();
        serde_json::from_value(json!({"metadata": {"annotations": annotations}})).unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        let mut progress = Progress::new(Cause::Update);
        let mut entry = Entry::new("2026-01-02T03:04:05Z".parse().unwrap());
        entry.retry("2026-01-02T03:05:05Z".parse().unwrap(), &"é".repeat(600));
        assert_eq!(entry.message.as_ref().unwrap().len(), 512);
        progress.handlers.insert("resize".into(), entry);
        let essence = json!({"spec": {}});
        progress.target = Some(Handled::Whole {
            essence,
            fields: None,
        });
        let keys = Keys::of("shop", None);
        let text = text(&progress).unwrap();
        let record = Record::of(&object(&[(&keys.progress, &text)]), &keys);
        assert_eq!(record.progress, Some(progress));
        assert!(record.problems.is_empty() && !record.is_known);
    }

    #[test]
    fn a_damaged_annotation_is_reported_and_one_of_another_controller_is_not_read() {
        let keys = Keys::of("shop", Some("volumes"));
        let of = |handled: &str| Record::of(&object(&[(&keys.handled, handled)]), &keys);
        for (handled, expected) in [
            ("", "EOF"),
            ("[]", "invalid length"),
            (r#"{"format":2,"essence":{}}"#, "its format is 2"),
            (r#"{"format":1}"#, "data did not match"),
        ] {
            let record = of(handled);
            assert!(
                record.problems[0].contains(expected),
                "{:?}",
                record.problems
            );
            assert!(record.problems[0].contains("shop/volumes.handled"));
            assert!(record.is_known && record.handled.is_none());
        }
        let other = Record::of(&object(&[("shop/handled", "damaged")]), &keys);
        assert_eq!(other, Record::default());
    }
}
