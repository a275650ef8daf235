//! The metrics of a controller's work queue, under the names of client-go. kube's scheduler is the queue; this module counts the objects
//! that enter it, wait in it, and leave it. Until its reconciliation starts, an object counts only once, even if it is triggered several
//! times.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{BuildHasher, Hash, RandomState},
    sync::{Arc, Mutex, atomic::AtomicU64},
    time::Duration,
};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};
use tokio::time::Instant;

use crate::lock::lock;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct QueueLabels {
    name: Arc<str>,
    controller: Arc<str>,
}

/// A gauge of seconds with fractions.
type Seconds = Gauge<f64, AtomicU64>;

/// The work queue of one controller.
pub(crate) struct Queue {
    random: RandomState,
    entries: Mutex<Entries>,
    depth: Gauge,
    adds: Counter,
    retries: Counter,
    waited: Histogram,
    worked: Histogram,
    unfinished: Seconds,
    longest: Seconds,
}

/// The objects by the hashes of their names, which take less memory; a collision only makes a metric inexact.
#[derive(Default)]
struct Entries {
    queued: HashMap<u64, Queued>,
    /// When the reconciliations in flight started.
    running: HashMap<u64, Instant>,
}

/// An object that waits for its reconciliation.
#[derive(Clone, Copy, Debug)]
enum Queued {
    /// It waits for a worker since this time.
    Since(Instant),
    /// It waits for this time, and does not count as added before.
    At(Instant),
}

impl Queue {
    /// Adds an object that was triggered, if it `exists`. That is called while nothing can [forget](Self::forget) the object, and the
    /// caller of `forget` removes it from the cache before, so that a deleted object is not added.
    pub fn add(&self, object: &impl Hash, exists: impl FnOnce() -> bool) {
        let id = self.random.hash_one(object);
        let now = Instant::now();
        let mut entries = lock(&self.entries);
        if !exists() {
            return;
        }
        let since = match entries.queued.get(&id) {
            Some(Queued::Since(_)) => return,
            Some(Queued::At(time)) => now.min(*time),
            None => now,
        };
        entries.queued.insert(id, Queued::Since(since));
        self.adds.inc();
    }

    /// Adds an object after this delay, or when it is triggered before. The caller forgets it if it does not exist.
    pub fn add_after(&self, object: &impl Hash, delay: Duration) {
        if delay.is_zero() {
            return self.add(object, || true);
        }
        self.retries.inc();
        self.wait(object, delay, || true);
    }

    /// Removes an object that is not reconciled now; it is added again after this delay, or when it is triggered. `exists` as for
    /// [`add`](Self::add).
    pub fn skip(&self, object: &impl Hash, delay: Option<Duration>, exists: impl FnOnce() -> bool) {
        self.forget(object);
        if let Some(delay) = delay {
            self.wait(object, delay, exists);
        }
    }

    /// Lets an object wait for this delay, unless it waits already.
    fn wait(&self, object: &impl Hash, delay: Duration, exists: impl FnOnce() -> bool) {
        let id = self.random.hash_one(object);
        // so far in the future that it cannot be represented: not counted
        let Some(at) = Instant::now().checked_add(delay) else {
            return;
        };
        let mut entries = lock(&self.entries);
        if exists() {
            entries.queued.entry(id).or_insert(Queued::At(at));
        }
    }

    /// Records that the reconciliation of an object starts.
    pub fn start(&self, object: &impl Hash) {
        let id = self.random.hash_one(object);
        let now = Instant::now();
        let mut entries = lock(&self.entries);
        let queued = entries.queued.remove(&id);
        entries.running.insert(id, now);
        drop(entries);
        let since = match queued {
            Some(Queued::Since(since)) => since,
            Some(Queued::At(time)) => {
                self.adds.inc();
                time
            }
            None => {
                self.adds.inc();
                now
            }
        };
        let waited = now.saturating_duration_since(since);
        self.waited.observe(waited.as_secs_f64());
    }

    /// Records that the reconciliation of an object has ended.
    pub fn done(&self, object: &impl Hash) {
        let id = self.random.hash_one(object);
        let started = lock(&self.entries).running.remove(&id);
        if let Some(started) = started {
            self.worked.observe(started.elapsed().as_secs_f64());
        }
    }

