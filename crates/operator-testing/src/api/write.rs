//! Creating and updating: the way of an object from a decoded body to the store.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use super::admit::{check_given_version, check_number, check_place, check_version, immutable};
use super::apply::{Managers, Operation};
use super::builtin::has_generation;
use super::decode::Lost;
use super::kind::Kind;
use super::metadata::{self, finalizers, is_deleting, is_out_of_time, name, text};
use super::status::{Failure, Result};
use super::store::Key;
use super::strategy::{creates, desired, keeps_status, restrict};
use super::tracking::{is_reset, without_managers};
use super::{Reply, Request, State, decode, defaults, go, json};

/// So many names are generated before one that is taken is refused.
const ATTEMPTS: usize = 8;

/// An object about to be stored, with its field managers.
pub(crate) struct Draft {
    pub object: Value,
    pub managers: Managers,
    pub lost: Lost,
}

impl State {
    /// `POST`.
    pub(crate) fn create(&mut self, request: &Request<'_>) -> Result<Reply> {
        let kind = request.kind;
        let mut object = request.call.object(request.kind)?;
        self.check_definition(kind, name(&object))?;
        decode::identify(kind, &mut object)?;
        let lost = request.settle(&mut object)?;
        check_place(request, &mut object)?;
        if name(&object).is_empty() {
            let prefix = text(&object, "generateName").to_owned();
            if !prefix.is_empty() {
                let mut names = (0..ATTEMPTS).map(|_| metadata::generated(&prefix));
                let is_free = |name: &String| self.store.find(&request.key(name)).is_none();
                let name = names.find(is_free);
                let name = name.unwrap_or_else(|| metadata::generated(&prefix));
                metadata::set(&mut object, "name", name);
            }
        }
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
            metadata::set(&mut object, field, Value::Null);
        }
        let writer = request.writer(Operation::Update);
        let given = Managers::read(&object["metadata"]["managedFields"]).unwrap_or_default();
        let managers = writer
            .update(&request.blank(), &without_managers(&object), &given)
            .unwrap_or_default();
        let draft = Draft {
            object,
            managers,
            lost,
        };
        self.admit_new(request, draft)
    }

    /// Stores a new object.
    pub(crate) fn admit_new(&mut self, request: &Request<'_>, draft: Draft) -> Result<Reply> {
        let kind = request.kind;
        let Draft {
            mut object,
            managers,
            mut lost,
        } = draft;
        metadata::set(&mut object, "selfLink", Value::Null);
        self.check_escalation(request, None, &object)?;
        let name = name(&object).to_owned();
        let key = request.key(&name);
        self.check_namespace(kind, &key)?;
        let meta = &mut object;
        metadata::set(meta, "uid", metadata::uid());
        metadata::set(meta, "creationTimestamp", metadata::now());
        if has_generation(kind) {
            metadata::set(meta, "generation", 1);
        }
        metadata::set(meta, "managedFields", managers.write_or_null());
        if kind.has_status()
            && !keeps_status(kind)
            && let Some(fields) = object.as_object_mut()
        {
            fields.shift_remove("status");
            if let Some(status) = request.blank().get("status") {
                fields.insert("status".into(), status.clone());
            }
        }
        without_empty_rules(kind, &mut object);
        self.before_create(request, &mut object)?;
        if kind.is("batch", "jobs") {
            share_labels(request, &mut object);
        }
        let whole = decode::as_validated(kind, &object, lost.sent.as_ref());
        self.check(kind, &whole)?;
        self.check_owners(request, None, &object)?;
        let warnings = metadata::warnings(kind, None, &object);
        warnings.iter().for_each(|text| request.call.warn(text));
        self.check_pod_security(request, None, &object)?;
        self.check_default_class(kind, true, &object)?;
        let version = go::parse_uint(text(&object, "resourceVersion"));
        if version.is_ok_and(|version| version != 0) && !request.call.is_dry_run() {
            return Err(Failure::internal(
                "resourceVersion should not be set on objects to be created",
            ));
        }
        if !request.call.is_dry_run() {
            metadata::set(&mut object, "resourceVersion", Value::Null);
        }
        // A dry run takes what it cannot read for absent.
        let is_seen =
            |live: &Arc<Value>| !request.call.is_dry_run() || kind.check_stored(live).is_ok();
        if let Some(live) = self.store.find(&key).filter(is_seen) {
            let start = text(&object, "generateName");
            return Err(match is_deleting(&live) {
                true => Failure::still_exists(kind, &name, start),
                false => Failure::already_exists(kind, &name, start),
            });
        }
        // What it is stored with first has another form.
        lost.is_untidy |= kind.is("", "persistentvolumeclaims");
        let object = self.keep(request, key, object, lost)?;
        Ok(Reply::created(object))
    }

    /// `PUT`.
    pub(crate) fn replace(&mut self, request: &Request<'_>) -> Result<Reply> {
        let kind = request.kind;
        let mut object = request.call.object(request.kind)?;
        decode::identify(kind, &mut object)?;
        let lost = request.settle(&mut object)?;
        check_place(request, &mut object)?;
        match name(&object) {
            "" => {
                return Err(Failure::nameless(&request.path.name));
            }
            found if found != request.path.name => {
                return Err(Failure::bad_request(format!(
                    "the name of the object ({found}) does not match the name on the URL ({})",
                    request.path.name
                )));
            }
            _ => {}
        }
        let Some(live) = self.live(request)? else {
            if creates(kind, request.path.subresource.as_deref()) {
                check_identity(request, &object, "")?;
                check_number(&object)?;
                let version = object["metadata"]["resourceVersion"].take();
                let writer = request.writer(Operation::Update);
                let managers = writer
                    .update(&request.blank(), &object, &Managers::default())
                    .unwrap_or_default();
                let draft = Draft {
                    object,
                    managers,
                    lost,
                };
                let mut reply = self.admit_new(request, draft)?;
                if let (true, Reply::Object { object, .. }) =
                    (request.call.is_dry_run(), &mut reply)
                {
                    metadata::set(object, "resourceVersion", version);
                }
                return Ok(reply);
            }
            return Err(Failure::not_found(kind, &request.path.name));
        };
        check_identity(request, &object, text(&live, "uid"))?;
        check_given_version(kind, &object)?;
        self.update(request, live, object, lost)
    }

    /// Goes from the live object to the new one on behalf of an updater.
    pub(crate) fn update(
        &mut self,
        request: &Request<'_>,
        live: Value,
        object: Value,
        lost: Lost,
    ) -> Result<Reply> {
        let sent = &object["metadata"]["managedFields"];
        let is_whole = request.path.subresource.is_none();
        let before = match Managers::read(sent) {
            Some(sent) if is_whole && !sent.0.is_empty() => sent,
            _ if is_whole && is_reset(request.kind, sent) => Managers::default(),
            _ => Managers::read(&live["metadata"]["managedFields"]).unwrap_or_default(),
        };
        let writer = request.writer(Operation::Update);
        let (bare_live, bare) = (without_managers(&live), without_managers(&object));
        // What nobody owns stays so until the first apply.
        let managers = match before.0.is_empty() {
            true => before,
            // What does not fit the schemas of its versions ends all tracking.
            false => writer
                .update(&bare_live, &bare, &before)
                .unwrap_or_default(),
        };
        let draft = Draft {
            object,
            managers,
            lost,
        };
        self.admit_changed(request, live, draft)
    }

    /// Stores a changed object.
    pub(crate) fn admit_changed(
        &mut self,
        request: &Request<'_>,
        live: Value,
        draft: Draft,
    ) -> Result<Reply> {
        let kind = request.kind;
        let Draft {
            mut object,
            managers,
            mut lost,
        } = draft;
        metadata::set(&mut object, "selfLink", Value::Null);
        self.check_escalation(request, Some(&live), &object)?;
        check_version(kind, &live, &object)?;
        restrict(
            kind,
            request.path.subresource.as_deref(),
            &live,
            &mut object,
        );
        let has_empty_rules = without_empty_rules(kind, &mut object);
        let causes = immutable(&live, &object);
        for field in [
            "uid",
            "creationTimestamp",
            "generation",
            "resourceVersion",
            "namespace",
            "name",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
        ] {
            metadata::set(&mut object, field, live["metadata"][field].clone());
        }
        let subresource = request.path.subresource.as_deref();
        self.before_update(kind, subresource, &live, &mut object)?;
        let is_status = subresource == Some("status");
        let counted = match kind.custom {
            // To the real server a number with a point is another until it is stored.
            Some(_) => decode::as_validated(kind, &object, lost.sent.as_ref()),
            None => Cow::Borrowed(&object),
        };
        if has_generation(kind) && !is_status && desired(kind, &live) != desired(kind, &counted) {
            let generation = live["metadata"]["generation"].as_i64().unwrap_or_default() + 1;
            metadata::set(&mut object, "generation", generation);
        }
        let mut managers = managers;
        let before = Managers::read(&live["metadata"]["managedFields"]).unwrap_or_default();
        if without_managers(&live) == without_managers(&object) && managers.is_same(&before) {
            managers = before;
        }
        metadata::set(&mut object, "managedFields", managers.write_or_null());
        if let Some(Value::Object(sent)) = &mut lost.sent {
            // The rest is that of the live object.
            sent.retain(|name, _| match subresource {
                Some("status") => matches!(name.as_str(), "metadata" | "status"),
                _ => name != "status" || !kind.has_status(),
            });
        }
        let whole = decode::as_validated(kind, &object, lost.sent.as_ref());
        self.check_changed(kind, subresource, &live, &whole, causes)?;
        self.check_owners(request, Some(&live), &object)?;
        let warnings = metadata::warnings(kind, Some(&live), &object);
        warnings.iter().for_each(|text| request.call.warn(text));
        self.check_pod_security(request, Some(&live), &object)?;
        self.check_default_class(kind, false, &object)?;
        let key = request.key(name(&live));
        if is_out_of_time(&live) && finalizers(&object).is_empty() && !self.holds(kind, &object) {
            if !request.call.is_dry_run() {
                self.remove(&key);
            }
            if has_empty_rules {
                // What is not stored is answered as it came.
                object["rules"] = json!([]);
            }
            return Ok(Reply::ok(object));
        }
        if object == live && !self.is_read_otherwise(kind, &key, &lost) {
            return Ok(Reply::ok(object));
        }
        let object = self.keep(request, key, object, lost)?;
        Ok(Reply::ok(object))
    }

    fn keep(
        &mut self,
        request: &Request<'_>,
        key: Key,
        mut object: Value,
        lost: Lost,
    ) -> Result<Value> {
        if request.call.is_dry_run() {
            return Ok(request.kind.through_storage(object));
        }
        let is_untidy = lost.is_untidy || request.tidy(&mut object);
        let stored = self.put(key.clone(), request.kind.to_storage(object))?;
        if is_untidy {
            self.untidy.insert(key);
        }
        Ok(request.kind.present(&stored))
    }

    /// Whether an object is stored otherwise than it is read, so that any update stores it anew: a job without the labels of its
    /// template, and what is untidy.
    fn is_read_otherwise(&self, kind: &Kind, key: &Key, lost: &Lost) -> bool {
        let stored = self.store.find(key);
        let is_job = kind.is("batch", "jobs");
        self.untidy.contains(key)
            || lost.is_untidy
            || is_job && stored.is_some_and(|stored| stored["metadata"]["labels"].is_null())
    }
}

