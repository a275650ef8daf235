//! The state that a controller keeps for one object, beside the object itself. Each method is a pure transition: no clock, no I/O.

use std::{sync::Arc, time::Duration};

use kube::{Resource, ResourceExt};
use tokio::time::Instant;

use super::Backoff;
use crate::{
    Action,
    engine::{decode::Undecodable, version},
};

/// The state of an object that is not idle; most objects are.
pub(super) struct ObjectState<K> {
    /// The number of consecutive failures.
    failures: u32,
    /// Whether the object was given up after these failures.
    is_given_up: bool,
    /// The result of our last write, until the cache has caught up with it.
    answer: Option<WriteAnswer<K>>,
    /// The versions of our writes before the last one, since a reconciliation began or succeeded.
    earlier_writes: Vec<String>,
    /// What has triggered the next reconciliation.
    triggers: Triggers,
    waiting: Option<Waiting>,
    /// The error of the newest version that cannot be decoded, until it is reported.
    undecodable: Option<Box<Undecodable>>,
    /// Whether a child was deleted, and the API server has not been asked since whether the object exists.
    lost_child: bool,
}

/// The result of a write.
enum WriteAnswer<K> {
    Written(Arc<K>),
    /// The object was deleted.
    Gone(Arc<K>),
}

#[derive(Default)]
struct Triggers {
    /// The versions of the object that the watch has reported.
    versions: Vec<String>,
    /// Whether there was another trigger.
    has_other: bool,
}

/// A failed reconciliation that waits for its retry.
struct Waiting {
    /// `None` if it waits for a change.
    until: Option<Instant>,
    /// The versions that the reconciliation read or wrote, whose events must not end the wait.
    versions: Vec<String>,
}

impl<K> Default for ObjectState<K> {
    fn default() -> Self {
        Self {
            failures: 0,
            is_given_up: false,
            answer: None,
            earlier_writes: vec![],
            triggers: Triggers::default(),
            waiting: None,
            undecodable: None,
            lost_child: false,
        }
    }
}

impl<K> ObjectState<K> {
    pub fn is_idle(&self) -> bool {
        let Self {
            failures,
            // an object that was given up has failures
            is_given_up: _,
            answer,
            earlier_writes,
            triggers,
            waiting,
            undecodable,
            lost_child,
        } = self;
        *failures == 0
            && answer.is_none()
            && earlier_writes.is_empty()
            && triggers.versions.is_empty()
            && !triggers.has_other
            && waiting.is_none()
            && undecodable.is_none()
            && !lost_child
    }

    pub fn is_failing(&self) -> bool {
        self.failures > 0
    }

    #[cfg(feature = "otel")]
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Counts a failure. Returns the number of consecutive failures, and the delay before the next attempt.
    pub fn fail(&mut self, backoff: Backoff, jitter: impl Fn(u32) -> f64) -> (u32, Duration) {
        if std::mem::take(&mut self.is_given_up) {
            self.failures = 0;
        }
        let delay = backoff.delay(self.failures, jitter(self.failures));
        self.failures = self.failures.saturating_add(1);
        (self.failures, delay)
    }

    /// Lets the next failure count as the first. Until then the object is failing.
    pub fn give_up(&mut self) {
        self.is_given_up = true;
    }

    pub fn succeed(&mut self) {
        self.failures = 0;
        self.is_given_up = false;
        self.earlier_writes.clear();
    }

    /// Records a trigger: a version that the watch has reported, or another reason.
    pub fn trigger(&mut self, version: Option<String>) {
        match version {
            Some(version) => self.triggers.versions.push(version),
            None => self.triggers.has_other = true,
        }
    }

    /// Waits for a retry of the failed reconciliation that read this version, or wrote it last.
    pub fn wait(&mut self, until: Option<Instant>, version: String) {
        let mut versions = std::mem::take(&mut self.earlier_writes);
        versions.push(version);
        self.waiting = Some(Waiting { until, versions });
    }

    /// Records the version of a write that another write has followed.
    pub fn record_earlier_write(&mut self, version: String) {
        self.earlier_writes.push(version);
    }

