//! Creating and updating: the way of an object from a decoded body to the store.

use serde_json::{Value, json};

use super::apply::{ManagerId, Managers, Node, Operation, Writer};
use super::builtin::{builtin, has_generation};
use super::kind::Kind;
use super::metadata::{self, finalizers, is_deleting, name, text};
use super::status::{Cause, Failure, Result};
use super::store::Key;
use super::strategy::{creates_on_update, desired, ignored, needs_version, restrict};
use super::{Reply, Request, State, crd, decode, zero};

/// An object about to be stored, with its field managers.
pub(crate) struct Draft {
    pub object: Value,
    pub managers: Managers,
}

impl State {
    /// `POST`.
    pub(crate) fn create(&mut self, request: &Request<'_>) -> Result<Reply> {
        let kind = request.kind;
        let mut object = request.call.object(request.kind)?;
        decode::identify(kind, &mut object)?;
        check_place(request, &mut object)?;
        if name(&object).is_empty() {
            let prefix = text(&object, "generateName").to_owned();
            if !prefix.is_empty() {
                let name = format!("{prefix}{}", metadata::suffix());
                metadata::set(&mut object, "name", name);
            }
        }
        if !text(&object, "resourceVersion").is_empty() {
            return Err(Failure::bad_request(
                "resourceVersion should not be set on objects to be created",
            ));
        }
        request.settle(&mut object)?;
        let writer = request.writer(Operation::Update);
        let managers = writer.update(&request.blank(), &object, &Managers::default());
        self.admit_new(request, Draft { object, managers })
    }

    /// Stores a new object.
    pub(crate) fn admit_new(&mut self, request: &Request<'_>, draft: Draft) -> Result<Reply> {
        let kind = request.kind;
        let Draft {
            mut object,
            managers,
        } = draft;
        let name = name(&object).to_owned();
        let key = request.key(&name);
        self.check_namespace(kind, &key)?;
        let meta = &mut object;
        for field in [
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "selfLink",
        ] {
            metadata::set(meta, field, Value::Null);
        }
        metadata::set(meta, "uid", metadata::uid());
        metadata::set(meta, "creationTimestamp", metadata::now());
        if has_generation(kind) {
            metadata::set(meta, "generation", 1);
        }
        metadata::set(meta, "managedFields", managers.write_or_null());
        if kind.has_status()
            && let Some(fields) = object.as_object_mut()
        {
            fields.shift_remove("status");
            if let Some(status) = request.blank().get("status") {
                fields.insert("status".into(), status.clone());
            }
        }
        self.before_create(kind, &mut object)?;
        self.check(kind, &object)?;
        if self.store.find(&key).is_some() {
            return Err(Failure::already_exists(kind, &name));
        }
        let object = self.keep(request, key, object)?;
        Ok(Reply::created(object))
    }

