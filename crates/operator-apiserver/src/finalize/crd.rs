//! CRDs: decides which names are accepted, and deletes a CRD with all its objects.

use std::sync::Arc;

use serde_json::Value;

use super::edit::{Actor, edit};
use crate::kinds::crd::naming::{NamesInUse, accept, is_established};
use crate::kinds::crd::{CLEANUP, set_terminating};
use crate::kinds::resource::CRDS;
use crate::model::Key;
use crate::model::metadata::{self, finalizers, is_deleting, remove_finalizer};
use crate::store::stored::{self, first_lost_version};
use crate::store::{Registry, State, Store};
use crate::write::delete::{Options, delete_one};

/// The reason why the objects of a CRD cannot be listed in their storage version.
fn unlisted(store: &Store, registry: &Registry, crd: &Value) -> Option<String> {
    let registered = registry.crd(metadata::name(crd))?;
    let group = crd["spec"]["group"].as_str()?;
    let plural = crd["spec"]["names"]["plural"].as_str()?;
    let kind = crd["spec"]["names"]["kind"].as_str()?;
    let lost = first_lost_version(store, registered, (group, plural))?;
    Some(stored::reinitializing(&registered.storage, kind, &lost))
}

fn objects_of(store: &Store, crd: &Value) -> Vec<Key> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let spec = &crd["spec"];
    let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
    store
        .of_kind((&group, &plural), "")
        .map(|(key, _)| key.clone())
        .collect()
}

/// Accepts new CRDs, deletes the objects of CRDs that are being deleted, and removes those CRDs once they have no objects.
pub(crate) fn sweep_crds(state: &mut State) {
    if std::mem::take(&mut state.gc.crd_names_changed) {
        accept_names(state);
    }
    let ending: Vec<(Key, Arc<Value>)> = state
        .store
        .of_kind(CRDS, "")
        .filter(|(_, object)| is_deleting(object))
        .map(|(key, object)| (key.clone(), object.clone()))
        .collect();
    for (crd, object) in ending {
        if !finalizers(&object).contains(&CLEANUP) {
            continue;
        }
        if let Some(unread) = unlisted(&state.store, &state.registry, &object) {
            edit(state, &crd, Actor::ApiServer, |object| {
                let message = format!("could not list instances: {unread}");
                set_terminating(object, "True", "InstanceDeletionFailed", &message);
            });
            continue;
        }
        edit(state, &crd, Actor::ApiServer, |object| {
            let message = "CustomResource deletion is in progress";
            set_terminating(object, "True", "InstanceDeletionInProgress", message);
        });
        for key in objects_of(&state.store, &object) {
            let deleting = state
                .store
                .find(&key)
                .is_none_or(|object| is_deleting(&object));
            if !deleting && let Some(kind) = state.registry.by_key(&key) {
                // If the object no longer exists, there is nothing to do.
                let _gone = delete_one(state, &kind, &key, &Options::default());
            }
        }
        if objects_of(&state.store, &object).is_empty() {
            edit(state, &crd, Actor::ApiServer, |object| {
                let (reason, message) = if is_established(object) {
                    ("InstanceDeletionCompleted", "removed all instances")
                } else {
                    ("NeverEstablished", "resource was never established")
                };
                set_terminating(object, "False", reason, message);
                remove_finalizer(object, CLEANUP);
            });
        }
    }
}

/// Decides which names are accepted, for all CRDs: a deleted CRD releases its names to others.
fn accept_names(state: &mut State) {
    let names = state.store.of_kind(CRDS, "");
    let names: Vec<Key> = names.map(|(key, _)| key.clone()).collect();
    for key in names {
        let Some(object) = state.store.find(&key) else {
            continue;
        };
        let mut in_use = NamesInUse::default();
        let others = state.store.of_kind(CRDS, "");
        others
            .filter(|(other, _)| other.name != key.name)
            .filter(|(_, other)| other["spec"]["group"] == object["spec"]["group"])
            .for_each(|(_, other)| in_use.add(other));
        edit(state, &key, Actor::ApiServer, |object| {
            accept(object, &in_use);
        });
    }
}
