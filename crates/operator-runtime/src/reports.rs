//! Reports that wait for their turn, of each object only the newest.
//!
//! In: what there is to say of an object. Out: one report after the other. No io.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use crate::decode::Undecodable;

/// What is still to be reported.
pub(crate) struct Reports<Key> {
    waiting: Mutex<HashMap<Key, Box<Undecodable>>>,
    more: Notify,
}

impl<Key> Default for Reports<Key> {
    fn default() -> Self {
        Self {
            waiting: Mutex::default(),
            more: Notify::new(),
        }
    }
}

impl<Key: Hash + Eq + Clone> Reports<Key> {
    /// Takes the place of an older report of the object.
    pub fn put(&self, key: Key, object: Box<Undecodable>) {
        self.lock().insert(key, object);
        self.more.notify_one();
    }

    /// There is nothing to say of the object any more.
    pub fn forget(&self, key: &Key) {
        self.lock().remove(key);
    }

    /// Waits until there is one.
    pub async fn next(&self) -> (Key, Box<Undecodable>) {
        loop {
            if let Some(report) = self.pop() {
                return report;
            }
            self.more.notified().await;
        }
    }

    fn pop(&self) -> Option<(Key, Box<Undecodable>)> {
        let mut waiting = self.lock();
        let key = waiting.keys().next()?.clone();
        waiting.remove_entry(&key)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Box<Undecodable>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[test]
    fn of_several_reports_of_an_object_the_newest_is_told() {
        let reports = Reports::default();
        let report = |error: &str| {
            Box::new(Undecodable {
                metadata: Default::default(),
                path: "spec".into(),
                error: error.into(),
            })
        };
        reports.put("a", report("old"));
        reports.put("b", report("mended"));
        reports.put("a", report("new"));
        reports.forget(&"b");
        let next = reports.next().now_or_never();
        let told = next.map(|(key, object)| (key, object.error));
        assert_eq!(told, Some(("a", "new".to_owned())));
        assert!(reports.next().now_or_never().is_none());
    }
}