    /// `PUT`.
    pub(crate) fn replace(&mut self, request: &Request<'_>) -> Result<Reply> {
        let kind = request.kind;
        let mut object = request.call.object(request.kind)?;
        decode::identify(kind, &mut object)?;
        check_place(request, &mut object)?;
        match name(&object) {
            "" => {
                return Err(Failure::bad_request(
                    "name must be provided: the name of the object is empty",
                ));
            }
            found if found != request.path.name => {
                return Err(Failure::bad_request(format!(
                    "the name of the object ({found}) does not match the name on the URL ({})",
                    request.path.name
                )));
            }
            _ => {}
        }
        let Some(live) = self.live(request) else {
            if creates_on_update(kind) && request.path.subresource.is_none() {
                request.settle(&mut object)?;
                let writer = request.writer(Operation::Update);
                let managers = writer.update(&request.blank(), &object, &Managers::default());
                return self.admit_new(request, Draft { object, managers });
            }
            return Err(Failure::not_found(kind, &request.path.name));
        };
        request.settle(&mut object)?;
        let (uid, live_uid) = (text(&object, "uid"), text(&live, "uid"));
        if !uid.is_empty() && uid != live_uid {
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {live_uid}",
                request.key(name(&live)).in_etcd(kind),
            );
            return Err(Failure::conflict(kind, name(&live), &why));
        }
        if text(&object, "resourceVersion").is_empty() && needs_version(kind) {
            let cause = Cause::invalid(
                "metadata.resourceVersion",
                "Invalid value: 0: must be specified for an update",
            );
            return Err(Failure::invalid_resource(kind, name(&object), vec![cause]));
        }
        self.update(request, live, object)
    }

    /// Goes from the live object to the new one on behalf of an updater.
    pub(crate) fn update(
        &mut self,
        request: &Request<'_>,
        live: Value,
        object: Value,
    ) -> Result<Reply> {
        let sent = &object["metadata"]["managedFields"];
        let before = match Managers::read(sent) {
            Some(sent) if !sent.0.is_empty() => sent,
            _ if is_reset(sent) => Managers::default(),
            _ => Managers::read(&live["metadata"]["managedFields"]).unwrap_or_default(),
        };
        let writer = request.writer(Operation::Update);
        let (bare_live, bare) = (without_managers(&live), without_managers(&object));
        // What nobody owns stays so until the first apply.
        let managers = match before.0.is_empty() {
            true => before,
            false => writer.update(&bare_live, &bare, &before),
        };
        self.admit_changed(request, live, Draft { object, managers })
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
        } = draft;
        check_version(kind, &live, &object)?;
        restrict(
            kind,
            request.path.subresource.as_deref(),
            &live,
            &mut object,
        );
        let uid_cause = changed_uid(&live, &object);
        for field in [
            "uid",
            "creationTimestamp",
            "generation",
            "resourceVersion",
            "namespace",
            "name",
        ] {
            metadata::set(&mut object, field, live["metadata"][field].clone());
        }
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
            metadata::set(&mut object, field, live["metadata"][field].clone());
        }
        self.before_update(kind, &mut object)?;
        if has_generation(kind) && desired(kind, &live) != desired(kind, &object) {
            let generation = live["metadata"]["generation"].as_i64().unwrap_or_default() + 1;
            metadata::set(&mut object, "generation", generation);
        }
        let mut managers = managers;
        let before = Managers::read(&live["metadata"]["managedFields"]).unwrap_or_default();
        if without_managers(&live) == without_managers(&object) && managers.is_same(&before) {
            managers = before;
        }
        metadata::set(&mut object, "managedFields", managers.write_or_null());
        let subresource = request.path.subresource.as_deref();
        self.check_changed(kind, subresource, &live, &object, uid_cause)?;
        let key = request.key(name(&live));
        if is_deleting(&live) && finalizers(&object).is_empty() && !self.holds(kind, &object) {
            if !request.call.is_dry_run() {
                self.remove(&key);
            }
            return Ok(Reply::ok(object));
        }
        if object == live {
            return Ok(Reply::ok(object));
        }
        let object = self.keep(request, key, object)?;
        Ok(Reply::ok(object))
    }

    fn keep(&mut self, request: &Request<'_>, key: Key, object: Value) -> Result<Value> {
        if request.call.is_dry_run() {
            return Ok(object);
        }
        let stored = self.put(key, request.stored(object))?;
        Ok(self.present(request.kind, &stored))
    }

    /// The object of the request's path, in the form of the request's version.
    pub(crate) fn live(&self, request: &Request<'_>) -> Option<Value> {
        let stored = self.store.find(&request.key(&request.path.name))?;
        Some(self.present(request.kind, &stored))
    }

    fn check_changed(
        &self,
        kind: &Kind,
        subresource: Option<&str>,
        live: &Value,
        object: &Value,
        uid: Option<Cause>,
    ) -> Result<()> {
        let mut causes: Vec<Cause> = uid.into_iter().collect();
        causes.extend(new_finalizers(live, object));
        if kind.custom.is_none() || subresource.is_none() {
            // Two layers of the real server compare the metadata with what it was.
            causes.extend(causes.clone());
        }
        causes.extend(metadata::violations(kind, object));
        let of_kind = self.kind_violations(kind, Some(live), object);
        causes.extend(match (subresource, &kind.custom) {
            (Some("status"), Some(_)) => crd::status_violations(of_kind),
            _ => of_kind,
        });
        match causes.is_empty() {
            true => Ok(()),
            false => Err(Failure::invalid(kind, name(live), causes)),
        }
    }

    /// Refuses an object that breaks a rule of its kind.
    fn check(&self, kind: &Kind, object: &Value) -> Result<()> {
        let mut causes = metadata::violations(kind, object);
        causes.extend(self.kind_violations(kind, None, object));
        match causes.is_empty() {
            true => Ok(()),
            false => Err(Failure::invalid(kind, name(object), causes)),
        }
    }
}