/// To the real server, the labels of a job that is given none are those of its template.
fn share_labels(request: &Request<'_>, job: &mut Value) {
    // An apply may be in YAML.
    let body = &request.call.body;
    let sent = serde_json::from_slice(body).or_else(|_| json::yaml(body));
    let sent: Value = sent.unwrap_or_default();
    let labels = sent["metadata"]["labels"].as_object();
    let is_bare = labels.is_none_or(|labels| labels.is_empty());
    if is_bare && job["metadata"]["labels"].is_object() {
        job["metadata"]["labels"] = job["spec"]["template"]["metadata"]["labels"].clone();
    }
    if request.call.is_dry_run() {
        defaults::label_job(job);
    }
}

/// The store knows no empty lists, which only roles are read with. Whether there was one.
fn without_empty_rules(kind: &Kind, object: &mut Value) -> bool {
    let is_empty = kind.group == "rbac.authorization.k8s.io" && object["rules"] == json!([]);
    if is_empty {
        object["rules"] = Value::Null;
    }
    is_empty
}

/// A uid that is sent is that of the live object.
pub(crate) fn check_identity(request: &Request<'_>, object: &Value, live: &str) -> Result<()> {
    let uid = text(object, "uid");
    if uid.is_empty() || uid == live {
        return Ok(());
    }
    let name = &request.path.name;
    let key = request.key(name).in_etcd(request.kind);
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {live}",
        match request.call.is_dry_run() {
            true => key.trim_start_matches("/registry"),
            false => &key,
        },
    );
    Err(Failure::conflict(request.kind, name, &why))
}
