//! How far the handlers of an object are, and what was handled last: two annotations of the object, or two entries in a field of its
//! status.
//!
//! ```json
//! shop/handled:  {"format":1,"uid":"0b1c…","essence":{"spec":{"size":3}},"failed":{"relabel":"no such zone"}}
//! shop/progress: {"format":1,"uid":"0b1c…","cause":"update","target":{"essence":{"spec":{"size":4}}},
//!                 "handlers":{"resize":{"started":"2026-01-02T03:04:05Z","attempts":1,"next":"2026-01-02T03:05:05Z","message":"busy"},
//!                             "relabel":{"started":"2026-01-02T03:04:05Z","attempts":1,"end":"succeeded"}}}
//! ```

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    cause::Cause,
    handled::Handled,
    place::{self, Place},
};
use crate::{Error, style::Object};

/// The version of the format of both records.
const FORMAT: u32 = 1;

/// The longest message that is kept of an error, in bytes.
const LONGEST_MESSAGE: usize = 512;

/// What is recorded of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Record {
    /// `None` if nothing was handled yet, or if the record cannot be read.
    pub handled: Option<Handled>,
    pub progress: Option<Progress>,
    /// The records that cannot be read, and why.
    pub problems: Vec<String>,
    /// The last errors of the handlers that had failed for good when the object was handled.
    pub failed: BTreeMap<String, String>,
    /// Whether the object has a record of what was handled, even if it cannot be read.
    pub is_known: bool,
}

/// An [`Outcome`], as it is read.
#[derive(Deserialize)]
struct Finished {
    #[serde(flatten)]
    handled: Handled,
    #[serde(default)]
    failed: BTreeMap<String, String>,
}

/// What is written when all handlers of a cause have ended.
#[derive(Serialize)]
pub(super) struct Outcome<'a> {
    #[serde(flatten)]
    pub handled: &'a Handled,
    /// The last errors of the handlers that have failed for good. The object counts as failed until it changes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, String>,
}

/// How far the handlers of a cause are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Progress {
    pub cause: Cause,
    /// The state of the object when the cause began. It is recorded as handled once all handlers have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Handled>,
    /// The handlers that did not accept the object when the cause began. Even if they accept it later, they are not called for this cause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
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
    /// Whether it has returned without an error and is called again nevertheless.
    #[serde(default, skip_serializing_if = "is_false")]
    pub returned: bool,
}

fn is_false(value: &bool) -> bool {
    !value
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
    /// The uid of the object. In a copy of the object, which has another uid, the record is ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uid: Option<String>,
    #[serde(flatten)]
    content: T,
}

impl Record {
    /// The record of an object at its place.
    pub fn of(object: &impl Object, place: &Place) -> serde_json::Result<Self> {
        let uid = object.uid().unwrap_or_default();
        let (mut record, mut texts) = (Self::default(), place.texts(object)?);
        let problems = &mut record.problems;
        if let Some((place, text)) = texts.remove(&place::Entry::Handled) {
            let read = read::<Finished>(&place, &text, &uid, problems);
            record.is_known = !matches!(read, Reading::OfAnother);
            if let Some(Finished { handled, failed }) = read.content() {
                (record.handled, record.failed) = (Some(handled), failed);
            }
        }
        if let Some((place, text)) = texts.remove(&place::Entry::Progress) {
            record.progress = read(&place, &text, &uid, problems).content();
        }
        Ok(record)
    }
}

/// The result of reading a record.
enum Reading<T> {
    Content(T),
    /// The record belongs to another object, and was copied with it.
    OfAnother,
    Damaged,
}

impl<T> Reading<T> {
    fn content(self) -> Option<T> {
        match self {
            Self::Content(content) => Some(content),
            Self::OfAnother | Self::Damaged => None,
        }
    }
}

/// Reads a record. Adds a problem if it is damaged.
fn read<T: DeserializeOwned>(
    place: &str,
    text: &str,
    uid: &str,
    problems: &mut Vec<String>,
) -> Reading<T> {
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    let problem = match serde_json::from_str::<Format>(text) {
        Ok(Format { format: FORMAT }) => match serde_json::from_str::<Formatted<T>>(text) {
            Ok(Formatted { uid: Some(of), .. }) if of != uid => return Reading::OfAnother,
            Ok(Formatted { content, .. }) => return Reading::Content(content),
            Err(error) => error.to_string(),
        },
        Ok(Format { format }) => {
            format!("its format is {format}, and this operator knows {FORMAT}")
        }
        Err(error) => error.to_string(),
    };
    problems.push(format!("{place} cannot be read: {problem}"));
    Reading::Damaged
}

/// A record of the object with this uid, as text.
pub(super) fn text(content: &impl Serialize, uid: &str) -> serde_json::Result<String> {
    serde_json::to_string(&Formatted {
        format: FORMAT,
        uid: Some(uid.to_owned()),
        content,
    })
}

