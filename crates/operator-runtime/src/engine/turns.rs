//! Limits how many objects a controller handles at the same time, and delivers the notices of deleted objects between reconciliations.
//!
//! An object is handled either by a reconciliation or by a notice. A notice is delivered before a new object with the same name is
//! reconciled. Waiting notices have priority over waiting reconciliations. No I/O.

use std::{
    collections::{HashSet, VecDeque},
    num::NonZeroU16,
    sync::{Arc, Mutex},
};

use kube::{Resource, runtime::reflector::ObjectRef};
use tokio::sync::Notify;

use crate::lock::lock;

/// The turns of a controller.
pub(crate) struct Turns<K: Resource<DynamicType = ()> + 'static> {
    workers: usize,
    state: Mutex<State<K>>,
    changed: Notify,
}

struct State<K: Resource<DynamicType = ()> + 'static> {
    /// The names of the objects that are being handled.
    busy: HashSet<ObjectRef<K>>,
    /// The deleted objects of which the controller has not been notified.
    deleted: VecDeque<(ObjectRef<K>, Arc<K>)>,
    is_closed: bool,
}

/// The exclusive right to handle an object, which ends when this is dropped.
pub(crate) struct Turn<'a, K: Resource<DynamicType = ()> + 'static> {
    turns: &'a Turns<K>,
    key: ObjectRef<K>,
}

impl<K: Resource<DynamicType = ()> + 'static> Turns<K> {
    pub fn new(workers: NonZeroU16) -> Self {
        Self {
            workers: workers.get().into(),
            state: Mutex::new(State {
                busy: HashSet::new(),
                deleted: VecDeque::new(),
                is_closed: false,
            }),
            changed: Notify::new(),
        }
    }

    /// Adds a notice that the object was deleted.
    pub fn push(&self, key: &ObjectRef<K>, object: Arc<K>) {
        let mut state = lock(&self.state);
        if !state.is_closed {
            state.deleted.push_back((key.clone(), object));
            self.changed.notify_waiters();
        }
    }

    /// Drops the notices that wait, and those that follow.
    pub fn close(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        state.deleted.clear();
        self.changed.notify_waiters();
    }

    /// Waits for the turn to reconcile an object.
    pub async fn reconcile(&self, key: &ObjectRef<K>) -> Turn<'_, K> {
        loop {
            let changed = self.changed.notified();
            {
                let mut state = lock(&self.state);
                if state.next_deleted().is_none() && state.begin(key, self.workers) {
                    return self.turn(key.clone());
                }
            }
            changed.await;
        }
    }

    /// Waits for the turn to notify the controller of a deleted object.
    pub async fn deleted(&self) -> (Turn<'_, K>, Arc<K>) {
        loop {
            let changed = self.changed.notified();
            {
                let mut state = lock(&self.state);
                let next = state.next_deleted();
                if let Some(index) = next.filter(|_| state.busy.len() < self.workers)
                    && let Some((key, object)) = state.deleted.remove(index)
                {
                    state.busy.insert(key.clone());
                    return (self.turn(key), object);
                }
            }
            changed.await;
        }
    }

    fn turn(&self, key: ObjectRef<K>) -> Turn<'_, K> {
        Turn { turns: self, key }
    }
}

impl<K: Resource<DynamicType = ()> + 'static> State<K> {
    /// The first notice of an object that is not being handled.
    fn next_deleted(&self) -> Option<usize> {
        self.deleted
            .iter()
            .position(|(key, _)| !self.busy.contains(key))
    }

    fn begin(&mut self, key: &ObjectRef<K>, workers: usize) -> bool {
        let may = self.busy.len() < workers && !self.busy.contains(key);
        may && self.busy.insert(key.clone())
    }
}

impl<K: Resource<DynamicType = ()> + 'static> Drop for Turn<'_, K> {
    fn drop(&mut self) {
        lock(&self.turns.state).busy.remove(&self.key);
        self.turns.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use k8s_openapi::api::core::v1::ConfigMap;
    use std::pin::pin;

    fn key(name: &str) -> ObjectRef<ConfigMap> {
        ObjectRef::new(name)
    }

    fn turns(workers: u16) -> Turns<ConfigMap> {
        Turns::new(NonZeroU16::new(workers).unwrap())
    }

    #[test]
    fn no_more_objects_are_handled_than_there_are_workers() {
        let turns = turns(2);
        let first = turns.reconcile(&key("a")).now_or_never().unwrap();
        let _second = turns.reconcile(&key("b")).now_or_never().unwrap();
        let b = key("c");
        let mut third = pin!(turns.reconcile(&b));
        assert!((&mut third).now_or_never().is_none());
        drop(first);
        assert!((&mut third).now_or_never().is_some());
    }

    #[test]
    fn a_notice_comes_before_the_next_object_of_that_name_is_reconciled() {
        let turns = turns(2);
        let reconciling = turns.reconcile(&key("a")).now_or_never().unwrap();
        turns.push(&key("a"), Arc::default());
        assert!(turns.deleted().now_or_never().is_none(), "it is reconciled");
        let other = turns.reconcile(&key("b")).now_or_never();
        assert!(other.is_some(), "others are");
        drop((reconciling, other));
        assert!(turns.reconcile(&key("a")).now_or_never().is_none());
        let notice = turns.deleted().now_or_never().unwrap();
        assert!(turns.reconcile(&key("a")).now_or_never().is_none());
        drop(notice);
        assert!(turns.reconcile(&key("a")).now_or_never().is_some());
    }

    #[test]
    fn a_notice_uses_a_worker_and_goes_first() {
        let turns = turns(1);
        turns.push(&key("a"), Arc::default());
        assert!(turns.reconcile(&key("b")).now_or_never().is_none());
        let notice = turns.deleted().now_or_never().unwrap();
        turns.push(&key("c"), Arc::default());
        assert!(turns.deleted().now_or_never().is_none());
        drop(notice);
        assert!(turns.deleted().now_or_never().is_some());
    }

    #[test]
    fn after_the_end_notices_keep_nobody_waiting() {
        let turns = turns(1);
        turns.push(&key("a"), Arc::default());
        turns.close();
        turns.push(&key("b"), Arc::default());
        assert!(turns.deleted().now_or_never().is_none());
        assert!(turns.reconcile(&key("a")).now_or_never().is_some());
    }
}
