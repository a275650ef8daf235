//! The components of a cluster that write workloads. Each writes like any client, with its own user agent.

use http::Method;
use serde_json::{Value, json};

use super::controllers::Controllers;
use crate::kinds::resource::{EVENTS, PODS, Resource};
use crate::model::json::list;
use crate::model::metadata::{self, name, text};
use crate::model::{Failure, Key, Result};
use crate::read::Reply;
use crate::request::{Call, Target};
use crate::serve::route::serve_own;

/// A component of a cluster, with its user agent.
#[derive(Clone, Copy)]
pub(super) struct Actor(&'static str);

pub(super) const CONTROLLERS: Actor = Actor("kube-controller-manager");
pub(super) const SCHEDULER: Actor = Actor("kube-scheduler");
pub(super) const KUBELET: Actor = Actor("kubelet");

/// The maximum number of pods for workloads, because all of them are created before the server answers.
pub(super) const MOST_PODS: usize = 500;

impl Controllers<'_> {
    /// Creates an object; a pod only if there are fewer than the maximum.
    pub(super) fn make(&mut self, actor: Actor, object: Value) -> Result<Value> {
        let path = self.path(&object)?;
        if object["kind"] == "Pod" && self.state.store.of_kind(PODS, "").count() >= MOST_PODS {
            return Err(Failure::forbidden_path(format!(
                "pods is forbidden: operator-testing runs {MOST_PODS} pods at most"
            )));
        }
        self.send(actor, Method::POST, path, &object)
    }

    pub(super) fn write(&mut self, actor: Actor, object: &Value) -> Result<Value> {
        let path = format!("{}/{}", self.path(object)?, name(object));
        self.send(actor, Method::PUT, path, object)
    }

    /// Writes the status of an object if it has changed.
    pub(super) fn write_status(
        &mut self,
        actor: Actor,
        object: &Value,
        status: Value,
    ) -> Result<Value> {
        if object["status"] == status {
            return Ok(object.clone());
        }
        let mut object = object.clone();
        object["status"] = status;
        self.write_with_status(actor, &object)
    }

    /// Writes the status of an object, and the metadata that its path permits.
    pub(super) fn write_with_status(&mut self, actor: Actor, object: &Value) -> Result<Value> {
        let path = format!("{}/{}/status", self.path(object)?, name(object));
        self.send(actor, Method::PUT, path, object)
    }

    /// Deletes an object with these DeleteOptions.
    pub(super) fn discard(
        &mut self,
        actor: Actor,
        object: &Value,
        options: &Value,
    ) -> Result<Value> {
        let path = format!("{}/{}", self.path(object)?, name(object));
        self.send(actor, Method::DELETE, path, options)
    }

    /// Reads the scale of an object.
    pub(super) fn read_scale(&mut self, actor: Actor, object: &Value) -> Result<Value> {
        let path = format!("{}/{}/scale", self.path(object)?, name(object));
        self.send(actor, Method::GET, path, &Value::Null)
    }

    /// The path of the collection of an object.
    fn path(&self, object: &Value) -> Result<String> {
        let field = |name: &str| object[name].as_str().unwrap_or_default();
        let (api_version, kind) = (field("apiVersion"), field("kind"));
        let kind = self.state.registry.by_kind(api_version, kind);
        let kind = kind.ok_or_else(Failure::no_such_path)?;
        let root = if api_version.contains('/') {
            "/apis"
        } else {
            "/api"
        };
        let plural = &kind.plural;
        Ok(match text(object, "namespace") {
            "" => format!("{root}/{api_version}/{plural}"),
            namespace => format!("{root}/{api_version}/namespaces/{namespace}/{plural}"),
        })
    }

    /// Sends a request to the server, under its lock.
    fn send(&mut self, actor: Actor, method: Method, path: String, body: &Value) -> Result<Value> {
        let call = Call::own(actor.0, method, path, body);
        let Target::Resource(path) = Target::read(&call.path) else {
            return Err(Failure::no_such_path());
        };
        match serve_own(self.state, &call, &path)? {
            Reply::Object { object, .. } => Ok(object),
            Reply::List(_) | Reply::Text(_) | Reply::Watch(_) => Ok(Value::Null),
        }
    }

    /// Emits an event about an object, with the user agent of the controllers whichever component it names. If it repeats an earlier
    /// warning, the count of that one is increased.
    pub(super) fn record_event(&mut self, component: &str, about: &Value, what: EventText<'_>) {
        let EventText(type_, reason, message) = what;
        let uid = &about["metadata"]["uid"];
        let namespace = text(about, "namespace");
        let is_known = |event: &Value| {
            type_ == "Warning"
                && event["involvedObject"]["uid"] == *uid
                && event["reason"] == reason
                && event["message"] == message
        };
        let known = self.state.store.of_kind(EVENTS, namespace);
        let known = known
            .map(|(_, event)| event)
            .find(|event| is_known(event))
            .map(|event| Value::clone(event));
        if let Some(mut event) = known {
            event["count"] = (event["count"].as_i64().unwrap_or(1) + 1).into();
            event["lastTimestamp"] = metadata::now().into();
            // an event that cannot be written has no consequences
            let _recorded = self.write(CONTROLLERS, &event);
            return;
        }
        let event = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": format!("{}.{}", name(about), metadata::serial()), "namespace": namespace},
            "involvedObject": {
                "apiVersion": about["apiVersion"],
                "kind": about["kind"],
                "name": name(about),
                "namespace": namespace,
                "resourceVersion": about["metadata"]["resourceVersion"],
                "uid": uid,
            },
            "reason": reason,
            "message": message,
            "source": {"component": component},
            "firstTimestamp": metadata::now(),
            "lastTimestamp": metadata::now(),
            "count": 1,
            "type": type_,
            "reportingComponent": component,
            "reportingInstance": "",
        });
        let _recorded = self.make(CONTROLLERS, event);
    }
}

/// The type, reason and message of an event.
#[derive(Clone, Copy)]
pub(super) struct EventText<'a>(pub &'static str, pub &'a str, pub &'a str);

impl<'a> EventText<'a> {
    pub fn normal(reason: &'a str, message: &'a str) -> Self {
        Self("Normal", reason, message)
    }

    pub fn warning(reason: &'a str, message: &'a str) -> Self {
        Self("Warning", reason, message)
    }
}

/// Adds a controller reference to an object.
pub(super) fn adopt(object: &mut Value, reference: Value) {
    let mut owners = list(&object["metadata"], "ownerReferences").to_vec();
    owners.push(reference);
    metadata::set(object, "ownerReferences", owners);
}

/// Removes the reference to an owner.
pub(super) fn release(object: &mut Value, owner: &Value) {
    let mut owners = list(&object["metadata"], "ownerReferences").to_vec();
    owners.retain(|reference| reference["uid"] != owner["metadata"]["uid"]);
    let owners = if owners.is_empty() {
        Value::Null
    } else {
        owners.into()
    };
    metadata::set(object, "ownerReferences", owners);
}

/// The key of an object.
pub(super) fn key(resource: Resource, object: &Value) -> Key {
    Key::new(resource, text(object, "namespace"), name(object))
}
