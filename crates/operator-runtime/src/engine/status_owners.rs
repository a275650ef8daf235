//! Which managers own fields of the status of an object, if not only its controller does.
//!
//! In: `managedFields` of the objects of a watch, and of the answers to writes. Out: the parts of it that are about the status. Cached objects
//! have no `managedFields`: the status of most of them has one writer, and an object with a part of the entries would lose the others if it
//! was sent. No I/O.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::{Resource, api::ObjectMeta};

use crate::{
    engine::{kind::is_builtin, version},
    lock::lock,
};

/// The owners of the status of the objects in a cache. Clones share them.
#[derive(Clone)]
pub(crate) struct StatusOwners(Arc<Mutex<State>>);

struct State {
    /// The owners of a built-in kind would be large, so they are not decoded, but read when a controller writes to it, too.
    is_builtin: bool,
    /// The field managers of the controllers that use the cache.
    controllers: Vec<String>,
    /// By uid, those of which others than the only controller own a part.
    objects: HashMap<String, Recorded>,
}

/// The owners in one version of an object.
struct Recorded {
    version: Option<u64>,
    /// Entries of `managedFields` as JSON, which is smaller than their value.
    owners: Box<str>,
}

impl StatusOwners {
    pub fn of<K: Resource<DynamicType = ()>>() -> Self {
        Self(Arc::new(Mutex::new(State {
            is_builtin: is_builtin(&K::group(&())),
            controllers: vec![],
            objects: HashMap::new(),
        })))
    }

    /// Adds a controller, before any object is recorded.
    pub fn add(&self, manager: &str) {
        lock(&self.0).controllers.push(manager.to_owned());
    }

    /// Records the owners in this version of an object, and removes them from its metadata. An older version than the recorded one, as in a
    /// late event, changes nothing.
    pub fn take(&self, metadata: &mut ObjectMeta) {
        let owners = metadata.managed_fields.take().unwrap_or_default();
        let Some(uid) = &metadata.uid else { return };
        let mut state = lock(&self.0);
        let version = version::number_of(metadata);
        if let Some(recorded) = state.objects.get(uid)
            && recorded.version > version
        {
            return;
        }
        let only = match &*state.controllers {
            [only] => Some(only),
            _ => None,
        };
        let is_shared = owners.iter().any(|entry| entry.manager.as_ref() != only);
        if !is_shared {
            state.objects.remove(uid);
        } else if let Ok(text) = serde_json::to_string(&owners) {
            let owners = text.into();
            let recorded = Recorded { version, owners };
            state.objects.insert(uid.clone(), recorded);
        }
    }

    /// Forgets an object that has left the cache.
    pub fn forget(&self, metadata: &ObjectMeta) {
        if let Some(uid) = &metadata.uid {
            lock(&self.0).objects.remove(uid);
        }
    }

    /// The owners in this version of an object, none if the only controller is the only one; `None` if they are not known.
    pub fn of_object(&self, metadata: &ObjectMeta) -> Option<Vec<ManagedFieldsEntry>> {
        let state = lock(&self.0);
        if state.is_builtin {
            return None;
        }
        let version = version::number_of(metadata);
        match state.objects.get(metadata.uid.as_ref()?) {
            None => Some(vec![]),
            Some(known) if known.version == version => serde_json::from_str(&known.owners).ok(),
            Some(_) => None,
        }
    }
}
