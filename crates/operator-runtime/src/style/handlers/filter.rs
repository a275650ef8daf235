//! Which objects a handler is called for.

use std::{collections::BTreeMap, sync::Arc};

use kube::ResourceExt;

use crate::style::Object;

type Predicate<K> = Arc<dyn Fn(&K) -> bool + Send + Sync>;
type ChangePredicate<K> = Arc<dyn Fn(Option<&K>, &K) -> bool + Send + Sync>;

/// The filters of a handler, all of which must hold.
#[derive(Clone)]
pub(super) struct Filter<K> {
    /// Names with the required value; `None` accepts any value.
    pub labels: Vec<(String, Option<String>)>,
    pub annotations: Vec<(String, Option<String>)>,
    pub when: Vec<Predicate<K>>,
    /// Called with the object as it was handled last, if that is known, and as it is now.
    pub when_changed: Vec<ChangePredicate<K>>,
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
    /// Whether the object satisfies all filters but `when_changed`.
    pub fn accepts(&self, object: &K) -> bool {
        has(object.labels(), &self.labels)
            && has(object.annotations(), &self.annotations)
            && self.when.iter().all(|when| when(object))
    }

    pub fn accepts_change(&self, old: Option<&K>, object: &K) -> bool {
        self.when_changed.iter().all(|when| when(old, object))
    }
}

fn has(actual: &BTreeMap<String, String>, required: &[(String, Option<String>)]) -> bool {
    required.iter().all(|(name, value)| {
        let actual = actual.get(name);
        actual.is_some_and(|actual| value.as_ref().is_none_or(|value| value == actual))
    })
}