    /// Begins a reconciliation, or returns the action with which the object continues to wait, if only events of our own writes or of the
    /// version that was read have triggered it.
    pub fn begin(&mut self, now: Instant) -> Option<Action> {
        let triggers = std::mem::take(&mut self.triggers);
        if let Some(Waiting { until, versions }) = &self.waiting
            && !triggers.has_other
            && !triggers.versions.is_empty()
            && triggers.versions.iter().all(|seen| versions.contains(seen))
            && until.is_none_or(|until| now < until)
        {
            let rest = until.map(|until| until - now);
            return Some(rest.map_or_else(Action::await_change, Action::requeue));
        }
        self.waiting = None;
        self.earlier_writes.clear();
        None
    }

    pub fn record_lost_child(&mut self) {
        self.lost_child = true;
    }

    /// Whether a child was deleted; resets that.
    pub fn take_lost_child(&mut self) -> bool {
        std::mem::take(&mut self.lost_child)
    }

    /// Replaces the report. Returns whether there was none before.
    pub fn report(&mut self, object: Box<Undecodable>) -> bool {
        self.undecodable.replace(object).is_none()
    }

    pub fn take_report(&mut self) -> Option<Box<Undecodable>> {
        self.undecodable.take()
    }

    /// Resets the state of an object that was deleted, or cannot be decoded, except for its report.
    pub fn forget(&mut self) {
        *self = Self {
            undecodable: self.undecodable.take(),
            ..Self::default()
        };
    }
}

impl<K: Resource<DynamicType = ()>> ObjectState<K> {
    pub fn record_write(&mut self, object: Arc<K>) {
        self.earlier_writes.extend(self.written_version());
        self.answer = Some(WriteAnswer::Written(object));
    }

    /// Records that a write found the object deleted. A silent watch may report that much later, and until then each change of a child
    /// would recreate the children.
    pub fn record_gone(&mut self, object: Arc<K>) {
        self.answer = Some(WriteAnswer::Gone(object));
    }

    /// The cached object, or the result of our write if the cache is older; `None` if it is known to be deleted.
    pub fn newest(&mut self, cached: Arc<K>) -> Option<Arc<K>> {
        match &self.answer {
            Some(WriteAnswer::Written(own)) if is_older(&*cached, &**own) => Some(own.clone()),
            // an object with a newer version exists nevertheless, for example because etcd was restored from a backup
            Some(WriteAnswer::Gone(gone))
                if gone.uid() == cached.uid() && !is_older(&**gone, &*cached) =>
            {
                None
            }
            _ => {
                self.answer = None;
                Some(cached)
            }
        }
    }

    /// The version of our last write, unless the cache is known to have it.
    pub fn written_version(&self) -> Option<String> {
        match self.answer.as_ref()? {
            WriteAnswer::Written(own) => own.resource_version(),
            WriteAnswer::Gone(_) => None,
        }
    }
}