    /// Removes an object that was deleted, or cannot be decoded.
    pub fn forget(&self, object: &impl Hash) {
        let id = self.random.hash_one(object);
        lock(&self.entries).queued.remove(&id);
    }

    /// Computes the values that change with time.
    fn refresh(&self) {
        let now = Instant::now();
        let mut depth = 0;
        let mut entries = lock(&self.entries);
        for queued in entries.queued.values_mut() {
            match *queued {
                Queued::Since(_) => depth += 1,
                Queued::At(time) if time <= now => {
                    *queued = Queued::Since(time);
                    self.adds.inc();
                    depth += 1;
                }
                Queued::At(_) => {}
            }
        }
        let seconds = entries
            .running
            .values()
            .map(|started| (now - *started).as_secs_f64());
        let (total, longest) = seconds.fold((0.0, 0.0_f64), |(total, longest), seconds| {
            (total + seconds, longest.max(seconds))
        });
        self.depth.set(depth);
        self.unfinished.set(total);
        self.longest.set(longest);
    }
}

/// The work queues of all controllers.
pub(super) struct Queues {
    by_name: Mutex<BTreeMap<Arc<str>, Arc<Queue>>>,
    depth: Family<QueueLabels, Gauge>,
    adds: Family<QueueLabels, Counter>,
    retries: Family<QueueLabels, Counter>,
    waited: Family<QueueLabels, Histogram>,
    worked: Family<QueueLabels, Histogram>,
    unfinished: Family<QueueLabels, Seconds>,
    longest: Family<QueueLabels, Seconds>,
}

impl Queues {
    pub fn register(registry: &mut Registry) -> Self {
        let seconds: fn() -> Histogram = || Histogram::new(exponential_buckets(1e-8, 10.0, 12));
        let queues = Self {
            by_name: Mutex::default(),
            depth: Family::default(),
            adds: Family::default(),
            retries: Family::default(),
            waited: Family::new_with_constructor(seconds),
            worked: Family::new_with_constructor(seconds),
            unfinished: Family::default(),
            longest: Family::default(),
        };
        registry.register(
            "workqueue_depth",
            "Objects that wait for a free worker",
            queues.depth.clone(),
        );
        registry.register(
            "workqueue_adds",
            "Objects added to the queue",
            queues.adds.clone(),
        );
        registry.register(
            "workqueue_retries",
            "Objects that are added again after a delay",
            queues.retries.clone(),
        );
        registry.register(
            "workqueue_queue_duration_seconds",
            "How long objects wait before their reconciliation starts",
            queues.waited.clone(),
        );
        registry.register(
            "workqueue_work_duration_seconds",
            "How long the reconciliations of objects take, with their events and other results",
            queues.worked.clone(),
        );
        registry.register(
            "workqueue_unfinished_work_seconds",
            "The time so far of all reconciliations in flight",
            queues.unfinished.clone(),
        );
        registry.register(
            "workqueue_longest_running_processor_seconds",
            "The time so far of the longest reconciliation in flight",
            queues.longest.clone(),
        );
        queues
    }

    /// The queue of a controller; always the same one for a name.
    pub fn of_controller(&self, controller: &Arc<str>) -> Arc<Queue> {
        let labels = QueueLabels {
            name: controller.clone(),
            controller: controller.clone(),
        };
        let mut queues = lock(&self.by_name);
        let queue = queues.entry(controller.clone()).or_insert_with(|| {
            Arc::new(Queue {
                random: RandomState::new(),
                entries: Mutex::default(),
                depth: self.depth.get_or_create_owned(&labels),
                adds: self.adds.get_or_create_owned(&labels),
                retries: self.retries.get_or_create_owned(&labels),
                waited: self.waited.get_or_create_owned(&labels),
                worked: self.worked.get_or_create_owned(&labels),
                unfinished: self.unfinished.get_or_create_owned(&labels),
                longest: self.longest.get_or_create_owned(&labels),
            })
        });
        queue.clone()
    }

