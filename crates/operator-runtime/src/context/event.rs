//! Kubernetes events, which `kubectl describe` shows with the object.

use k8s_openapi::{
    api::{
        core::v1::ObjectReference,
        events::v1::{Event, EventSeries},
    },
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
    jiff::Timestamp,
};
use kube::{
    Api, Resource,
    api::{Patch, PatchParams, PostParams},
    runtime::events::EventType,
};
use serde_json::json;
use tokio::time::Instant;
use tracing::{debug, warn};

use super::{
    Context, ControllerContext,
    history::{EventAction, Key},
};
use crate::error::{client_message, is_gone};

/// The API server rejects longer notes.
const LONGEST_NOTE: usize = 1024;

/// The namespace for events about cluster-scoped objects.
const NAMESPACE_OF_CLUSTER_EVENTS: &str = "default";

impl Context {
    /// Reports something about `object` in an [event](https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/).
    ///
    /// `reason` is one word in CamelCase. A repeated event is counted in place, and its count is written at most every 30 seconds. An event
    /// that cannot be written is logged and is not an error.
    ///
    /// ```
    /// # use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
    /// # use operator_runtime::{Context, EventType, Result};
    /// # async fn example(deployment: &Deployment, cx: &Context) -> Result<()> {
    /// cx.event(deployment, EventType::Normal, "Scaled", "scaled to 3 replicas").await;
    /// # Ok(()) }
    /// ```
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

impl Context {
    /// Like [`event`](Self::event), for messages that may vary.
    pub(crate) async fn limited_event<K: Resource<DynamicType = ()>>(
        &self,
        object: &K,
        type_: EventType,
        reason: &str,
        note: String,
    ) {
        let object = object.object_ref(&());
        let events = self.controller.limited_event(&object, type_, reason, note);
        events.await;
    }
}

/// The reporting controller of an event.
pub(crate) struct Reporter {
    pub controller: String,
    pub instance: String,
}

impl ControllerContext {
    pub async fn event(
        &self,
        object: &ObjectReference,
        type_: EventType,
        reason: &str,
        note: String,
    ) {
        let key = Key::of(object, type_, reason, &note);
        self.write_event(key, object, type_, reason, note).await;
    }

    /// Like [`event`](Self::event), for messages that may vary: limited per object to a burst, and then one a minute.
    pub async fn limited_event(
        &self,
        object: &ObjectReference,
        type_: EventType,
        reason: &str,
        note: String,
    ) {
        let key = Key::of(object, type_, reason, &note);
        if self.event_history().allows(&key, Instant::now()) {
            self.write_event(key, object, type_, reason, note).await;
        } else {
            debug!(
                reason,
                "event dropped, because there were too many about the object"
            );
        }
    }

    /// Creates the event, or writes its new count, as the history decides. Logs a failure.
    async fn write_event(
        &self,
        key: Key,
        object: &ObjectReference,
        type_: EventType,
        reason: &str,
        note: String,
    ) {
        let namespace = object.namespace.as_deref();
        let events: Api<Event> = Api::namespaced(
            self.client.clone(),
            namespace.unwrap_or(NAMESPACE_OF_CLUSTER_EVENTS),
        );
        let next = self.event_history().next(&key, Instant::now());
        // `Err(None)` means that the event must be created
        let written = match next {
            EventAction::Skip => return,
            EventAction::UpdateCount { name, count } => {
                let series = EventSeries {
                    count,
                    last_observed_time: MicroTime(Timestamp::now()),
                };
                let patch = Patch::Merge(json!({ "series": series }));
                let parameters = PatchParams {
                    field_manager: Some(self.manager.clone()),
                    ..PatchParams::default()
                };
                let patched = events.patch(&name, &parameters, &patch).await;
                match patched {
                    // it has expired: the API server keeps events for an hour by default
                    Err(error) if is_gone(&error) => Err(None),
                    Err(error) => Err(Some(error)),
                    Ok(_) => Ok(None),
                }
            }
            EventAction::Create => Err(None),
        };
        let written = match written {
            Err(None) => {
                let event = self.new_event(object, type_, reason, note);
                let parameters = PostParams {
                    field_manager: Some(self.manager.clone()),
                    ..PostParams::default()
                };
                let created = events.create(&parameters, &event).await;
                created.map(|event| event.metadata.name).map_err(Some)
            }
            other => other,
        };
        match written {
            Ok(Some(name)) => self.event_history().created(key, name, Instant::now()),
            Ok(None) => {}
            Err(error) => {
                let error = error.as_ref().map(client_message);
                warn!(reason, "event not written: {}", error.unwrap_or_default());
            }
        }
    }

    fn new_event(
        &self,
        object: &ObjectReference,
        type_: EventType,
        reason: &str,
        note: String,
    ) -> Event {
        let now = Timestamp::now();
        let about = object.name.as_deref().unwrap_or(&self.identity.operator);
        Event {
            metadata: ObjectMeta {
                namespace: object.namespace.clone(),
                name: Some(event_name(about, now)),
                ..ObjectMeta::default()
            },
            action: Some("Reconcile".into()),
            event_time: Some(MicroTime(now)),
            note: Some(shortened(note, LONGEST_NOTE)),
            reason: Some(reason.into()),
            regarding: Some(object.clone()),
            reporting_controller: Some(self.reporter.controller.clone()),
            reporting_instance: Some(self.reporter.instance.clone()),
            type_: Some(
                match type_ {
                    EventType::Normal => "Normal",
                    EventType::Warning => "Warning",
                }
                .into(),
            ),
            ..Event::default()
        }
    }
}

/// Names an event as client-go does: after the object and the time.
fn event_name(about: &str, now: Timestamp) -> String {
    const LONGEST_NAME: usize = 253;
    let end = format!(".{:x}", now.as_nanosecond());
    let start: String = about.chars().take(LONGEST_NAME - end.len()).collect();
    // a part of a name before a dot must not be empty or end in `-`
    format!("{}{end}", start.trim_end_matches(['.', '-']))
}

fn shortened(mut note: String, longest: usize) -> String {
    if note.len() > longest {
        let mut end = longest - 3;
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
        let cut = shortened("\u{e9}".repeat(1000), LONGEST_NOTE);
        assert!(cut.len() <= LONGEST_NOTE && cut.ends_with("\u{e9}..."));
        assert_eq!(shortened("short".into(), LONGEST_NOTE), "short");
    }

    #[test]
    fn the_name_of_an_event_is_not_too_long() {
        let name = event_name(&"a".repeat(253), Timestamp::now());
        assert_eq!(name.len(), 253);
        assert!(event_name("web", Timestamp::now()).starts_with("web."));
    }
}
