//! An index of cached objects by the object that controls them, for controllers that look for all children of an object.

use std::collections::{HashMap, HashSet, hash_map::Entry};

use super::Key;

/// The keys of objects by the uid of their controller. May contain objects that another object controls by now.
#[derive(Default)]
pub(super) struct ByOwner(HashMap<Box<str>, HashSet<Key>>);

impl ByOwner {
    pub fn insert(&mut self, owner: &str, key: &Key) {
        let keys = self.0.entry(owner.into()).or_default();
        keys.insert(key.clone());
    }

    pub fn remove(&mut self, owner: Box<str>, key: &Key) {
        if let Entry::Occupied(mut keys) = self.0.entry(owner) {
            keys.get_mut().remove(key);
            if keys.get().is_empty() {
                keys.remove();
            }
        }
    }

    /// Removes all objects for which `is_cached` is false.
    pub fn retain(&mut self, is_cached: impl Fn(&Key) -> bool) {
        self.0.retain(|_, keys| {
            keys.retain(&is_cached);
            !keys.is_empty()
        });
    }

    pub fn of(&self, owner: &str) -> impl Iterator<Item = &Key> {
        self.0.get(owner).into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_whose_objects_are_gone_is_forgotten() {
        let key = |name: &str| (None, name.to_owned());
        let mut index = ByOwner::default();
        index.insert("owner", &key("a"));
        index.insert("owner", &key("b"));
        index.remove("owner".into(), &key("a"));
        let left: Vec<_> = index.of("owner").cloned().collect();
        assert_eq!(left, [key("b")]);
        index.retain(|_| false);
        assert!(index.0.is_empty());
        index.insert("owner", &key("a"));
        index.remove("owner".into(), &key("a"));
        assert!(index.0.is_empty());
    }
}