    pub fn refresh(&self) {
        for queue in lock(&self.by_name).values() {
            queue.refresh();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::encoding::text;
    use tokio::time::advance;

    struct Observed {
        registry: Registry,
        queues: Queues,
        queue: Arc<Queue>,
    }

    impl Observed {
        fn new() -> Self {
            let mut registry = Registry::default();
            let queues = Queues::register(&mut registry);
            let queue = queues.of_controller(&"memcached".into());
            Self {
                registry,
                queues,
                queue,
            }
        }

        /// The value of each metric, in this order.
        fn values<const N: usize>(&self, metrics: [&str; N]) -> [f64; N] {
            self.queues.refresh();
            let mut page = String::new();
            text::encode(&mut page, &self.registry).unwrap();
            metrics.map(|metric| {
                let start = format!("workqueue_{metric}{{name=\"memcached\"");
                let line = page.lines().find(|line| line.starts_with(&start));
                let value = line.unwrap().rsplit(' ').next().unwrap();
                value.parse().unwrap()
            })
        }
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn an_object_counts_once_until_its_reconciliation_starts() {
        let observed = Observed::new();
        let queue = &observed.queue;
        queue.add(&"a", || true);
        advance(SECOND).await;
        queue.add(&"a", || true);
        queue.add(&"b", || true);
        assert_eq!(observed.values(["depth", "adds_total"]), [2.0, 2.0]);
        queue.start(&"a");
        let waited = ["queue_duration_seconds_count", "queue_duration_seconds_sum"];
        assert_eq!(observed.values(waited), [1.0, 1.0], "since the first one");
        queue.add(&"a", || true);
        assert_eq!(
            observed.values(["depth", "adds_total"]),
            [2.0, 3.0],
            "it is queued again while it is reconciled"
        );
        queue.forget(&"b");
        assert_eq!(observed.values(["depth"]), [1.0]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_delayed_object_waits_from_the_time_it_is_due() {
        let observed = Observed::new();
        let queue = &observed.queue;
        queue.add_after(&"a", SECOND);
        queue.add_after(&"b", SECOND * 60);
        let counted = ["depth", "adds_total", "retries_total"];
        assert_eq!(observed.values(counted), [0.0, 0.0, 2.0]);
        advance(SECOND * 3).await;
        assert_eq!(observed.values(counted), [1.0, 1.0, 2.0]);
        queue.start(&"a");
        queue.add(&"b", || true);
        queue.start(&"b");
        assert_eq!(observed.values(counted), [0.0, 2.0, 2.0]);
        let waited = ["queue_duration_seconds_count", "queue_duration_seconds_sum"];
        assert_eq!(observed.values(waited), [2.0, 2.0]);
        queue.add_after(&"c", SECOND);
        advance(SECOND * 2).await;
        queue.start(&"c");
        assert_eq!(
            observed.values(["adds_total"]),
            [3.0],
            "without a page in between"
        );
        queue.skip(&"d", Some(SECOND), || true);
        queue.add_after(&"d", Duration::MAX);
        assert_eq!(observed.values(counted), [0.0, 3.0, 4.0]);
    }

    #[tokio::test(start_paused = true)]
    async fn work_in_flight_is_unfinished_until_it_is_done() {
        let observed = Observed::new();
        let queue = &observed.queue;
        queue.start(&"a");
        advance(SECOND * 2).await;
        queue.start(&"b");
        advance(SECOND).await;
        let running = [
            "unfinished_work_seconds",
            "longest_running_processor_seconds",
        ];
        assert_eq!(observed.values(running), [4.0, 3.0]);
        queue.done(&"a");
        assert_eq!(observed.values(running), [1.0, 1.0]);
        let worked = ["work_duration_seconds_count", "work_duration_seconds_sum"];
        assert_eq!(observed.values(worked), [1.0, 3.0]);
    }

    #[test]
    fn an_object_that_is_deleted_during_a_trigger_is_not_queued() {
        let observed = Observed::new();
        let queue = &observed.queue;
        let add: &dyn Fn(&mut dyn FnMut() -> bool) = &|exists| queue.add(&"a", exists);
        let skip: &dyn Fn(&mut dyn FnMut() -> bool) =
            &|exists| queue.skip(&"a", Some(Duration::ZERO), exists);
        for enqueue in [add, skip] {
            std::thread::scope(|scope| {
                enqueue(&mut || {
                    // it still exists, and is deleted and forgotten at once
                    scope.spawn(|| queue.forget(&"a"));
                    std::thread::sleep(Duration::from_millis(50));
                    true
                });
            });
            assert_eq!(observed.values(["depth"]), [0.0]);
            enqueue(&mut || false);
            assert_eq!(observed.values(["depth"]), [0.0]);
        }
    }
}