impl<'a> Request<'a> {
    /// Types, defaults and pruning. With [`fieldValidation=Strict`] an unknown field is refused instead of dropped.
    ///
    /// [`fieldValidation=Strict`]: https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation
    pub(crate) fn settle(&self, object: &mut Value) -> Result<()> {
        let dropped = decode::settle(self.kind, object)?;
        let unknown: Vec<String> = dropped
            .iter()
            .map(|path| format!("unknown field {path:?}"))
            .collect();
        if unknown.is_empty() || self.call.param("fieldValidation") != "Strict" {
            if self.call.param("fieldValidation") != "Ignore" {
                unknown.iter().for_each(|text| self.call.warn(text));
            }
            return Ok(());
        }
        let Kind { kind, version, .. } = self.kind;
        Err(Failure::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: strict decoding error: {}",
            unknown.join(", ")
        )))
    }

    /// An object of the kind with nothing in it.
    pub(crate) fn blank(&self) -> Value {
        let mut object = match (&self.kind.custom, &self.kind.type_name) {
            (None, Some(type_name)) => zero::object(type_name),
            _ => json!({}),
        };
        object["apiVersion"] = self.kind.api_version().into();
        object["kind"] = self.kind.kind.as_str().into();
        object
    }

    pub(crate) fn writer(&self, operation: Operation) -> Writer<'a> {
        let subresource = self.path.subresource.as_deref();
        writer(self.kind, self.call.manager(), operation, subresource)
    }
}

/// Someone who writes objects of a kind.
pub(crate) fn writer<'a>(
    kind: &'a Kind,
    manager: String,
    operation: Operation,
    subresource: Option<&str>,
) -> Writer<'a> {
    let api_version = kind.api_version();
    let id = ManagerId {
        name: manager,
        operation,
        api_version: match operation {
            Operation::Apply => String::new(),
            Operation::Update => api_version.clone(),
        },
        subresource: subresource.unwrap_or_default().to_owned(),
    };
    Writer {
        id,
        api_version,
        node: node(kind),
        ignored: ignored(kind, subresource),
        // What comes through a scale is kept without its time.
        time: (subresource != Some("scale")).then(metadata::now),
    }
}

/// The schema of a kind's objects for field ownership.
pub(crate) fn node(kind: &Kind) -> Node<'_> {
    match (&kind.custom, &kind.type_name) {
        (Some(custom), _) => Node::Schema(&custom.shape),
        (None, Some(name)) => builtin()
            .types
            .get(name)
            .map_or(Node::Deduced, Node::Schema),
        (None, None) => Node::Deduced,
    }
}

pub(crate) fn without_managers(object: &Value) -> Value {
    let mut object = object.clone();
    metadata::set(&mut object, "managedFields", Value::Null);
    object
}

/// `[{}]` gives up all ownership.
fn is_reset(entries: &Value) -> bool {
    *entries == json!([{}])
}

/// The namespace in the body is that of the path.
fn check_place(request: &Request<'_>, object: &mut Value) -> Result<()> {
    let namespace = text(object, "namespace").to_owned();
    let expected = &request.path.namespace;
    if !namespace.is_empty() && namespace != *expected {
        return Err(Failure::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    if request.kind.namespaced {
        metadata::set(object, "namespace", expected.as_str());
    }
    Ok(())
}

fn check_version(kind: &Kind, live: &Value, object: &Value) -> Result<()> {
    let version = text(object, "resourceVersion");
    if !version.is_empty() && version != "0" && version != text(live, "resourceVersion") {
        return Err(Failure::modified(kind, name(live)));
    }
    Ok(())
}

/// The uid of a patch is that of the object.
fn changed_uid(live: &Value, object: &Value) -> Option<Cause> {
    let uid = text(object, "uid");
    if uid.is_empty() || uid == text(live, "uid") {
        return None;
    }
    let message = format!("Invalid value: {uid:?}: field is immutable");
    Some(Cause::invalid("metadata.uid", message))
}

fn new_finalizers(live: &Value, object: &Value) -> Option<Cause> {
    if !is_deleting(live) {
        return None;
    }
    let before = finalizers(live);
    let added: Vec<String> = finalizers(object)
        .into_iter()
        .filter(|finalizer| !before.contains(finalizer))
        .map(|finalizer| format!("{finalizer:?}"))
        .collect();
    if added.is_empty() {
        return None;
    }
    Some(Cause {
        reason: "FieldValueForbidden",
        message: format!(
            "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            added.join(", ")
        ),
        field: "metadata.finalizers".into(),
    })
}
