//! [Garbage collection] by owner references, and the end of namespaces and of custom kinds: all that controllers of the real
//! cluster do some time after a write, done at once.
//!
//! [Garbage collection]: https://kubernetes.io/docs/concepts/architecture/garbage-collection/

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::State;
use super::apply::{Managers, Operation};
use super::delete::{FOREGROUND, ORPHAN, Options, Propagation};
use super::metadata::{self, finalizers, is_deleting, is_out_of_time, text};
use super::store::Key;
use super::tracking::{without_managers, writer};

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
    (is_deleting(object) || !owners(object).is_empty()) && !before.is_some_and(is_same)
}

fn owners(object: &Value) -> &[Value] {
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
            if self.store.version() == before {
                break;
            }
        }
        self.unsettled = false;
    }

    fn collect(&mut self) {
        let by_uid: HashMap<String, (Key, Arc<Value>)> = self
            .store
            .all()
            .map(|(key, object)| {
                (
                    text(object, "uid").to_owned(),
                    (key.clone(), object.clone()),
                )
            })
            .collect();
        for (key, object) in by_uid.values() {
            if !owners(object).is_empty() && self.store.find(key).is_some() {
                self.follow_owners(key, object, &by_uid);
            }
        }
        for (key, object) in by_uid.values().filter(|(_, object)| is_deleting(object)) {
            let has = |name: &str| finalizers(object).contains(&name);
            if !has(ORPHAN) && !has(FOREGROUND) {
                continue;
            }
            let dependents: Vec<Key> = self
                .store
                .all()
                .filter(|(_, other)| {
                    owners(other)
                        .iter()
                        .any(|o| o["uid"] == object["metadata"]["uid"])
                })
                .map(|(key, _)| key.clone())
                .collect();
            if has(ORPHAN) {
                for dependent in dependents {
                    self.edit(&dependent, Actor::Controllers, |other| {
                        disown(other, |owner| owner["uid"] == object["metadata"]["uid"]);
                    });
                }
                self.edit(key, Actor::Controllers, |object| unfinalize(object, ORPHAN));
            } else if has(FOREGROUND) && !dependents.iter().any(|d| self.blocks(d, object)) {
                self.edit(key, Actor::Controllers, |object| {
                    unfinalize(object, FOREGROUND)
                });
            }
        }
    }

    /// Deletes an object whose owners are all gone or waiting for it, and drops references to gone ones.
    fn follow_owners(
        &mut self,
        key: &Key,
        object: &Value,
        by_uid: &HashMap<String, (Key, Arc<Value>)>,
    ) {
        let fates: Vec<Owner> = owners(object)
            .iter()
            .map(|owner| self.fate(key, owner, by_uid))
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
        let propagation = match fates.contains(&Owner::Waiting) {
            true => Propagation::Foreground,
            false => Propagation::Background,
        };
        let uid = &object["metadata"]["uid"];
        let owns_something = by_uid
            .values()
            .any(|(_, other)| owners(other).iter().any(|o| o["uid"] == *uid));
        let held = finalizers(object)
            .iter()
            .any(|name| [ORPHAN, FOREGROUND].contains(name));
        let propagation = match propagation {
            Propagation::Foreground if !owns_something => Propagation::Background,
            other => other,
        };
        let options = Options {
            propagation: (!held).then_some(propagation),
            ..Options::default()
        };
        if let Some(kind) = self.registry.by_key(key) {
            // A vanished object is what was wanted.
            let _gone = self.delete_one(&kind, key, &options);
        }
    }

    fn fate(&self, key: &Key, owner: &Value, by_uid: &HashMap<String, (Key, Arc<Value>)>) -> Owner {
        let field = |name: &str| owner[name].as_str().unwrap_or_default();
        let Some(kind) = self.registry.by_kind(field("apiVersion"), field("kind")) else {
            return Owner::Alive;
        };
        let found = by_uid.get(field("uid")).filter(|(found, _)| {
            kind.is(&found.group, &found.plural)
                && found.name == field("name")
                && (!kind.namespaced || found.namespace == key.namespace)
                && self.store.find(found).is_some()
        });
        match found {
            None => Owner::Gone,
            Some((_, owner)) if is_deleting(owner) && finalizers(owner).contains(&FOREGROUND) => {
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
