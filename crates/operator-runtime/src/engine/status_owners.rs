//! Which managers other than a controller own fields of the status of an object.
//!
//! In: `managedFields` of the objects of a watch, and of the answers to writes. Out: the fields of the status that others own. Cached objects
//! have no `managedFields`: the status of most of them has one writer, and an object with a part of the entries would lose the others if it
//! was sent. No I/O.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::{Resource, api::ObjectMeta};
use serde_json::Value;

use crate::lock::lock;

/// The owners of the status of the objects in a cache. Clones share them.
#[derive(Clone)]
pub(crate) struct StatusOwners(Arc<Mutex<State>>);

struct State {
    /// The status of a built-in kind is written by Kubernetes. Its owners would be large, and are read when a controller writes to it, too.
    is_builtin: bool,
    /// The field managers of the controllers that use the cache.
    controllers: Vec<String>,
    /// By uid, those of which others than the only controller own a part.
    objects: HashMap<String, Recorded>,
}

/// The owners in one version of an object.
struct Recorded {
    version: Option<String>,
    /// Entries of `managedFields` as JSON, which is smaller than their value.
    owners: Box<str>,
}

impl StatusOwners {
    pub fn of<K: Resource<DynamicType = ()>>() -> Self {
        let group = K::group(&());
        Self(Arc::new(Mutex::new(State {
            is_builtin: !group.contains('.') || group.ends_with(".k8s.io"),
            controllers: vec![],
            objects: HashMap::new(),
        })))
    }

    /// Adds a controller, before any object is recorded.
    pub fn add(&self, manager: &str) {
        lock(&self.0).controllers.push(manager.to_owned());
    }

    /// Records the owners in this version of an object, and removes them from its metadata.
    pub fn take(&self, metadata: &mut ObjectMeta) {
        let mut owners = metadata.managed_fields.take().unwrap_or_default();
        let Some(uid) = &metadata.uid else { return };
        let mut state = lock(&self.0);
        if let [only] = &*state.controllers {
            owners.retain(|entry| entry.manager.as_ref() != Some(only));
        }
        match serde_json::to_string(&owners) {
            Ok(text) if !owners.is_empty() && !state.is_builtin => {
                let recorded = Recorded {
                    version: metadata.resource_version.clone(),
                    owners: text.into(),
                };
                state.objects.insert(uid.clone(), recorded);
            }
            _ => {
                state.objects.remove(uid);
            }
        }
    }

    /// Forgets an object that has left the cache.
    pub fn forget(&self, metadata: &ObjectMeta) {
        if let Some(uid) = &metadata.uid {
            lock(&self.0).objects.remove(uid);
        }
    }

    /// The fields of the status, as in `fieldsV1`, of each manager other than `manager`; `None` if they are not known of this version.
    pub fn others(&self, metadata: &ObjectMeta, manager: &str) -> Option<Vec<Value>> {
        let state = lock(&self.0);
        if state.is_builtin {
            return None;
        }
        match state.objects.get(metadata.uid.as_ref()?) {
            None => Some(vec![]),
            Some(known) if known.version == metadata.resource_version => {
                let owners: Vec<_> = serde_json::from_str(&known.owners).ok()?;
                Some(of_others(&owners, manager))
            }
            Some(_) => None,
        }
    }
}

/// The fields of the status, as in `fieldsV1`, of each manager other than `manager`, by any operation.
pub(crate) fn of_others(owners: &[ManagedFieldsEntry], manager: &str) -> Vec<Value> {
    owners
        .iter()
        .filter(|entry| entry.manager.as_deref() != Some(manager))
        .filter_map(|entry| entry.fields_v1.as_ref()?.0.get("f:status").cloned())
        .collect()
}
