//! The last stage of a write: stores the object, unless it exists already, or nothing has changed.

use std::sync::Arc;

use serde_json::{Value, json};

use super::delete::holds;
use super::normalize::drop_applied_nulls;
use super::{Base, Checked};
use crate::decode::DroppedFields;
use crate::go;
use crate::kinds::resource::JOBS;
use crate::model::metadata::{self, finalizers, is_deleting, is_out_of_time, name, text};
use crate::model::{Failure, Key, Kind, Result};
use crate::read::Reply;
use crate::request::Request;
use crate::store::conversion::unanswered;
use crate::store::stored::{self, check_stored, to_storage};
use crate::store::{State, Store};

/// An object to be stored.
struct Form {
    stored: Value,
    /// The stored object in the version of the request.
    shown: Value,
    /// Whether the stored form has fields that reading drops.
    stores_unknown_fields: bool,
}

/// Checks that the live object has not changed since the draft. A dry run checks only once, and a `POST` not at all.
pub(crate) fn is_current(store: &Store, request: &Request<'_>, checked: &Checked) -> bool {
    let version = |object: &Value| text(object, "resourceVersion").to_owned();
    let stored = || store.find(&checked.key);
    request.call.is_dry_run()
        || match &checked.base {
            Base::New => true,
            Base::Absent { .. } => stored().is_none(),
            Base::Live(live) => stored().is_some_and(|it| version(&it) == version(live)),
        }
}

/// Runs the last stage.
pub(crate) fn commit(state: &mut State, request: &Request<'_>, checked: Checked) -> Result<Reply> {
    if state.conversions.is_waiting() {
        // an object has still to be converted for its field managers
        return Err(unanswered());
    }
    match checked.base {
        Base::Live(_) => commit_update(state, request, checked),
        Base::New | Base::Absent { .. } => commit_new(state, request, checked),
    }
}

/// Stores a new object, unless one with its name exists.
fn commit_new(state: &mut State, request: &Request<'_>, checked: Checked) -> Result<Reply> {
    let kind = request.kind;
    let Checked {
        key,
        base,
        mut object,
        dropped,
        ..
    } = checked;
    let version = go::parse_uint(text(&object, "resourceVersion"));
    if version.is_ok_and(|version| version != 0) && !request.call.is_dry_run() {
        return Err(Failure::without_reason(
            "resourceVersion should not be set on objects to be created",
        ));
    }
    if !request.call.is_dry_run() {
        metadata::set(&mut object, "resourceVersion", Value::Null);
    }
    let form = stored_form(state, request, object)?;
    let object = &form.shown;
    // In a dry run, an unreadable object counts as absent.
    let is_seen =
        |live: &Arc<Value>| !request.call.is_dry_run() || check_stored(kind, live).is_ok();
    if let Some(live) = state.store.find(&key).filter(is_seen) {
        let (name, generate_name) = (name(object), text(object, "generateName"));
        return Err(if is_deleting(&live) {
            Failure::still_exists(kind, name, generate_name)
        } else {
            Failure::already_exists(kind, name, generate_name)
        });
    }
    let mut object = store_form(state, request, key, form, dropped);
    if let (true, Base::Absent { sent_version }) = (request.call.is_dry_run(), base) {
        metadata::set(&mut object, "resourceVersion", sent_version);
    }
    Ok(Reply::created(object))
}

/// Stores a changed object. Removes it if this update removed the last finalizer that kept it.
fn commit_update(state: &mut State, request: &Request<'_>, checked: Checked) -> Result<Reply> {
    let kind = request.kind;
    let Checked {
        key,
        base,
        mut object,
        dropped,
        has_empty_rules,
    } = checked;
    let live = base.live().unwrap_or(&Value::Null);
    if is_out_of_time(live) && finalizers(&object).is_empty() && !holds(kind, &object) {
        if !request.call.is_dry_run() {
            state.remove(&key);
        }
        if has_empty_rules {
            // If nothing is stored, the response contains the object as it was sent.
            object["rules"] = json!([]);
        }
        return Ok(Reply::ok(object));
    }
    if object == *live && !is_read_otherwise(state, kind, &key, &dropped) {
        return Ok(Reply::ok(object));
    }
    let form = stored_form(state, request, object)?;
    Ok(Reply::ok(store_form(state, request, key, form, dropped)))
}

/// Converts an object to the form that is stored, and back to the version of the request.
fn stored_form(state: &State, request: &Request<'_>, mut object: Value) -> Result<Form> {
    let kind = request.kind;
    let is_dry_run = request.call.is_dry_run();
    let stores_unknown_fields = !is_dry_run && drop_applied_nulls(request, &mut object);
    if is_dry_run && kind.custom.is_none() {
        return Ok(Form {
            stored: Value::Null,
            shown: object,
            stores_unknown_fields,
        });
    }
    let (mut stored, lacks_defaults) = to_storage(&state.conversions, kind, object)?;
    if !is_dry_run {
        let version = state.store.next_version().to_string();
        stored["metadata"]["resourceVersion"] = version.into();
    }
    let shown = stored::present(&state.conversions, kind, &stored)?;
    Ok(Form {
        stored,
        shown,
        stores_unknown_fields: stores_unknown_fields || lacks_defaults && !is_dry_run,
    })
}

/// Stores an object, unless the request is a dry run. Returns it in the version of the request.
fn store_form(
    state: &mut State,
    request: &Request<'_>,
    key: Key,
    form: Form,
    dropped: DroppedFields,
) -> Value {
    if !request.call.is_dry_run() {
        state.put(key.clone(), form.stored);
        if form.stores_unknown_fields || dropped.stores_unknown_fields {
            state.stores_unknown_fields.insert(key);
        }
    }
    form.shown
}

/// Whether an object is stored in a different form than it is read, so that any update stores it again: a Job without the labels of its
/// template, an object with fields that reading drops, or one in a version that is not the storage version any more.
fn is_read_otherwise(state: &State, kind: &Kind, key: &Key, dropped: &DroppedFields) -> bool {
    let stored = state.store.find(key);
    let is_job = kind.is(JOBS);
    let crd = kind.custom.as_ref().map(|custom| &custom.crd);
    let storage = crd.map(|crd| &*crd.storage);
    // the conversion from another version drops the same fields as a read
    let is_converted = crd.is_some_and(|crd| crd.webhook.is_some())
        && storage.is_some_and(|storage| storage != kind.api_version());
    state.stores_unknown_fields.contains(key) && !is_converted
        || dropped.stores_unknown_fields
        || stored.is_some_and(|stored| {
            is_job && stored["metadata"]["labels"].is_null()
                || storage.is_some_and(|storage| stored["apiVersion"] != storage)
        })
}
