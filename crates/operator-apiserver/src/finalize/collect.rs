//! [Garbage collection] by owner references. Also starts the deletion of namespaces and custom kinds, so that everything is done before the
//! server answers.
//!
//! [Garbage collection]: https://kubernetes.io/docs/concepts/architecture/garbage-collection/

use serde_json::Value;

use super::crd::sweep_crds;
use super::edit::{Actor, edit};
use super::namespace::sweep_namespaces;
use super::protection::unprotect;
use crate::model::Key;
use crate::model::metadata::{self, finalizers, is_deleting, owners, remove_finalizer, text};
use crate::store::gc_queue::owner_key;
use crate::store::{Registry, State, Store};
use crate::write::delete::{FOREGROUND, ORPHAN, Options, Propagation, delete_one};

/// The state of an object's owner.
#[derive(Clone, Copy, PartialEq)]
enum OwnerState {
    Alive,
    Gone,
    /// The owner is being deleted in the foreground, and waits for its dependents.
    Waiting,
}

/// Repeats garbage collection and the deletion of namespaces and CRDs until nothing changes.
pub(crate) fn settle_dependents(state: &mut State) {
    state.gc.is_due = false;
    loop {
        let before = state.store.version();
        collect(state);
        sweep_namespaces(state);
        sweep_crds(state);
        if state.store.version() == before && state.gc.candidates.is_empty() {
            break;
        }
    }
    state.gc.is_due = false;
}

/// Checks the owners and the finalizers of the objects that a change affects.
fn collect(state: &mut State) {
    let affected = std::mem::take(&mut state.gc.candidates);
    for key in &affected {
        if let Some(object) = state.store.find(key)
            && !owners(&object).is_empty()
        {
            follow_owners(state, key, &object);
        }
    }
    for key in &affected {
        if let Some(object) = state.store.find(key)
            && is_deleting(&object)
        {
            release(state, key, &object);
            unprotect(state, key);
        }
    }
}

/// Removes the finalizer of an object's propagation policy: `orphan` after its dependents were released, `foregroundDeletion` once no
/// dependent blocks the deletion.
fn release(state: &mut State, key: &Key, object: &Value) {
    let has = |name: &str| finalizers(object).contains(&name);
    if !has(ORPHAN) && !has(FOREGROUND) {
        return;
    }
    let dependents = state.store.owned_by(text(object, "uid"));
    if has(ORPHAN) {
        for dependent in dependents {
            edit(state, &dependent, Actor::Controllers, |other| {
                remove_owners(other, |owner| owner["uid"] == object["metadata"]["uid"]);
            });
        }
        edit(state, key, Actor::Controllers, |object| {
            remove_finalizer(object, ORPHAN);
        });
    } else if !dependents.iter().any(|it| blocks(&state.store, it, object)) {
        edit(state, key, Actor::Controllers, |object| {
            remove_finalizer(object, FOREGROUND);
        });
    }
}

/// Deletes an object if all its owners are deleted or wait for it; removes references to deleted owners.
fn follow_owners(state: &mut State, key: &Key, object: &Value) {
    let states: Vec<OwnerState> = owners(object)
        .iter()
        .map(|owner| owner_state(&state.store, &state.registry, key, owner))
        .collect();
    if states.contains(&OwnerState::Alive) {
        if states.iter().any(|state| *state != OwnerState::Alive) {
            let mut states = states.into_iter();
            edit(state, key, Actor::Controllers, |object| {
                remove_owners(object, |_| states.next() != Some(OwnerState::Alive));
            });
        }
        return;
    }
    if is_deleting(object) {
        return;
    }
    let owns_nothing = || state.store.owned_by(text(object, "uid")).is_empty();
    let propagation = if states.contains(&OwnerState::Waiting) && !owns_nothing() {
        Propagation::Foreground
    } else {
        Propagation::Background
    };
    let held = finalizers(object)
        .iter()
        .any(|name| [ORPHAN, FOREGROUND].contains(name));
    let options = Options {
        propagation: (!held).then_some(propagation),
        ..Options::default()
    };
    if let Some(kind) = state.registry.by_key(key) {
        // If the object no longer exists, there is nothing to do.
        let _gone = delete_one(state, &kind, key, &options);
    }
}

/// The state of an owner. An object with the same name but another uid is not the owner.
fn owner_state(store: &Store, registry: &Registry, key: &Key, owner: &Value) -> OwnerState {
    // an owner of an unknown kind counts as alive
    let Some(place) = owner_key(registry, key, owner) else {
        return OwnerState::Alive;
    };
    let found = store.find(&place);
    match found.filter(|found| found["metadata"]["uid"] == owner["uid"]) {
        None => OwnerState::Gone,
        Some(owner) if is_deleting(&owner) && finalizers(&owner).contains(&FOREGROUND) => {
            OwnerState::Waiting
        }
        Some(_) => OwnerState::Alive,
    }
}

/// Whether a dependent blocks the foreground deletion of its owner.
fn blocks(store: &Store, dependent: &Key, owner: &Value) -> bool {
    store.find(dependent).is_some_and(|dependent| {
        owners(&dependent).iter().any(|reference| {
            reference["uid"] == owner["metadata"]["uid"] && reference["blockOwnerDeletion"] == true
        })
    })
}

fn remove_owners(object: &mut Value, mut gone: impl FnMut(&Value) -> bool) {
    let kept: Vec<Value> = owners(object)
        .iter()
        .filter(|owner| !gone(owner))
        .cloned()
        .collect();
    let value = if kept.is_empty() {
        Value::Null
    } else {
        kept.into()
    };
    metadata::set(object, "ownerReferences", value);
}
