//! Determines the objects that the garbage collector must check after a change.

use serde_json::Value;

use super::state::State;
use crate::kinds::pod::claims;
use crate::kinds::resource::{PODS, VOLUME_CLAIMS};
use crate::model::key::Key;
use crate::model::metadata::{is_deleting, owners, text};

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

impl State {
    /// Marks a stored or removed object, its owners and, if it was removed, its dependents for the garbage collector.
    pub(crate) fn mark_affected(
        &mut self,
        key: &Key,
        before: Option<&Value>,
        after: Option<&Value>,
    ) {
        let references = before.into_iter().chain(after).flat_map(owners);
        let around: Vec<Key> = references
            .filter_map(|reference| self.owner_key(key, reference))
            .collect();
        self.affected.extend(around);
        self.affected.extend(after.map(|_| key.clone()));
        if let Some(pod) = before.filter(|_| after.is_none() && key.is(PODS)) {
            let claims = claims(pod).map(|name| Key::new(VOLUME_CLAIMS, &key.namespace, name));
            self.affected.extend(claims);
        }
        if after.is_none_or(is_deleting)
            && let Some(object) = after.or(before)
        {
            let owned = self.store.owned_by(text(object, "uid"));
            self.affected.extend(owned);
        }
    }

    /// Marks all objects with owners for the garbage collector, because their owners' kinds may have been added or removed.
    pub(crate) fn mark_all_owned(&mut self) {
        let owned = self.store.owned();
        self.affected.extend(owned);
        self.unsettled = true;
    }

    /// The key of an owner, if its kind is known.
    pub(crate) fn owner_key(&self, key: &Key, owner: &Value) -> Option<Key> {
        let field = |name: &str| owner[name].as_str().unwrap_or_default();
        let kind = self.registry.by_kind(field("apiVersion"), field("kind"))?;
        let namespace = if kind.namespaced { &*key.namespace } else { "" };
        Some(Key::new(kind.resource(), namespace, field("name")))
    }
}
