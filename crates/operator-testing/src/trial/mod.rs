//! An operator under faults: whatever befalls one of its requests, it comes to the same state, and then to rest.

mod run;
mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::future::Future;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kube::Client;

use self::run::{Run, told};
use self::state::differences;
use crate::fault::{Schedule, schedules, seed};

/// How long nothing may be written before an operator counts as being at rest, on the test's clock.
const REST: Duration = Duration::from_secs(60);

/// A test of an operator under faults, on the API server in memory, with a clock of its own.
///
/// The operator starts, a sample is created, and when all is at rest, it is deleted. That is done once without a fault, then again for
/// each fault that can befall each request (600 of them, if there are more), and for some pairs. At rest, the cluster must be what it was without faults, and the
/// operator must not write.
///
/// Times are those of the test's clock, which leaps when nothing is to be done: an operator that waits for something outside of the
/// test sees its timeouts pass at once.
///
/// Faults befall what is asked until the operator rests; silence also befalls the watches as they are renewed.
///
/// A value that is another in two runs without faults, as a generated password is, is not compared.
///
/// `FAULTS="12:504 17:cut"` runs one schedule alone, as a failing test names it: by the number of the request, from 0, or of the next that
/// it can befall. `429`, `409` and `500` come in place of the server's answer, `504` after the server did what was asked, `reset-before`
/// and `reset-after` end the connection, `delay` is five seconds, `duplicate` lets the server have the request twice; a watch is `cut` in
/// good order or `torn`, falls silent at once (`stall`) or after its first event (`hush`), or has expired (`410`). `FAULT_SEED` chooses other pairs, and others of too many.
#[derive(Clone, Debug)]
pub struct Trial {
    manifests: PathBuf,
    user: String,
    sample: String,
    namespaces: Vec<String>,
    rest: Duration,
}

impl Trial {
    /// Of an operator that is installed by the kustomization `manifests` and speaks as `user`, with a sample in YAML.
    pub fn new(manifests: impl Into<PathBuf>, user: &str, sample: &str) -> Self {
        Self {
            manifests: manifests.into(),
            user: user.to_owned(),
            sample: sample.to_owned(),
            namespaces: vec!["default".to_owned()],
            rest: REST,
        }
    }

    /// Makes these namespaces, as the operator's manifests need those that it watches, and the sample in the first of them and not in
    /// `default`.
    #[must_use]
    pub fn in_namespaces(self, namespaces: &[&str]) -> Self {
        let namespaces = namespaces.iter().map(|&name| name.to_owned()).collect();
        Self { namespaces, ..self }
    }

    /// How long nothing may be written before the operator counts as being at rest, on the test's clock: longer than it waits to try
    /// again. A minute, if this is not called.
    #[must_use]
    pub fn rest(self, rest: Duration) -> Self {
        Self { rest, ..self }
    }

    /// Runs what `operator` makes of a client under every fault.
    ///
    /// # Panics
    ///
    /// Where it does not come to the state that it has without faults, or not to rest, with the schedule that shows it; and where it asks
    /// nothing of the server, or not as much as `FAULTS` is about.
    pub fn assert_converges<E, R>(&self, operator: impl Fn(Client) -> R + Sync)
    where
        E: Display + Send + 'static,
        R: Future<Output = Result<(), E>> + Send + 'static,
    {
        let installed = self.installed();
        let calm = self.run(&installed, &operator, Schedule::default());
        if let Some(why) = &calm.restless {
            panic!("without a fault: {why}");
        }
        assert!(
            !calm.asked.is_empty(),
            "without a fault: it asks nothing of the server"
        );
        // what is done at intervals is done, and watches are renewed, each of which may fall silent
        let again = self.run_for(
            &installed,
            &operator,
            Schedule::default(),
            self.long_rests(),
        );
        if let Some(why) = &again.restless {
            panic!("without a fault, for long: {why}");
        }
        let unsteady = differences(&calm, &again);
        if let Ok(text) = std::env::var("FAULTS") {
            let schedule: Schedule = text
                .parse()
                .unwrap_or_else(|error| panic!("FAULTS: {error}"));
            let run = self.run(&installed, &operator, schedule.clone());
            assert_eq!(
                run.left,
                Schedule::default(),
                "FAULTS: these befell no request"
            );
            if let Some(why) = wrong(&calm, &run, &unsteady) {
                panic!("{}", told(&schedule, &run, &why));
            }
            return;
        }
        let schedules = schedules(&calm.asked, &again.asked[..again.before_end], seed());
        let next = AtomicUsize::new(0);
        let failures = Mutex::new(BTreeSet::new());
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some(schedule) = schedules.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let run = self.run(&installed, &operator, schedule.clone());
                        if let Some(why) = wrong(&calm, &run, &unsteady) {
                            let failure = told(schedule, &run, &why);
                            let mut failures =
                                failures.lock().unwrap_or_else(PoisonError::into_inner);
                            failures.insert(failure);
                        }
                    }
                });
            }
        });
        let failures = failures
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let shown: Vec<String> = failures.iter().take(5).cloned().collect();
        assert!(
            failures.is_empty(),
            "{} of {} schedules fail:\n\n{}",
            failures.len(),
            schedules.len(),
            shown.join("\n\n")
        );
    }
}

/// Why a run is not what the one without faults was; places that are not steady do not count.
fn wrong(calm: &Run, run: &Run, unsteady: &BTreeMap<String, String>) -> Option<String> {
    if let Some(why) = &run.restless {
        return Some(why.clone());
    }
    let mut places = differences(calm, run);
    places.retain(|place, _| !unsteady.contains_key(place));
    if places.is_empty() {
        return None;
    }
    let shown: Vec<String> = places.into_values().take(6).collect();
    Some(format!("the cluster is another:\n  {}", shown.join("\n  ")))
}
