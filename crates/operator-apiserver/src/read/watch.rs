//! [Watches]: changes after a version, as a stream of lines.
//!
//! [Watches]: https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::reply::Reply;
use super::version::{parse_version, too_large};
use crate::model::{Failure, Kind, Result, metadata};
use crate::request::selector::Selector;
use crate::request::{Request, options};
use crate::store::objects::Change;
use crate::store::stored::{self, check_collection};
use crate::store::{Conversions, Event, State};

/// The parameters of a watch, before its stream starts.
pub(crate) struct Subscription {
    kind: Arc<Kind>,
    namespace: String,
    selector: Selector,
    /// The last version that the client has received.
    pub version: u64,
    /// The first lines of the stream.
    pub first: Vec<Value>,
    /// Whether the stream ends after these lines.
    pub is_refused: bool,
    pub bookmarks: bool,
    pub timeout: Duration,
}

/// The timeout in seconds, if the query has none. The real server chooses a random time between 30 and 60 minutes.
const DEFAULT_TIMEOUT: u64 = 1800;

pub(crate) fn watch(state: &State, request: &Request<'_>) -> Result<Reply> {
    let (kind, call) = (request.kind, request.call);
    let selector = Selector::read(call, kind)?;
    let Some(kind) = state
        .registry
        .kind(&kind.group, &kind.version, &kind.plural)
    else {
        return Err(Failure::no_such_path());
    };
    check_collection(&state.store, &kind)?;
    let newest = state.store.version();
    let timeout = match call.param("timeoutSeconds").parse::<i64>() {
        Ok(0) | Err(_) => DEFAULT_TIMEOUT,
        // a negative timeout ends the watch at once
        Ok(seconds) => u32::try_from(seconds.max(0)).unwrap_or(u32::MAX).into(),
    };
    let mut subscription = Subscription {
        kind,
        namespace: request.path.namespace.clone(),
        selector,
        version: newest,
        first: Vec::new(),
        is_refused: false,
        bookmarks: call.flag("allowWatchBookmarks"),
        timeout: Duration::from_secs(timeout),
    };
    let from = match call.param("resourceVersion") {
        "" => 0,
        text => parse_version(text).map_err(Failure::without_reason)?,
    };
    let has_initial = call.flag("sendInitialEvents") || options::is_from_beginning(call);
    if has_initial && timeout == 0 {
        subscription.is_refused = true;
    } else if has_initial && from > newest {
        subscription.first = vec![too_large(from, newest).to_event()];
        subscription.is_refused = true;
    } else if has_initial {
        subscription.first = present_all(state, &subscription)?;
        if subscription.bookmarks {
            let annotations = json!({"k8s.io/initial-events-end": "true"});
            subscription
                .first
                .push(subscription.bookmark(newest, Some(annotations)));
        }
    } else if from > 0 {
        subscription.version = from;
    }
    Ok(Reply::Watch(Box::new(subscription)))
}

/// The objects that exist when a watch starts, as its first events.
fn present_all(state: &State, subscription: &Subscription) -> Result<Vec<Value>> {
    let kind = &subscription.kind;
    let namespace = &subscription.namespace;
    let objects = state.store.of_kind(kind.stored_resource(), namespace);
    let objects = objects.map(|(_, stored)| stored::present(&state.conversions, kind, stored));
    let objects = all(objects)?.into_iter();
    Ok(objects
        .filter(|object| subscription.selector.matches(object))
        .map(|object| json!({"type": "ADDED", "object": object}))
        .collect())
}

/// The events that the watch has not sent yet, and whether it may continue; it ends if its kind is removed or registered again. Fails if
/// an object cannot be converted.
pub(crate) fn pending_events(
    state: &State,
    subscription: &Subscription,
) -> Result<(Vec<Value>, bool)> {
    let custom = subscription.kind.custom.as_ref();
    let since = custom.map_or(0, |custom| custom.crd.since);
    let oldest = state.store.horizon().max(since);
    if subscription.version < oldest {
        let seen = subscription.version;
        let failure = Failure::expired(format!("too old resource version: {seen} ({oldest})"));
        return Ok((vec![failure.to_event()], false));
    }
    let events = state.store.since(subscription.version);
    let lines = all(events.map(|event| line(&state.conversions, subscription, event)))?;
    let lines = lines.into_iter().flatten().collect();
    let seen = &subscription.kind;
    let served = state
        .registry
        .kind(&seen.group, &seen.version, &seen.plural);
    Ok((lines, served.is_some_and(|kind| kind.is_same_crd(seen))))
}

/// The event for this watch: an object that no longer matches the selection is reported as deleted, one that now matches as added.
fn line(
    conversions: &Conversions,
    subscription: &Subscription,
    event: &Event,
) -> Result<Option<Value>> {
    let (kind, key) = (&subscription.kind, &event.key);
    let is_meant = key.is(kind.stored_resource())
        && (subscription.namespace.is_empty() || key.namespace == subscription.namespace);
    if !is_meant {
        return Ok(None);
    }
    let previous = event
        .previous
        .as_ref()
        .map(|old| stored::present(conversions, kind, old))
        .transpose();
    let object = stored::present(conversions, kind, &event.object)?;
    let selected = |object: &Value| subscription.selector.matches(object);
    let previous = previous?.filter(selected);
    let is = event.change != Change::Deleted && selected(&object);
    let (type_, object) = match (previous, is) {
        (None, true) => ("ADDED", object),
        (Some(_), true) => ("MODIFIED", object),
        (Some(mut last), false) => {
            metadata::set(&mut last, "resourceVersion", event.version.to_string());
            ("DELETED", last)
        }
        (None, false) => return Ok(None),
    };
    Ok(Some(json!({"type": type_, "object": object})))
}

/// Collects the results, or the first failure. All results are computed before, so that all missing conversions are known.
fn all<T>(results: impl Iterator<Item = Result<T>>) -> Result<Vec<T>> {
    let results: Vec<Result<T>> = results.collect();
    results.into_iter().collect()
}

impl Subscription {
    pub fn bookmark(&self, version: u64, annotations: Option<Value>) -> Value {
        let mut metadata = json!({"resourceVersion": version.to_string()});
        if let Some(annotations) = annotations {
            metadata["annotations"] = annotations;
        }
        json!({
            "type": "BOOKMARK",
            "object": {
                "kind": self.kind.kind,
                "apiVersion": self.kind.api_version(),
                "metadata": metadata,
            },
        })
    }
}
