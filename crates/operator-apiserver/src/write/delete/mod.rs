//! `DELETE` of one object and of collections: preconditions, propagation, finalizers.

mod option;
mod precondition;

pub(crate) use self::option::{Options, Propagation};

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::kinds::strategy;
use crate::kinds::strategy::Dependents;
use crate::model::metadata::{self, finalizers, is_deleting, name, text};
use crate::model::{Failure, Key, Kind, Result, clock};
use crate::read::Reply;
use crate::read::list::List;
use crate::read::page::{self, Page, Reading};
use crate::request::Request;
use crate::store::stored::{self, check_stored, to_storage};
use crate::store::{State, Store};

pub(crate) const FOREGROUND: &str = "foregroundDeletion";
pub(crate) const ORPHAN: &str = "orphan";

/// The result of a deletion.
pub(crate) struct Deleted {
    pub object: Value,
    pub is_gone: bool,
}

pub(crate) fn delete(state: &mut State, request: &Request<'_>) -> Result<Reply> {
    let (options, _) = Options::read(request)?;
    let key = request.key(&request.path.name);
    let deleted = delete_shown(state, request.kind, &key, &options)?;
    Ok(deletion_reply(request, deleted, &options))
}

pub(crate) fn delete_collection(state: &mut State, request: &Request<'_>) -> Result<Reply> {
    let (options, _) = Options::read(request)?;
    let page = collection(state, request)?;
    for item in &page.items {
        let key = request.key(name(item.object()));
        if state.store.find(&key).is_some() {
            delete_shown(state, request.kind, &key, &options)?;
        }
    }
    Ok(collection_reply(&state.store, request.kind, page))
}

/// The objects that the deletion of a collection selects. The real server also reads them in pages if there is no limit, but always to
/// the last page.
pub(crate) fn collection(state: &State, request: &Request<'_>) -> Result<Page> {
    page::page(state, request, Reading::Paged)
}

/// The response to the deletion of a collection: the objects before they were deleted.
pub(crate) fn collection_reply(store: &Store, kind: &Kind, mut page: Page) -> Reply {
    page.metadata["resourceVersion"] = store.version().to_string().into();
    let list = List::new(kind, page.metadata, page.items);
    Reply::ok(list.into_value())
}

/// The object to delete. Fails if it does not exist, if a precondition does not hold, or if the server never deletes it.
pub(crate) fn deletable(
    store: &Store,
    kind: &Kind,
    key: &Key,
    options: &Options,
) -> Result<Arc<Value>> {
    let Some(live) = store.find(key) else {
        return Err(Failure::not_found(kind, &key.name));
    };
    check_stored(kind, &live)?;
    precondition::check(kind, &live, options)?;
    if strategy(kind).undeletable.contains(&&*key.name) {
        let text = format!(
            "{} {:?} is forbidden: this namespace may not be deleted",
            kind.plural, key.name
        );
        return Err(Failure::forbidden(kind, &key.name, text));
    }
    Ok(live)
}

/// Deletes an object, and returns it in the version of the request. Changes nothing if it cannot be converted.
pub(crate) fn delete_shown(
    state: &mut State,
    kind: &Kind,
    key: &Key,
    options: &Options,
) -> Result<Deleted> {
    let live = deletable(&state.store, kind, key, options)?;
    let mut shown = stored::present(&state.conversions, kind, &live)?;
    let Deleted { object, is_gone } = delete_one(state, kind, key, options)?;
    let is_converted = state.conversions.converter(kind).is_some();
    let object = if is_converted && object["apiVersion"] != shown["apiVersion"] {
        let own = shown["metadata"].take();
        shown["metadata"] = object["metadata"].clone();
        for field in ["labels", "annotations"] {
            metadata::set(&mut shown, field, own[field].clone());
        }
        shown
    } else {
        stored::present(&state.conversions, kind, &object)?
    };
    Ok(Deleted { object, is_gone })
}

