//! Limits how many objects a controller handles at the same time, and delivers the notices of deleted objects between reconciliations.
//!
//! A notice is a call of [`Reconciler::deleted`](crate::Reconciler::deleted). An object is handled either by a reconciliation or by a
//! notice. A notice is delivered before a new object with the same name is reconciled. Waiting notices have priority over waiting
//! reconciliations. No I/O.

use std::{
    collections::{HashSet, VecDeque},
    num::NonZeroU16,
    sync::{Arc, Mutex},
};

use kube::{Resource, runtime::reflector::ObjectRef};
use tokio::sync::Notify;

use crate::lock::lock;

/// The objects of a controller that are being handled.
pub(crate) struct ObjectLocks<K: Resource<DynamicType = ()> + 'static> {
    workers: usize,
    state: Mutex<State<K>>,
    changed: Notify,
}

struct State<K: Resource<DynamicType = ()> + 'static> {
    /// The names of the objects that are being handled.
    busy: HashSet<ObjectRef<K>>,
    /// The deleted objects whose notices wait.
    deleted: VecDeque<(ObjectRef<K>, Arc<K>)>,
    is_closed: bool,
}

/// The lock of an object, which is released when this is dropped.
pub(crate) struct ObjectGuard<'a, K: Resource<DynamicType = ()> + 'static> {
    locks: &'a ObjectLocks<K>,
    key: ObjectRef<K>,
}

impl<K: Resource<DynamicType = ()> + 'static> ObjectLocks<K> {
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

    /// Drops the notices that wait, and all further ones.
    pub fn close(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        state.deleted.clear();
        self.changed.notify_waiters();
    }

    /// Waits until the object can be reconciled, and locks it.
    pub async fn reconcile(&self, key: &ObjectRef<K>) -> ObjectGuard<'_, K> {
        loop {
            let changed = self.changed.notified();
            {
                let mut state = lock(&self.state);
                if state.next_deleted().is_none() && state.begin(key, self.workers) {
                    return self.guard(key.clone());
                }
            }
            changed.await;
        }
    }

    /// Waits until a notice can be delivered, and locks its object.
    pub async fn deleted(&self) -> (ObjectGuard<'_, K>, Arc<K>) {
        loop {
            let changed = self.changed.notified();
            {
                let mut state = lock(&self.state);
                let next = state.next_deleted();
                if let Some(index) = next.filter(|_| state.busy.len() < self.workers)
                    && let Some((key, object)) = state.deleted.remove(index)
                {
                    state.busy.insert(key.clone());
                    return (self.guard(key), object);
                }
            }
            changed.await;
        }
    }

    fn guard(&self, key: ObjectRef<K>) -> ObjectGuard<'_, K> {
        ObjectGuard { locks: self, key }
    }
}

impl<K: Resource<DynamicType = ()> + 'static> State<K> {
    /// The index of the first notice whose object is not being handled.
    fn next_deleted(&self) -> Option<usize> {
        self.deleted
            .iter()
            .position(|(key, _)| !self.busy.contains(key))
    }

    /// Locks the object, if it is free and fewer than `workers` objects are locked. Returns whether it did.
    fn begin(&mut self, key: &ObjectRef<K>, workers: usize) -> bool {
        let may = self.busy.len() < workers && !self.busy.contains(key);
        may && self.busy.insert(key.clone())
    }
}

impl<K: Resource<DynamicType = ()> + 'static> Drop for ObjectGuard<'_, K> {
    fn drop(&mut self) {
        lock(&self.locks.state).busy.remove(&self.key);
        self.locks.changed.notify_waiters();
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

    fn locks(workers: u16) -> ObjectLocks<ConfigMap> {
        ObjectLocks::new(NonZeroU16::new(workers).unwrap())
    }

    #[test]
    fn no_more_objects_are_handled_than_there_are_workers() {
        let locks = locks(2);
        let first = locks.reconcile(&key("a")).now_or_never().unwrap();
        let _second = locks.reconcile(&key("b")).now_or_never().unwrap();
        let c = key("c");
        let mut third = pin!(locks.reconcile(&c));
        assert!((&mut third).now_or_never().is_none());
        drop(first);
        assert!((&mut third).now_or_never().is_some());
    }

    #[test]
    fn a_notice_comes_before_the_next_object_of_that_name_is_reconciled() {
        let locks = locks(2);
        let reconciling = locks.reconcile(&key("a")).now_or_never().unwrap();
        locks.push(&key("a"), Arc::default());
        assert!(
            locks.deleted().now_or_never().is_none(),
            "it is being reconciled"
        );
        let other = locks.reconcile(&key("b")).now_or_never();
        assert!(other.is_some(), "others do not wait for it");
        drop((reconciling, other));
        assert!(locks.reconcile(&key("a")).now_or_never().is_none());
        let notice = locks.deleted().now_or_never().unwrap();
        assert!(locks.reconcile(&key("a")).now_or_never().is_none());
        drop(notice);
        assert!(locks.reconcile(&key("a")).now_or_never().is_some());
    }

    #[test]
    fn a_notice_uses_a_worker_and_goes_first() {
        let locks = locks(1);
        locks.push(&key("a"), Arc::default());
        assert!(locks.reconcile(&key("b")).now_or_never().is_none());
        let notice = locks.deleted().now_or_never().unwrap();
        locks.push(&key("c"), Arc::default());
        assert!(locks.deleted().now_or_never().is_none());
        drop(notice);
        assert!(locks.deleted().now_or_never().is_some());
    }

    #[test]
    fn closed_locks_have_no_notices_to_wait_for() {
        let locks = locks(1);
        locks.push(&key("a"), Arc::default());
        locks.close();
        locks.push(&key("b"), Arc::default());
        assert!(locks.deleted().now_or_never().is_none());
        assert!(locks.reconcile(&key("a")).now_or_never().is_some());
    }
}
