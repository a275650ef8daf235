//! The results of an operator's reconciliations, as the operator reports them.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Display};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::lock;

/// An object that is reconciled so often in this time is reconciled in an endless loop.
pub(crate) const LOOP: (usize, Duration) = (500, Duration::from_secs(10));

/// Collects the results of an operator's reconciliations. Clones share the results.
///
/// With `operator-runtime`:
///
/// ```text
/// let outcomes = server.outcomes();
/// let connected = Operator::new("memcached-operator", Settings::for_tests(), client).on_reconciled(move |it| {
///     outcomes.report(it.group, it.kind, it.namespace, it.name, it.result);
/// });
/// ```
#[derive(Clone, Debug, Default)]
pub struct Outcomes(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    outcomes: Mutex<BTreeMap<ObjectKey, Outcome>>,
    loops: Notify,
    /// See [`Outcomes::shared`].
    values: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

/// The identity of an object; the namespace is empty for a cluster-scoped kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ObjectKey {
    pub group: String,
    pub kind: String,
    pub namespace: String,
    pub name: String,
}

/// The results for one object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub succeeded: usize,
    pub failed: usize,
    /// The error of the last reconciliation, if it failed.
    pub failing: Option<String>,
    /// The begin of the latest window of [`LOOP`], and the reconciliations in it.
    recent: Option<(Instant, usize)>,
    /// The first report, and the sum of the times since then until each report.
    first: Option<Instant>,
    total: Duration,
}

impl Outcomes {
    /// Records the result of a reconciliation or cleanup of an object. `group` is empty for the core group; `namespace` is `None` for a
    /// cluster-scoped kind.
    pub fn report(
        &self,
        group: &str,
        kind: &str,
        namespace: Option<&str>,
        name: &str,
        result: Result<(), impl Display>,
    ) {
        let key = ObjectKey {
            group: group.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.unwrap_or_default().to_owned(),
            name: name.to_owned(),
        };
        let mut outcomes = self.lock();
        let outcome = outcomes.entry(key).or_default();
        let now = Instant::now();
        outcome.total += now - *outcome.first.get_or_insert(now);
        if outcome.count(now) > LOOP.0 {
            self.0.loops.notify_one();
        }
        match result {
            Ok(()) => {
                outcome.succeeded += 1;
                outcome.failing = None;
            }
            Err(error) => {
                outcome.failed += 1;
                outcome.failing = Some(format!("{error:#}"));
            }
        }
    }

    /// Returns the value of this type that belongs to the server; the first call creates it. It lives as long as one test, or one run of a
    /// trial, in which the operator may be restarted: the place for a fake of another system.
    ///
    /// ```
    /// # let server = operator_testing::Server::in_memory();
    /// use std::sync::Mutex;
    ///
    /// #[derive(Default)]
    /// struct Mails(Mutex<Vec<String>>);
    ///
    /// let mails = server.outcomes().shared::<Mails>();
    /// mails.0.lock().unwrap().push("hello".into());
    /// assert_eq!(server.outcomes().shared::<Mails>().0.lock().unwrap().len(), 1);
    /// ```
    pub fn shared<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut values = lock(&self.0.values);
        let value = values
            .entry(TypeId::of::<T>())
            .or_insert_with(|| Arc::new(T::default()));
        let value = value.clone().downcast();
        value.unwrap_or_else(|_| unreachable!("the key is the type of the value"))
    }

    /// Sets the value that [`shared`](Self::shared) returns.
    pub(crate) fn share<T: Send + Sync + 'static>(&self, value: T) {
        lock(&self.0.values).insert(TypeId::of::<T>(), Arc::new(value));
    }

    /// Waits until an object is reconciled in an endless loop. It does not depend on the clock, which stands still if the loop has no delay.
    pub(crate) async fn endless_loop(&self) -> ObjectKey {
        loop {
            let looping = |(key, it): (&ObjectKey, &Outcome)| {
                let is_looping = it.recent.is_some_and(|(_, times)| times > LOOP.0);
                is_looping.then(|| key.clone())
            };
            let found = self.lock().iter().find_map(looping);
            if let Some(key) = found {
                return key;
            }
            self.0.loops.notified().await;
        }
    }

    /// The results for an object; `None` if it was never reconciled.
    pub(crate) fn of(&self, key: &ObjectKey) -> Option<Outcome> {
        self.lock().get(key).cloned()
    }

    /// The objects whose last reconciliation failed.
    pub(crate) fn failing(&self) -> Vec<(ObjectKey, Outcome)> {
        let outcomes = self.lock();
        outcomes
            .iter()
            .filter(|(_, it)| it.failing.is_some())
            .map(|(key, outcome)| (key.clone(), outcome.clone()))
            .collect()
    }

    /// The number of reconciliations of each object, and the sum of the times at which they ended, by the name of the object. Those of an
    /// object that has failed depend on the random delays of its retries, and are left out.
    pub(crate) fn schedule(&self) -> BTreeMap<String, String> {
        let outcomes = self.lock();
        let steady = outcomes.iter().filter(|(_, it)| it.failed == 0);
        let describe = |(key, it): (&ObjectKey, &Outcome)| {
            (
                key.to_string(),
                format!("{} in {:.0?}", it.succeeded, it.total),
            )
        };
        steady.map(describe).collect()
    }

    /// A line for each object, failing objects first.
    pub(crate) fn lines(&self) -> Vec<String> {
        let outcomes = self.lock();
        let mut lines: Vec<(bool, String)> = outcomes
            .iter()
            .map(|(key, outcome)| match outcome.failing {
                Some(_) => (false, format!("{key} {}", outcome.failure())),
                None => (
                    true,
                    match outcome.succeeded {
                        1 => format!("{key} was reconciled successfully once"),
                        times => format!("{key} was reconciled successfully {times} times"),
                    },
                ),
            })
            .collect();
        lines.sort();
        lines.into_iter().map(|(_, line)| line).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, Outcome>> {
        lock(&self.0.outcomes)
    }
}

impl Outcome {
    /// Counts a reconciliation, and returns how many there were in the latest window.
    fn count(&mut self, now: Instant) -> usize {
        let recent = self.recent.filter(|(begin, _)| now - *begin < LOOP.1);
        let (begin, times) = recent.unwrap_or((now, 0));
        self.recent = Some((begin, times + 1));
        times + 1
    }

    /// Describes the failures, for example `was never reconciled successfully: 14 reconciliations failed, the last with: no luck`.
    pub fn failure(&self) -> String {
        let Self {
            succeeded,
            failed,
            failing,
            ..
        } = self;
        let error = failing.as_deref().unwrap_or_default();
        let count = |number: usize| match number {
            1 => "1 reconciliation".to_owned(),
            number => format!("{number} reconciliations"),
        };
        match succeeded {
            0 => format!(
                "was never reconciled successfully: {} failed, the last with: {error}",
                count(*failed)
            ),
            succeeded => format!(
                "still fails, after {} that succeeded and {failed} that failed, with: {error}",
                count(*succeeded)
            ),
        }
    }
}

/// Formats the object, for example `Memcached default/memcached-sample`.
impl Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            namespace,
            name,
            ..
        } = self;
        match namespace.as_str() {
            "" => write!(f, "{kind} {name}"),
            namespace => write!(f, "{kind} {namespace}/{name}"),
        }
    }
}