impl Progress {
    pub fn new(cause: Cause) -> Self {
        Self {
            cause,
            target: None,
            skipped: vec![],
            handlers: BTreeMap::new(),
        }
    }

    /// Whether a handler has returned, so that it has seen the target.
    pub fn has_seen(&self) -> bool {
        self.handlers
            .values()
            .any(|entry| entry.end.is_some() || entry.returned)
    }

    /// The last errors of the handlers that have failed for good.
    pub fn failed(&self) -> BTreeMap<String, String> {
        let failed = self
            .handlers
            .iter()
            .filter(|(_, entry)| entry.end == Some(End::Failed));
        let message = |entry: &Entry| entry.message.clone().unwrap_or_default();
        failed
            .map(|(id, entry)| (id.clone(), message(entry)))
            .collect()
    }

    /// The error of the first handler that has failed, or that waits for its next attempt after an error.
    pub fn error(&self) -> Option<Error> {
        let mut entries = self.handlers.iter();
        let is_failing = |entry: &Entry| entry.end != Some(End::Succeeded) && !entry.returned;
        entries.find_map(|(id, entry)| {
            let message = entry.message.as_ref().filter(|_| is_failing(entry))?;
            let error = failure(id, message);
            Some(match entry.end {
                Some(_) => Error::permanent(error),
                None => error.into(),
            })
        })
    }

    /// Whether it was read from the object, and has not just begun.
    pub fn has_target(&self) -> bool {
        self.target.is_some()
    }
}

/// An error with the id of a handler and the message of its error.
pub(super) fn failure(id: &str, message: &str) -> anyhow::Error {
    anyhow::anyhow!("handler {id}: {message}")
}

impl Entry {
    pub fn new(now: Timestamp) -> Self {
        Self {
            started: now,
            attempts: 0,
            next: None,
            end: None,
            message: None,
            returned: false,
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

    fn object(uid: &str, annotations: &[(String, &str)]) -> ConfigMap {
        let annotations: BTreeMap<&String, &str> = annotations
            .iter()
            .map(|(name, text)| (name, *text))
            .collect();
        serde_json::from_value(json!({"metadata": {"uid": uid, "annotations": annotations}}))
            .unwrap()
    }

    fn place(controller: Option<&str>) -> Place {
        Place::of("shop", controller, None)
    }

    #[test]
    fn a_record_is_read_back_but_not_from_a_copy_of_the_object() {
        let mut progress = Progress::new(Cause::Update);
        let mut entry = Entry::new("2026-01-02T03:04:05Z".parse().unwrap());
        entry.retry("2026-01-02T03:05:05Z".parse().unwrap(), &"é".repeat(600));
        assert_eq!(entry.message.as_ref().unwrap().len(), 512);
        progress.handlers.insert("resize".into(), entry);
        let essence = json!({"spec": {}});
        let handled = Handled::Whole {
            essence,
            values: BTreeMap::new(),
        };
        progress.target = Some(handled.clone());
        let place = place(None);
        let outcome = Outcome {
            handled: &handled,
            failed: BTreeMap::new(),
        };
        let texts = [text(&outcome, "1").unwrap(), text(&progress, "1").unwrap()];
        let annotations = [place::Entry::Handled, place::Entry::Progress]
            .map(|entry| place.annotation(entry))
            .into_iter()
            .zip(texts.iter().map(String::as_str))
            .collect::<Vec<_>>();
        let record = Record::of(&object("1", &annotations), &place).unwrap();
        assert_eq!(record.progress, Some(progress));
        assert_eq!(record.handled, Some(handled));
        assert!(record.problems.is_empty() && record.is_known);
        let copy = Record::of(&object("2", &annotations), &place).unwrap();
        assert_eq!(copy, Record::default());
    }

    #[test]
    fn a_damaged_annotation_is_reported_and_one_of_another_controller_is_not_read() {
        let place = place(Some("volumes"));
        let name = place.annotation(place::Entry::Handled);
        for (handled, expected) in [
            ("", "EOF"),
            ("[]", "invalid length"),
            (r#"{"format":2,"essence":{}}"#, "its format is 2"),
            (r#"{"format":1}"#, "data did not match"),
        ] {
            let record = Record::of(&object("1", &[(name.clone(), handled)]), &place).unwrap();
            assert!(
                record.problems[0].contains(expected),
                "{:?}",
                record.problems
            );
            assert!(record.problems[0].contains("the annotation shop/volumes.handled"));
            assert!(record.is_known && record.handled.is_none());
        }
        let other = object("1", &[("shop/handled".into(), "damaged")]);
        assert_eq!(Record::of(&other, &place).unwrap(), Record::default());
    }
}
