//! Which objects a handler is called for.

use std::{collections::BTreeMap, sync::Arc};

use kube::ResourceExt;

use crate::style::Object;

type Predicate<K> = Arc<dyn Fn(&K) -> bool + Send + Sync>;
type OfChange<K> = Arc<dyn Fn(Option<&K>, &K) -> bool + Send + Sync>;

/// The filters of a handler, all of which must hold.
#[derive(Clone)]
pub(super) struct Filter<K> {
    /// By name, with the value; `None` for any.
    pub labels: Vec<(String, Option<String>)>,
    pub annotations: Vec<(String, Option<String>)>,
    pub when: Vec<Predicate<K>>,
    /// Of the object as it was handled last, and as it is.
    pub when_changed: Vec<OfChange<K>>,
}

impl<K> Default for Filter<K> {
    fn default() -> Self {
        Self {
            labels: vec![],
            annotations: vec![],
            when: vec![],
            when_changed: vec![],
        }
    }
}

impl<K: Object> Filter<K> {
    /// Whether the handler is called for an object, apart from how it was before.
    pub fn accepts(&self, object: &K) -> bool {
        has(object.labels(), &self.labels)
            && has(object.annotations(), &self.annotations)
            && self.when.iter().all(|when| when(object))
    }

    pub fn accepts_change(&self, old: Option<&K>, object: &K) -> bool {
        self.when_changed.iter().all(|when| when(old, object))
    }
}

fn has(found: &BTreeMap<String, String>, wanted: &[(String, Option<String>)]) -> bool {
    wanted.iter().all(|(name, value)| {
        let found = found.get(name);
        found.is_some_and(|found| value.as_ref().is_none_or(|value| value == found))
    })
}
