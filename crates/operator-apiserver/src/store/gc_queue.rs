//! The work that a change leaves for the garbage collector.

use std::collections::BTreeSet;

use serde_json::Value;

use super::objects::Store;
use super::registry::Registry;
use crate::kinds::pod::claims;
use crate::kinds::resource::{PODS, VOLUME_CLAIMS};
use crate::model::Key;
use crate::model::metadata::{is_deleting, owners, text};

/// What the garbage collector, and the deletion of namespaces and CRDs, must do.
#[derive(Clone, Default)]
pub(crate) struct GcQueue {
    /// Whether there may be work.
    pub is_due: bool,
    /// The objects to check.
    pub candidates: BTreeSet<Key>,
    /// Whether the names that CRDs use may have changed.
    pub crd_names_changed: bool,
}

/// Whether storing this object in place of `before` can give the garbage collector work.
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

impl GcQueue {
    /// Adds a stored or removed object, its owners and, if it was removed, its dependents.
    pub fn add(
        &mut self,
        (store, registry): (&Store, &Registry),
        key: &Key,
        before: Option<&Value>,
        after: Option<&Value>,
    ) {
        self.is_due = true;
        let references = before.into_iter().chain(after).flat_map(owners);
        let owners = references.filter_map(|reference| owner_key(registry, key, reference));
        self.candidates.extend(owners);
        self.candidates.extend(after.map(|_| key.clone()));
        if let Some(pod) = before.filter(|_| after.is_none() && key.is(PODS)) {
            let claims = claims(pod).map(|name| Key::new(VOLUME_CLAIMS, &key.namespace, name));
            self.candidates.extend(claims);
        }
        if after.is_none_or(is_deleting)
            && let Some(object) = after.or(before)
        {
            self.candidates.extend(store.owned_by(text(object, "uid")));
        }
    }

    /// Adds all objects with owners, because a CRD has changed: their owners' kinds may have been added or removed.
    pub fn add_all_owned(&mut self, store: &Store) {
        self.is_due = true;
        self.crd_names_changed = true;
        self.candidates.extend(store.owned());
    }
}

/// The key of an owner, if its kind is known.
pub(crate) fn owner_key(registry: &Registry, key: &Key, owner: &Value) -> Option<Key> {
    let field = |name: &str| owner[name].as_str().unwrap_or_default();
    let kind = registry.by_kind(field("apiVersion"), field("kind"))?;
    let namespace = if kind.namespaced { &*key.namespace } else { "" };
    Some(Key::new(kind.resource(), namespace, field("name")))
}
