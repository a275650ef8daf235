//! Events, which `kubectl describe` shows with the object.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use k8s_openapi::api::core::v1::ObjectReference;
use kube::{
    Resource,
    runtime::events::{Event, EventType, Recorder},
};
use tokio::time::Instant;
use tracing::warn;

use super::{Context, Controlling};
use crate::error::client_message;

/// The API server refuses longer ones.
const LONGEST_NOTE: usize = 1024;

impl Context {
    /// Tells something about `object` in an [event](https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/).
    ///
    /// `reason` is one word in CamelCase. The same event again is counted up in place. That an event
    /// cannot be written is logged, and no error.
    pub async fn event<K>(
        &self,
        object: &K,
        type_: EventType,
        reason: &str,
        note: impl Into<String>,
    ) where
        K: Resource<DynamicType = ()>,
    {
        self.controller
            .event(&object.object_ref(&()), type_, reason, note.into())
            .await;
    }
}

/// Recorders of the events of late. Kube's counts an event up whatever its note says, so each note has its own.
pub(crate) type Recorders = Mutex<HashMap<u64, (Instant, Recorder)>>;

/// As long as kube's recorder remembers an event.
const REMEMBERED: Duration = Duration::from_secs(6 * 60);

impl Controlling {
    pub async fn event(
        &self,
        object: &ObjectReference,
        type_: EventType,
        reason: &str,
        note: String,
    ) {
        let recorder = self.recorder(object, reason, &note);
        let event = Event {
            type_,
            reason: reason.into(),
            note: Some(shortened(note)),
            action: "Reconcile".into(),
            secondary: None,
        };
        if let Err(error) = recorder.publish(&event, object).await {
            warn!(reason, "event not written: {}", client_message(&error));
        }
    }

    fn recorder(&self, object: &ObjectReference, reason: &str, note: &str) -> Recorder {
        let mut hasher = DefaultHasher::new();
        (&object.uid, reason, note).hash(&mut hasher);
        let mut recorders = self
            .recorders
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        recorders.retain(|_, (used, _)| used.elapsed() < REMEMBERED);
        let new = || {
            (
                Instant::now(),
                Recorder::new(self.client.clone(), self.reporter.clone()),
            )
        };
        let (used, recorder) = recorders.entry(hasher.finish()).or_insert_with(new);
        *used = Instant::now();
        recorder.clone()
    }
}

fn shortened(mut note: String) -> String {
    if note.len() > LONGEST_NOTE {
        let mut end = LONGEST_NOTE - 3;
        while !note.is_char_boundary(end) {
            end -= 1;
        }
        note.truncate(end);
        note.push_str("...");
    }
    note
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_note_is_cut_between_characters() {
        let cut = shortened("\u{e9}".repeat(1000));
        assert!(cut.len() <= LONGEST_NOTE && cut.ends_with("\u{e9}..."));
        assert_eq!(shortened("short".into()), "short");
    }
}