/// Removes an object, or marks it as being deleted if something keeps it. Returns the object in its stored form.
pub(crate) fn delete_one(
    state: &mut State,
    kind: &Kind,
    key: &Key,
    options: &Options,
) -> Result<Deleted> {
    let live = deletable(&state.store, kind, key, options)?;
    let mut object = Value::clone(&live);
    let is_chosen = finalizers(&object)
        .iter()
        .any(|name| [FOREGROUND, ORPHAN].contains(name));
    let usual = (options.orphans && !is_chosen).then_some(Propagation::Orphan);
    let own = strategy(kind);
    propagate(
        &mut object,
        match own.dependents {
            Dependents::Unsupported => Some(Propagation::Background),
            _ => options.propagation.or(usual),
        },
    );
    if let Some(terminate) = own.terminate {
        terminate(&mut object);
    }
    let grace = grace(kind, &object, options);
    let is_held = !finalizers(&object).is_empty() || holds(kind, &object);
    if !is_held && grace == 0 {
        if own.has_grace_period {
            mark(&mut object, grace);
            // Watches report that a pod is being deleted before they report its deletion.
            if !options.dry_run && !is_deleting(&live) {
                state.put(key.clone(), object.clone());
            }
        }
        if !options.dry_run
            && let Some(last) = state.remove(key)
        {
            object["metadata"]["resourceVersion"] = last["metadata"]["resourceVersion"].clone();
        }
        return Ok(Deleted {
            object,
            is_gone: true,
        });
    }
    if is_deleting(&object) {
        if own.has_grace_period {
            shorten(&mut object, options.grace);
        }
    } else if own.terminate.is_some() {
        metadata::set(&mut object, "deletionTimestamp", metadata::now());
    } else {
        mark(&mut object, grace);
    }
    if object != *live && !options.dry_run {
        let marked = match state.conversions.converter(kind) {
            // The server's own controllers delete without a conversion.
            Some(_) => object,
            None => {
                let object = stored::present(&state.conversions, kind, &object)?;
                to_storage(&state.conversions, kind, object)?.0
            }
        };
        object = Value::clone(&*state.put(key.clone(), marked));
        state.gc.is_due = true;
    }
    Ok(Deleted {
        object,
        is_gone: false,
    })
}

/// Whether `spec.finalizers` keep an object that is being deleted, as those of a namespace do.
pub(crate) fn holds(kind: &Kind, object: &Value) -> bool {
    strategy(kind).terminate.is_some()
        && object["spec"]["finalizers"]
            .as_array()
            .is_some_and(|list| !list.is_empty())
}

/// The response to the deletion of one object.
pub(crate) fn deletion_reply(request: &Request<'_>, deleted: Deleted, options: &Options) -> Reply {
    let (kind, name) = (request.kind, &request.path.name);
    if !deleted.is_gone && options.refuses_orphans {
        let object = deleted.object;
        return Reply::Object { code: 202, object };
    }
    if !deleted.is_gone || strategy(kind).returns_deleted {
        return Reply::ok(deleted.object);
    }
    let mut details = json!({"name": name});
    if !kind.group.is_empty() {
        details["group"] = kind.group.as_str().into();
    }
    details["kind"] = kind.plural.as_str().into();
    details["uid"] = text(&deleted.object, "uid").into();
    Reply::ok(json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }))
}

/// Marks an object as being deleted after a grace period in seconds.
fn mark(object: &mut Value, grace: i64) {
    if !is_deleting(object)
        && let Some(generation) = object["metadata"]["generation"].as_i64()
    {
        metadata::set(object, "generation", generation + 1);
    }
    metadata::set(object, "deletionTimestamp", metadata::after(grace));
    metadata::set(object, "deletionGracePeriodSeconds", grace);
}

/// Adds a finalizer for the propagation policy, which the garbage collector reads.
fn propagate(object: &mut Value, propagation: Option<Propagation>) {
    let Some(propagation) = propagation else {
        return;
    };
    let chosen = match propagation {
        Propagation::Background => None,
        Propagation::Foreground => Some(FOREGROUND),
        Propagation::Orphan => Some(ORPHAN),
    };
    let has = finalizers(object);
    let is_there = |name: &str| has.contains(&name) == (chosen == Some(name));
    if is_there(FOREGROUND) && is_there(ORPHAN) {
        return;
    }
    let names: Vec<String> = has
        .into_iter()
        .filter(|name| ![FOREGROUND, ORPHAN].contains(name))
        .chain(chosen)
        .map(str::to_owned)
        .collect();
    let value = if names.is_empty() {
        Value::Null
    } else {
        names.into()
    };
    metadata::set(object, "finalizers", value);
}

/// The grace period, which only pods that are assigned to a node have.
fn grace(kind: &Kind, object: &Value, options: &Options) -> i64 {
    let is_running = strategy(kind).has_grace_period
        && object["spec"]["nodeName"]
            .as_str()
            .is_some_and(|node| !node.is_empty())
        && !matches!(
            object["status"]["phase"].as_str(),
            Some("Failed" | "Succeeded")
        );
    if !is_running {
        return 0;
    }
    let own = object["spec"]["terminationGracePeriodSeconds"].as_i64();
    match options.grace.or(own).unwrap_or(30) {
        ..0 => 1,
        seconds => seconds,
    }
}

/// Shortens the grace period of an object that is already being deleted, if the request asks for it.
fn shorten(object: &mut Value, wanted: Option<i64>) {
    let had = object["metadata"]["deletionGracePeriodSeconds"].as_i64();
    let (Some(had), Some(wanted)) = (had, wanted.map(|it| if it < 0 { 1 } else { it })) else {
        return;
    };
    let end = text(object, "deletionTimestamp").parse::<Timestamp>();
    if wanted < had
        && let Ok(end) = end
        && let Ok(end) = Timestamp::from_second(end.as_second() - had + wanted)
    {
        metadata::set(object, "deletionTimestamp", clock::text(end));
        metadata::set(object, "deletionGracePeriodSeconds", wanted);
    }
}
