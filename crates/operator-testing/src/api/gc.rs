//! [Garbage collection] by owner references, and the end of namespaces and of custom kinds: all that controllers of the real
//! cluster do some time after a write, done at once.
//!
//! [Garbage collection]: https://kubernetes.io/docs/concepts/architecture/garbage-collection/

use serde_json::Value;

use crate::api::State;
use crate::api::apply::{Managers, Operation};
use crate::api::delete::{FOREGROUND, ORPHAN, Options, Propagation};
use crate::api::metadata::{self, finalizers, is_deleting, is_out_of_time, text};
use crate::api::protection;
use crate::api::store::Key;
use crate::api::tracking::{without_managers, writer};

/// A part of the real cluster that changes objects.
#[derive(Clone, Copy)]
pub(crate) enum Actor {
    Controllers,
    /// It writes the status of definitions.
    ApiServer,
}

impl Actor {
    /// The field manager's name, and the subresource that it writes.
    pub fn names(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Controllers => ("kube-controller-manager", None),
            Self::ApiServer => ("kube-apiserver", Some("status")),
        }
    }
}

/// How an object's owner fares.
#[derive(Clone, Copy, PartialEq)]
enum Owner {
    Alive,
    Gone,
    /// It is being deleted in the foreground, and waits for what it owns.
    Waiting,
}

/// Whether storing this object in place of another may give the collector something to do.
pub(crate) fn concerns(before: Option<&Value>, object: &Value) -> bool {
    const FIELDS: [&str; 3] = ["deletionTimestamp", "finalizers", "ownerReferences"];
    let is_same = |before: &Value| {
        let (before, after) = (&before["metadata"], &object["metadata"]);
        FIELDS.iter().all(|field| before[field] == after[field])
    };
    let is_owned = |object: &Value| !owners(object).is_empty();
    let is_of_interest = is_deleting(object) || is_owned(object) || before.is_some_and(is_owned);
    is_of_interest && !before.is_some_and(is_same)
}

pub(crate) fn owners(object: &Value) -> &[Value] {
    object["metadata"]["ownerReferences"]
        .as_array()
        .map_or(&[], Vec::as_slice)
}

impl State {
    /// Repeats until nothing changes.
    pub(crate) fn settle_dependents(&mut self) {
        self.unsettled = false;
        loop {
            let before = self.store.version();
            self.collect();
            self.sweep_namespaces();
            self.sweep_definitions();
            if self.store.version() == before && self.affected.is_empty() {
                break;
            }
        }
        self.unsettled = false;
    }

    /// Has the collector look at an object that was stored or removed, at its owners, and, if it goes, at what it owns.
    pub(crate) fn affect(&mut self, key: &Key, before: Option<&Value>, after: Option<&Value>) {
        let references = before.into_iter().chain(after).flat_map(owners);
        let around: Vec<Key> = references
            .filter_map(|reference| self.owner_key(key, reference))
            .collect();
        self.affected.extend(around);
        self.affected.extend(after.map(|_| key.clone()));
        if let Some(pod) = before.filter(|_| after.is_none() && is_pod(key)) {
            let claims = protection::claims(pod).map(|name| Key {
                plural: "persistentvolumeclaims".into(),
                name: name.to_owned(),
                ..key.clone()
            });
            self.affected.extend(claims.collect::<Vec<_>>());
        }
        if after.is_none_or(is_deleting)
            && let Some(object) = after.or(before)
        {
            let owned = self.store.owned_by(text(object, "uid"));
            self.affected.extend(owned);
        }
    }

    /// Has the collector look at all that has owners, as their kinds may have come or gone.
    pub(crate) fn affect_owned(&mut self) {
        let owned = self.store.owned();
        self.affected.extend(owned);
        self.unsettled = true;
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

    /// Lets go of an object that is being deleted and waits for what it owns, if it need not wait any more.
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
            self.edit(key, Actor::Controllers, |object| unfinalize(object, ORPHAN));
        } else if !dependents.iter().any(|it| self.blocks(it, object)) {
            self.edit(key, Actor::Controllers, |object| {
                unfinalize(object, FOREGROUND)
            });
        }
    }

    /// Deletes an object whose owners are all gone or waiting for it, and drops references to gone ones.
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
            // A vanished object is what was wanted.
            let _gone = self.delete_one(&kind, key, &options);
        }
    }

    /// Where the owner is that an object names, if its kind is known.
    fn owner_key(&self, key: &Key, owner: &Value) -> Option<Key> {
        let field = |name: &str| owner[name].as_str().unwrap_or_default();
        let kind = self.registry.by_kind(field("apiVersion"), field("kind"))?;
        Some(Key {
            group: kind.group.clone(),
            plural: kind.plural.clone(),
            namespace: match kind.namespaced {
                true => key.namespace.clone(),
                false => String::new(),
            },
            name: field("name").to_owned(),
        })
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

    /// Changes an object in place, and removes it when that was all that held it.
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
        let live = kind.present(&live);
        let mut object = live.clone();
        change(&mut object);
        let is_held = self.holds(&kind, &object);
        let before = Managers::read(&live["metadata"]["managedFields"]).unwrap_or_default();
        if !before.0.is_empty() {
            let (manager, subresource) = actor.names();
            let writer = writer(&kind, manager.to_owned(), Operation::Update, subresource);
            let (old, new) = (without_managers(&live), without_managers(&object));
            let managers = writer.update(&old, &new, &before).unwrap_or_default();
            metadata::set(&mut object, "managedFields", managers.write_or_null());
        }
        if is_out_of_time(&object) && finalizers(&object).is_empty() && !is_held {
            self.remove(key);
        } else if object != live {
            // Storing what was stored before cannot fail.
            let _stored = self.put(key.clone(), kind.to_storage(object));
        }
    }
}

fn is_pod(key: &Key) -> bool {
    key.group.is_empty() && key.plural == "pods"
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

pub(crate) fn unfinalize(object: &mut Value, finalizer: &str) {
    let kept: Vec<Value> = finalizers(object)
        .into_iter()
        .filter(|name| *name != finalizer)
        .map(Value::from)
        .collect();
    let value = if kept.is_empty() {
        Value::Null
    } else {
        kept.into()
    };
    metadata::set(object, "finalizers", value);
}
