//! The state that a controller keeps for its objects, beside their cache: failures, results of writes, triggers and reports.
//!
//! An idle object has no state. No I/O.

mod backoff;
mod state;

use std::{
    collections::{HashMap, VecDeque},
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex},
    time::Duration,
};

use kube::{Resource, runtime::reflector::ObjectRef};
use tokio::{sync::Notify, time::Instant};

pub(crate) use self::backoff::Backoff;
use self::state::ObjectState;
use crate::{Action, engine::decode::Undecodable, lock::lock};

/// The objects of a controller that are not idle.
pub(crate) struct Objects<K: Resource<DynamicType = ()> + 'static> {
    backoff: Backoff,
    random: RandomState,
    states: Mutex<States<K>>,
    has_reports: Notify,
}

struct States<K: Resource<DynamicType = ()> + 'static> {
    by_object: HashMap<ObjectRef<K>, ObjectState<K>>,
    failing: usize,
    /// The objects that may have a report to deliver.
    reports: VecDeque<ObjectRef<K>>,
}

impl<K: Resource<DynamicType = ()> + 'static> Objects<K> {
    pub fn new(backoff: Backoff) -> Self {
        Self {
            backoff,
            random: RandomState::new(),
            states: Mutex::new(States {
                by_object: HashMap::new(),
                failing: 0,
                reports: VecDeque::new(),
            }),
            has_reports: Notify::new(),
        }
    }

    /// Counts a failure of the object. Returns the number of consecutive failures, and the delay before the next attempt: the one that the
    /// error sets, or else a growing one.
    pub fn fail(&self, key: &ObjectRef<K>, delay: Option<Duration>) -> (u32, Duration) {
        let jitter = |failures| self.random.hash_one((key, failures)) as f64 / u64::MAX as f64;
        self.change(key, |state| {
            let (failures, backoff) = state.fail(self.backoff, jitter);
            let set = delay.map(|delay| delay.mul_f64(1.0 + jitter(failures) / 5.0));
            (failures, set.unwrap_or(backoff))
        })
    }

    /// Lets the next failure of the object count as the first.
    pub fn give_up(&self, key: &ObjectRef<K>) {
        self.change(key, ObjectState::give_up);
    }

    /// The number of consecutive failures of the object.
    #[cfg(feature = "otel")]
    pub fn failures(&self, key: &ObjectRef<K>) -> u32 {
        self.change(key, |state| state.failures())
    }

    pub fn succeed(&self, key: &ObjectRef<K>) {
        self.change(key, ObjectState::succeed);
    }

    /// The number of objects whose last reconciliation failed.
    pub fn failing(&self) -> usize {
        lock(&self.states).failing
    }

    /// Records the object that a write returned.
    pub fn record_write(&self, key: &ObjectRef<K>, object: Arc<K>) {
        self.change(key, |state| state.record_write(object));
    }

    /// Records that a write found the object deleted.
    pub fn record_gone(&self, key: &ObjectRef<K>, object: Arc<K>) {
        self.change(key, |state| state.record_gone(object));
    }

    /// The cached object, or the result of our write if the cache is older; `None` if it is known to be deleted.
    pub fn newest(&self, key: &ObjectRef<K>, cached: Arc<K>) -> Option<Arc<K>> {
        self.change(key, |state| state.newest(cached))
    }

    /// Triggers a reconciliation, because the watch has reported this version, or for another reason. `exists` is called while nothing can
    /// [forget](Self::forget) the object, so that a deleted object gets no state.
    pub fn trigger(
        &self,
        key: &ObjectRef<K>,
        version: Option<String>,
        exists: impl FnOnce() -> bool,
    ) {
        self.change(key, |state| {
            if exists() {
                state.trigger(version);
            }
        });
    }

    /// Records the version of a write that another write has followed.
    pub fn record_earlier_write(&self, key: &ObjectRef<K>, version: String) {
        self.change(key, |state| state.record_earlier_write(version));
    }

    /// Lets a failed object wait. Events of the version that the failed reconciliation read, or of its own writes, do not end the wait.
    pub fn wait(&self, key: &ObjectRef<K>, until: Option<Instant>, read: Option<String>) {
        self.change(key, |state| {
            if let Some(version) = state.written_version().or(read) {
                state.wait(until, version);
            }
        });
    }

    /// Begins a reconciliation of the object, or returns the action with which it continues to wait.
    pub fn begin(&self, key: &ObjectRef<K>, now: Instant) -> Option<Action> {
        self.change(key, |state| state.begin(now))
    }

    /// Records that a child of the object was deleted; `exists` as for [`trigger`](Self::trigger).
    pub fn record_lost_child(&self, key: &ObjectRef<K>, exists: impl FnOnce() -> bool) {
        self.change(key, |state| {
            if exists() {
                state.record_lost_child();
            }
        });
    }

    /// Whether a child of the object was deleted; resets that.
    pub fn take_lost_child(&self, key: &ObjectRef<K>) -> bool {
        self.change(key, ObjectState::take_lost_child)
    }

    /// Adds a report that the newest version of the object cannot be decoded.
    pub fn report(&self, key: &ObjectRef<K>, object: Box<Undecodable>) {
        let is_new = self.change(key, |state| state.report(object));
        if is_new {
            lock(&self.states).reports.push_back(key.clone());
        }
        self.has_reports.notify_one();
    }

    /// Removes the report, because the newest version of the object can be decoded.
    pub fn withdraw_report(&self, key: &ObjectRef<K>) {
        self.change(key, |state| drop(state.take_report()));
    }

    /// Waits for the next report; only the newest report of an object is delivered.
    pub async fn next_report(&self) -> (ObjectRef<K>, Box<Undecodable>) {
        loop {
            let next = lock(&self.states).reports.pop_front();
            match next {
                Some(key) => {
                    if let Some(report) = self.change(&key, ObjectState::take_report) {
                        return (key, report);
                    }
                }
                None => self.has_reports.notified().await,
            }
        }
    }

    /// Forgets an object that was deleted, or cannot be decoded.
    pub fn forget(&self, key: &ObjectRef<K>) {
        self.change(key, ObjectState::forget);
    }

    /// Changes the state of an object, which is removed if the object is idle afterwards.
    fn change<T>(&self, key: &ObjectRef<K>, change: impl FnOnce(&mut ObjectState<K>) -> T) -> T {
        let mut states = lock(&self.states);
        let States {
            by_object, failing, ..
        } = &mut *states;
        let state = by_object.entry(key.clone()).or_default();
        let was_failing = state.is_failing();
        let result = change(state);
        *failing = *failing + usize::from(state.is_failing()) - usize::from(was_failing);
        if state.is_idle() {
            by_object.remove(key);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use k8s_openapi::api::core::v1::ConfigMap;

    const BACKOFF: Backoff = Backoff {
        first: Duration::from_secs(1),
        last: Duration::from_secs(300),
    };

    fn key(name: &str) -> ObjectRef<ConfigMap> {
        ObjectRef::new(name)
    }

    #[test]
    fn each_object_has_its_own_delay_and_success_resets_it() {
        let objects = Objects::new(BACKOFF);
        let (count, first) = objects.fail(&key("a"), None);
        let (next, second) = objects.fail(&key("a"), None);
        assert!((count, next) == (1, 2) && second > first);
        assert!(objects.fail(&key("b"), None).1 <= BACKOFF.first);
        assert_eq!(objects.failing(), 2);
        objects.succeed(&key("a"));
        assert_eq!(objects.failing(), 1);
        assert_eq!(
            objects.fail(&key("a"), None),
            (1, first),
            "the jitter depends on the object and the count only"
        );
        objects.forget(&key("a"));
        objects.forget(&key("b"));
        assert_eq!(objects.failing(), 0);
        assert!(lock(&objects.states).by_object.is_empty());
    }

    #[test]
    fn delays_of_objects_that_fail_together_differ() {
        let objects = Objects::new(BACKOFF);
        let delays: Vec<_> = (0..50)
            .map(|name| objects.fail(&key(&name.to_string()), None).1)
            .collect();
        let bounds = Duration::from_millis(800)..=Duration::from_secs(1);
        assert!(
            delays.iter().all(|delay| bounds.contains(delay)),
            "{delays:?}"
        );
        assert!(
            delays.iter().any(|delay| *delay != delays[0]),
            "no jitter at all"
        );
    }

    #[test]
    fn only_the_newest_report_of_an_object_is_delivered() {
        let objects = Objects::new(BACKOFF);
        let report = |error: &str| {
            Box::new(Undecodable {
                metadata: Default::default(),
                path: "spec".into(),
                error: error.into(),
            })
        };
        objects.report(&key("a"), report("old"));
        objects.report(&key("b"), report("fixed"));
        objects.report(&key("a"), report("new"));
        objects.withdraw_report(&key("b"));
        let next = objects.next_report().now_or_never();
        let reported = next.map(|(key, object)| (key.name, object.error));
        assert_eq!(reported, Some(("a".to_owned(), "new".to_owned())));
        assert!(objects.next_report().now_or_never().is_none());
        assert!(lock(&objects.states).by_object.is_empty());
    }

    #[test]
    fn an_object_that_is_deleted_during_a_trigger_has_no_state() {
        let objects = Objects::new(BACKOFF);
        let add: &dyn Fn(&mut dyn FnMut() -> bool) =
            &|exists| objects.trigger(&key("a"), None, exists);
        let lose: &dyn Fn(&mut dyn FnMut() -> bool) =
            &|exists| objects.record_lost_child(&key("a"), exists);
        for change in [add, lose] {
            std::thread::scope(|scope| {
                change(&mut || {
                    // it still exists, and is deleted and forgotten at once
                    scope.spawn(|| objects.forget(&key("a")));
                    std::thread::sleep(Duration::from_millis(50));
                    true
                });
            });
            assert!(lock(&objects.states).by_object.is_empty());
            change(&mut || false);
            assert!(lock(&objects.states).by_object.is_empty());
        }
    }
}
