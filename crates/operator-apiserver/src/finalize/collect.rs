//! [Garbage collection] by owner references. Also starts the deletion of namespaces and custom kinds, so that everything is done before the
//! server answers.
//!
//! [Garbage collection]: https://kubernetes.io/docs/concepts/architecture/garbage-collection/

use serde_json::{Value, json};

use crate::apply::{Managers, Operation, without_managers};
use crate::model::key::Key;
use crate::model::metadata::{
    self, finalizers, is_deleting, is_out_of_time, owners, remove_finalizer, text,
};
use crate::store::state::State;
use crate::write::delete::{FOREGROUND, ORPHAN, Options, Propagation};
use crate::write::tracking::writer;

/// A component of the real cluster that changes objects.
#[derive(Clone, Copy)]
pub(crate) enum Actor {
    Controllers,
    /// The controller that writes the status of CRDs.
    ApiServer,
}

impl Actor {
    /// The name of the field manager, and the subresource that it writes.
    pub fn names(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Controllers => ("kube-controller-manager", None),
            Self::ApiServer => ("kube-apiserver", Some("status")),
        }
    }
}

/// The state of an object's owner.
#[derive(Clone, Copy, PartialEq)]
enum Owner {
    Alive,
    Gone,
    /// The owner is being deleted in the foreground, and waits for its dependents.
    Waiting,
}

impl State {
    /// Repeats all steps until nothing changes.
    pub(crate) fn settle_dependents(&mut self) {
        self.unsettled = false;
        loop {
            let before = self.store.version();
            self.collect();
            self.sweep_namespaces();
            self.sweep_crds();
            if self.store.version() == before && self.affected.is_empty() {
                break;
            }
        }
        self.unsettled = false;
    }

    fn collect(&mut self) {
        let affected = std::mem::take(&mut self.affected);
        for key in &affected {
            if let Some(object) = self.store.find(key)
                && !owners(&object).is_empty()
            {
                self.follow_owners(key, &object);
            }
        }
        for key in &affected {
            if let Some(object) = self.store.find(key)
                && is_deleting(&object)
            {
                self.release(key, &object);
                self.unprotect(key);
            }
        }
    }

    /// Removes the finalizer of an object in foreground deletion, if it no longer has to wait for its dependents.
    fn release(&mut self, key: &Key, object: &Value) {
        let has = |name: &str| finalizers(object).contains(&name);
        if !has(ORPHAN) && !has(FOREGROUND) {
            return;
        }
        let dependents = self.store.owned_by(text(object, "uid"));
        if has(ORPHAN) {
            for dependent in dependents {
                self.edit(&dependent, Actor::Controllers, |other| {
                    disown(other, |owner| owner["uid"] == object["metadata"]["uid"]);
                });
            }
            self.edit(key, Actor::Controllers, |object| {
                remove_finalizer(object, ORPHAN)
            });
        } else if !dependents.iter().any(|it| self.blocks(it, object)) {
            self.edit(key, Actor::Controllers, |object| {
                remove_finalizer(object, FOREGROUND)
            });
        }
    }

    /// Deletes an object if all its owners are deleted or wait for it; removes references to deleted owners.
    fn follow_owners(&mut self, key: &Key, object: &Value) {
        let fates: Vec<Owner> = owners(object)
            .iter()
            .map(|owner| self.fate(key, owner))
            .collect();
        if fates.contains(&Owner::Alive) {
            if fates.iter().any(|fate| *fate != Owner::Alive) {
                let mut fates = fates.into_iter();
                self.edit(key, Actor::Controllers, |object| {
                    disown(object, |_| fates.next() != Some(Owner::Alive))
                });
            }
            return;
        }
        if is_deleting(object) {
            return;
        }
        let owns_nothing = || self.store.owned_by(text(object, "uid")).is_empty();
        let propagation = match fates.contains(&Owner::Waiting) && !owns_nothing() {
            true => Propagation::Foreground,
            false => Propagation::Background,
        };
        let held = finalizers(object)
            .iter()
            .any(|name| [ORPHAN, FOREGROUND].contains(name));
        let options = Options {
            propagation: (!held).then_some(propagation),
            ..Options::default()
        };
        if let Some(kind) = self.registry.by_key(key) {
            // If the object no longer exists, there is nothing to do.
            let _gone = self.delete_one(&kind, key, &options);
        }
    }

    fn fate(&self, key: &Key, owner: &Value) -> Owner {
        let Some(place) = self.owner_key(key, owner) else {
            return Owner::Alive;
        };
        let found = self.store.find(&place);
        match found.filter(|found| found["metadata"]["uid"] == owner["uid"]) {
            None => Owner::Gone,
            Some(owner) if is_deleting(&owner) && finalizers(&owner).contains(&FOREGROUND) => {
                Owner::Waiting
            }
            Some(_) => Owner::Alive,
        }
    }

    fn blocks(&self, dependent: &Key, owner: &Value) -> bool {
        self.store.find(dependent).is_some_and(|dependent| {
            owners(&dependent).iter().any(|reference| {
                reference["uid"] == owner["metadata"]["uid"]
                    && reference["blockOwnerDeletion"] == true
            })
        })
    }

    /// Changes an object in place, and removes it if nothing else keeps it.
    pub(crate) fn edit(&mut self, key: &Key, actor: Actor, change: impl FnOnce(&mut Value)) {
        let Some(live) = self.store.find(key) else {
            return;
        };
        let Some(kind) = self.registry.by_key(key) else {
            return;
        };
        if kind.check_stored(&live).is_err() {
            return;
        }
        // Metadata is the same in all versions, so no webhook has to convert it.
        let is_converted = self.converter(&kind).is_some();
        let live = match is_converted {
            true => Ok(Value::clone(&live)),
            false => self.present(&kind, &live),
        };
        let Ok(live) = live else {
            return;
        };
        let mut object = live.clone();
        change(&mut object);
        let is_held = self.holds(&kind, &object);
        let before = Managers::read(&live["metadata"]["managedFields"]).unwrap_or_default();
        if !before.0.is_empty() {
            let (manager, subresource) = actor.names();
            let writer = writer(&kind, manager.to_owned(), Operation::Update, subresource);
            let (mut old, mut new) = (without_managers(&live), without_managers(&object));
            if is_converted {
                old = only_metadata(&old);
                new = only_metadata(&new);
            }
            let managers = writer.update(&old, &new, &before).unwrap_or_default();
            metadata::set(&mut object, "managedFields", managers.write_or_null());
        }
        if is_out_of_time(&object) && finalizers(&object).is_empty() && !is_held {
            self.remove(key);
        } else if object != live {
            let stored = match is_converted {
                true => Ok(object),
                false => self.to_storage(&kind, object).map(|(stored, _)| stored),
            };
            if let Ok(stored) = stored {
                self.put(key.clone(), stored);
            }
        }
    }
}

fn only_metadata(object: &Value) -> Value {
    json!({
        "apiVersion": object["apiVersion"],
        "kind": object["kind"],
        "metadata": object["metadata"],
    })
}

fn disown(object: &mut Value, mut gone: impl FnMut(&Value) -> bool) {
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
