//! The last stage of a write: stores the object, unless it exists already, or nothing has changed.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Base, Checked};
use crate::api::decode::Lost;
use crate::api::go;
use crate::api::model::failure::{Failure, Result};
use crate::api::model::key::Key;
use crate::api::model::kind::Kind;
use crate::api::model::metadata::{self, finalizers, is_deleting, is_out_of_time, name, text};
use crate::api::read::reply::Reply;
use crate::api::request::resource::Request;
use crate::api::store::state::State;

impl State {
    /// Checks that the live object has not changed since the draft. A dry run checks only once, and a `POST` not at all.
    pub(crate) fn is_current(&self, request: &Request<'_>, checked: &Checked) -> bool {
        let version = |object: &Value| text(object, "resourceVersion").to_owned();
        let stored = || self.store.find(&checked.key);
        request.call.is_dry_run()
            || match &checked.base {
                Base::New => true,
                Base::Absent { .. } => stored().is_none(),
                Base::Live(live) => stored().is_some_and(|it| version(&it) == version(live)),
            }
    }

    pub(crate) fn commit(&mut self, request: &Request<'_>, checked: Checked) -> Result<Reply> {
        match checked.base {
            Base::Live(_) => Ok(self.commit_update(request, checked)),
            Base::New | Base::Absent { .. } => self.commit_new(request, checked),
        }
    }

    fn commit_new(&mut self, request: &Request<'_>, checked: Checked) -> Result<Reply> {
        let kind = request.kind;
        let Checked {
            key,
            base,
            mut object,
            lost,
            ..
        } = checked;
        let version = go::parse_uint(text(&object, "resourceVersion"));
        if version.is_ok_and(|version| version != 0) && !request.call.is_dry_run() {
            return Err(Failure::internal(
                "resourceVersion should not be set on objects to be created",
            ));
        }
        if !request.call.is_dry_run() {
            metadata::set(&mut object, "resourceVersion", Value::Null);
        }
        // In a dry run, an unreadable object counts as absent.
        let is_seen =
            |live: &Arc<Value>| !request.call.is_dry_run() || kind.check_stored(live).is_ok();
        if let Some(live) = self.store.find(&key).filter(is_seen) {
            let (name, start) = (name(&object), text(&object, "generateName"));
            return Err(match is_deleting(&live) {
                true => Failure::still_exists(kind, name, start),
                false => Failure::already_exists(kind, name, start),
            });
        }
        let mut object = self.keep(request, key, object, lost);
        if let (true, Base::Absent { sent_version }) = (request.call.is_dry_run(), base) {
            metadata::set(&mut object, "resourceVersion", sent_version);
        }
        Ok(Reply::created(object))
    }

    fn commit_update(&mut self, request: &Request<'_>, checked: Checked) -> Reply {
        let kind = request.kind;
        let Checked {
            key,
            base,
            mut object,
            lost,
            has_empty_rules,
        } = checked;
        let live = base.live().unwrap_or(&Value::Null);
        if is_out_of_time(live) && finalizers(&object).is_empty() && !self.holds(kind, &object) {
            if !request.call.is_dry_run() {
                self.remove(&key);
            }
            if has_empty_rules {
                // If nothing is stored, the response contains the object as it was sent.
                object["rules"] = json!([]);
            }
            return Reply::ok(object);
        }
        if object == *live && !self.is_read_otherwise(kind, &key, &lost) {
            return Reply::ok(object);
        }
        let object = self.keep(request, key, object, lost);
        Reply::ok(object)
    }

    fn keep(&mut self, request: &Request<'_>, key: Key, mut object: Value, lost: Lost) -> Value {
        if request.call.is_dry_run() {
            return request.kind.through_storage(object);
        }
        let is_untidy = lost.is_untidy || request.tidy(&mut object);
        let stored = self.put(key.clone(), request.kind.to_storage(object));
        if is_untidy {
            self.untidy.insert(key);
        }
        request.kind.present(&stored)
    }

    /// Whether an object is stored in a different form than it is read, so that any update stores it again: a Job without the labels of its
    /// template, or an object with fields that reading drops.
    fn is_read_otherwise(&self, kind: &Kind, key: &Key, lost: &Lost) -> bool {
        let stored = self.store.find(key);
        let is_job = kind.is("batch", "jobs");
        self.untidy.contains(key)
            || lost.is_untidy
            || is_job && stored.is_some_and(|stored| stored["metadata"]["labels"].is_null())
    }
}
