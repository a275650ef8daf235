//! Namespaces: what every cluster has, what each is furnished with, and how one ends.

use serde_json::{Value, json};

use crate::api::State;
use crate::api::delete::Options;
use crate::api::gc::Actor;
use crate::api::kind::Kind;
use crate::api::metadata::{self, is_deleting, name};
use crate::api::status::{Cause, Failure, Result};
use crate::api::store::Key;

const CA_DESCRIPTION: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";

/// What the server adds to a new namespace.
pub(crate) fn prepare(object: &mut Value) {
    let own = &mut object["spec"]["finalizers"];
    let mut finalizers: Vec<Value> = own.as_array().cloned().unwrap_or_default();
    if !finalizers.contains(&json!("kubernetes")) {
        finalizers.push("kubernetes".into());
    }
    *own = finalizers.into();
    object["status"] = json!({"phase": "Active"});
}

/// Whether the server never lets go of the namespace.
pub(crate) fn is_immortal(name: &str) -> bool {
    matches!(name, "default" | "kube-public" | "kube-system")
}

/// What a `DELETE` adds to a namespace.
pub(crate) fn terminate(object: &mut Value) {
    object["status"]["phase"] = "Terminating".into();
}

/// Where a namespace is stored.
pub(crate) fn key(name: &str) -> Key {
    Key {
        plural: "namespaces".into(),
        name: name.to_owned(),
        ..Key::default()
    }
}

/// The account and the certificates that controllers of a real cluster put into each namespace, and put back.
const FURNITURE: [(&str, &str); 2] = [
    ("serviceaccounts", "default"),
    ("configmaps", "kube-root-ca.crt"),
];

/// The namespace that has to have an object.
pub(crate) fn furnished_by(object: &Key) -> Option<Key> {
    let place = (object.plural.as_str(), object.name.as_str());
    let is_furniture = object.group.is_empty() && FURNITURE.contains(&place);
    is_furniture.then(|| key(&object.namespace))
}

impl State {
    pub(crate) fn found_namespaces(&mut self) {
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            let mut object = json!({
                "kind": "Namespace",
                "apiVersion": "v1",
                "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
            });
            prepare(&mut object);
            self.found(key(name), object);
        }
    }

    /// Stores an object of the server's own.
    pub(crate) fn found(&mut self, key: Key, mut object: Value) {
        metadata::set(&mut object, "uid", metadata::uid());
        metadata::set(&mut object, "creationTimestamp", metadata::now());
        // Only a request's object can be refused.
        let _stored = self.put(key, object);
    }

    /// Gives a new namespace what controllers of a real cluster put into it.
    pub(crate) fn furnish_namespace(&mut self, namespace: &Value) {
        if is_deleting(namespace) {
            return;
        }
        let namespace = name(namespace).to_owned();
        for (plural, name) in FURNITURE {
            let (kind, data) = match plural {
                "configmaps" => ("ConfigMap", Some(json!({"ca.crt": ""}))),
                _ => ("ServiceAccount", None),
            };
            let key = Key {
                plural: plural.into(),
                namespace: namespace.clone(),
                name: name.into(),
                ..Key::default()
            };
            if self.store.find(&key).is_some() {
                continue;
            }
            let metadata = json!({"name": name, "namespace": namespace});
            let mut object = json!({"kind": kind, "apiVersion": "v1", "metadata": metadata});
            if let Some(data) = data {
                object["data"] = data;
                object["metadata"]["annotations"] =
                    json!({"kubernetes.io/description": CA_DESCRIPTION});
                object["metadata"]["managedFields"] = json!([{
                    "manager": Actor::Controllers.names().0,
                    "operation": "Update",
                    "apiVersion": "v1",
                    "time": metadata::now(),
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {
                        "f:data": {".": {}, "f:ca.crt": {}},
                        "f:metadata": {"f:annotations": {".": {}, "f:kubernetes.io/description": {}}},
                    },
                }]);
            }
            self.found(key, object);
        }
    }

    /// An object is made in a namespace that is there and stays.
    pub(crate) fn check_namespace(&self, kind: &Kind, at: &Key) -> Result<()> {
        if !kind.namespaced {
            return Ok(());
        }
        let namespace = &at.namespace;
        match self.store.find(&key(namespace)) {
            None => Err(Failure::no_namespace(namespace)),
            Some(found) if is_deleting(&found) => {
                let text = format!(
                    "{} {:?} is forbidden: unable to create new content in namespace {namespace} because it is being terminated",
                    kind.qualified(),
                    at.name
                );
                let cause = Cause {
                    reason: "NamespaceTerminating",
                    message: format!("namespace {namespace} is being terminated"),
                    field: "metadata.namespace".into(),
                };
                Err(Failure::forbidden(kind, &at.name, text).with_causes(vec![cause]))
            }
            Some(_) => Ok(()),
        }
    }

    /// Empties the namespaces that are being deleted, and ends the empty ones.
    pub(crate) fn sweep_namespaces(&mut self) {
        let ending: Vec<String> = self
            .store
            .of_kind("", "namespaces", "")
            .filter(|(_, object)| is_deleting(object))
            .map(|(key, _)| key.name.clone())
            .collect();
        for namespace in ending {
            let inside = |state: &Self| -> Vec<Key> {
                let all = state.store.all().map(|(key, _)| key);
                all.filter(|key| key.namespace == namespace)
                    .cloned()
                    .collect()
            };
            let pods_alone = inside(self)
                .iter()
                .any(|key| key.group.is_empty() && key.plural == "pods");
            for key in inside(self) {
                if pods_alone && key.plural != "pods" {
                    // All else waits for them.
                    continue;
                }
                let deleting = self
                    .store
                    .find(&key)
                    .is_none_or(|object| is_deleting(&object));
                if !deleting && let Some(kind) = self.registry.by_key(&key) {
                    // A vanished object is what was wanted.
                    let _gone = self.delete_one(&kind, &key, &Options::now());
                }
            }
            if inside(self).is_empty() {
                self.edit(&key(&namespace), Actor::Controllers, |object| {
                    if let Some(Value::Object(spec)) = object.get_mut("spec") {
                        spec.shift_remove("finalizers");
                    }
                });
            }
        }
    }
}