/// Whether the cache has an older version than the one that we wrote. A version that is not a number counts as newer.
fn is_older<K: Resource>(cached: &K, own: &K) -> bool {
    let number = |object: &K| version::number_of(object.meta());
    cached.uid() == own.uid()
        && matches!((number(cached), number(own)), (Some(cached), Some(own)) if cached < own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;

    const DELAY: Duration = Duration::from_secs(8);

    fn state() -> ObjectState<ConfigMap> {
        ObjectState::default()
    }

    fn version(version: &str) -> Option<String> {
        Some(version.into())
    }

    fn object(uid: &str, version: &str) -> Arc<ConfigMap> {
        let mut object = ConfigMap::default();
        object.metadata.name = Some("a".into());
        object.metadata.uid = Some(uid.into());
        object.metadata.resource_version = Some(version.into());
        Arc::new(object)
    }

    #[test]
    fn the_event_of_an_own_write_does_not_end_the_backoff() {
        let (mut state, now) = (state(), Instant::now());
        // Its event may come before the reconciliation has ended.
        state.trigger(version("10"));
        state.wait(Some(now + DELAY), "10".into());
        assert_eq!(state.begin(now), Some(Action::requeue(DELAY)));
        state.trigger(version("10"));
        let later = now + DELAY / 2;
        assert_eq!(state.begin(later), Some(Action::requeue(DELAY / 2)));
        assert_eq!(state.begin(now + DELAY), None, "its time has come");

        state.wait(None, "11".into());
        state.trigger(version("11"));
        assert_eq!(state.begin(now), Some(Action::await_change()));
    }

    #[test]
    fn after_an_object_was_given_up_the_next_failure_counts_as_the_first() {
        let backoff = Backoff {
            first: DELAY,
            last: DELAY,
        };
        let mut state = state();
        let fail = |state: &mut ObjectState<ConfigMap>| state.fail(backoff, |_| 0.0).0;
        assert_eq!([fail(&mut state), fail(&mut state)], [1, 2]);
        state.give_up();
        assert!(state.is_failing());
        assert_eq!([fail(&mut state), fail(&mut state)], [1, 2]);
        state.succeed();
        assert!(state.is_idle());
        assert_eq!(fail(&mut state), 1);
    }

    #[test]
    fn each_of_several_own_writes_keeps_the_backoff() {
        let (mut state, now) = (state(), Instant::now());
        state.record_earlier_write("10".into());
        state.record_earlier_write("11".into());
        state.wait(Some(now + DELAY), "12".into());
        for seen in ["10", "11", "12"] {
            state.trigger(version(seen));
        }
        assert_eq!(state.begin(now), Some(Action::requeue(DELAY)));
        state.trigger(version("13"));
        assert_eq!(state.begin(now), None);
        state.wait(Some(now + DELAY), "13".into());
        state.trigger(version("10"));
        assert_eq!(state.begin(now), None, "writes of an earlier attempt");
    }

    #[test]
    fn any_other_trigger_ends_the_backoff() {
        let (mut state, now) = (state(), Instant::now());
        for triggers in [
            &[version("9"), version("10")][..],
            &[version("10"), version("11")],
            &[version("10"), None],
            &[None],
        ] {
            state.wait(Some(now + DELAY), "10".into());
            for version in triggers {
                state.trigger(version.clone());
            }
            assert_eq!(state.begin(now), None, "{triggers:?}");
            assert!(state.is_idle(), "nothing is kept");
        }
    }

    #[test]
    fn the_cache_is_used_once_it_has_caught_up_with_a_write() {
        let mut state = state();
        state.record_write(object("1", "10"));
        let mut version = |cached| state.newest(cached).unwrap().resource_version().unwrap();
        assert_eq!(
            version(object("1", "9")),
            "10",
            "9 is older, though not as text"
        );
        assert_eq!(version(object("1", "10")), "10");
        assert_eq!(version(object("1", "9")), "9", "the answer is forgotten");
        assert!(state.is_idle());
    }

    #[test]
    fn an_object_recreated_under_the_name_is_not_mistaken_for_the_old_one() {
        let mut state = state();
        state.record_write(object("1", "10"));
        let newest = state.newest(object("2", "5")).unwrap();
        assert_eq!(newest.uid().as_deref(), Some("2"));
    }

    #[test]
    fn an_object_deleted_according_to_a_write_is_not_read_from_the_cache() {
        let mut state = state();
        for there in [object("1", "11"), object("2", "9")] {
            state.record_gone(object("1", "10"));
            assert!(state.newest(object("1", "9")).is_none());
            assert!(state.newest(object("1", "10")).is_none());
            assert!(state.newest(there.clone()).is_some());
            assert!(state.newest(there).is_some());
        }
    }

    #[test]
    fn a_forgotten_object_is_still_reported() {
        let (mut state, now) = (state(), Instant::now());
        let report = Undecodable {
            metadata: Default::default(),
            path: "spec".into(),
            error: "wrong".into(),
        };
        state.trigger(None);
        state.wait(Some(now), "1".into());
        state.record_write(object("1", "1"));
        state.record_lost_child();
        assert!(state.report(Box::new(report)));
        state.forget();
        assert_eq!(state.take_report().unwrap().error, "wrong");
        assert!(state.is_idle());
    }
}
