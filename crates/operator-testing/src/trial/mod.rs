//! An operator under faults: whatever fault is injected into one of its requests, it reaches the same state, and then settles.

mod conform;
mod lease;
mod permissions;
mod run;
mod stage;
mod start;
mod state;
mod success;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::declared::Declared;

use self::run::{Run, RunOptions, Scenario, failure_report};
use self::stage::Stage;
use self::start::Operator;
pub use self::start::Start;
use self::state::differences;
use crate::fault::{Schedule, sampled, schedules, seed};
use crate::fixture::{one_object, sample_text};

/// How long nothing may be written before an operator counts as being at rest, on the test's clock.
const REST: Duration = Duration::from_secs(60);

/// How long a run is at least where a watch may fall silent, with the sample and without: first until watches were renewed once, then
/// until the silence is known for what it is.
const LONG: [Duration; 2] = [Duration::from_secs(320), Duration::from_secs(900)];

/// A test of an operator under faults, on the API server in memory, with a clock of its own.
///
/// The operator starts, a sample is created, and once the operator has settled, the sample is deleted. That is done once without a fault,
/// then again for each fault that can be injected into each request (600 of them, if there are more), and for some pairs. Each time the
/// cluster must reach the state that it has without faults, and the operator must stop writing. If it reports its reconciliations
/// ([`Start`]), the last one of each object must have succeeded.
///
/// The test's clock jumps ahead while nothing runs: when an operator waits for something outside of the test, its timeouts expire at once.
///
/// Faults are injected into the requests that the operator makes until it settles, silence also into watches that it renews later. Values
/// that differ between two runs without faults, such as generated passwords, are not compared.
///
/// `FAULTS="12:504 17:cut"` runs one schedule, as a failing test prints it. Each fault has the number of a request, from 0; it is injected into
/// that request, or into the next one that it applies to:
///
/// | fault | what happens |
/// |---|---|
/// | `429`, `409`, `500` | the API server does not see the request, and this is the answer |
/// | `504` | the API server executes the request, and this is the answer |
/// | `reset-before`, `reset-after` | the connection is closed before the request is executed, or before its answer |
/// | `delay` | the request arrives five seconds later |
/// | `duplicate` | the API server gets the request twice |
/// | `outage` | the request, and all like it, fail for five seconds |
/// | `restart`, `compact` | all connections are closed, and none is accepted for three seconds; after `compact`, old versions are gone too |
/// | `cut`, `torn` | the watch ends regularly, or with an error |
/// | `stall`, `hush` | the watch reports nothing, or nothing after its first event |
/// | `late` | what a watch or a list answers arrives 30 seconds later |
/// | `410` | the watch has expired |
/// | `usurp` | another replica takes the lease |
///
/// `FAULT_SEED` selects other pairs, and others of too many. If `OPERATOR_TEST_SERVER` is `assets`, all runs use one real API server, in real
/// time, with three single faults or `FAULT_COUNT` of them. `FAULT_COUNT` limits the number of schedules in memory too.
///
/// ```no_run
/// # async fn my_operator(client: kube::Client) -> Result<(), kube::Error> { std::future::pending().await }
/// use operator_testing::Trial;
///
/// // in a `#[test]`
/// Trial::new("manifests", "system:serviceaccount:cache:cache")
///     .sample("{apiVersion: cache.example.com/v1, kind: Memcached, metadata: {name: a}}")
///     .assert_converges(my_operator);
/// ```
#[derive(Clone, Debug)]
pub struct Trial {
    manifests: PathBuf,
    user: String,
    samples: Vec<Sample>,
    /// Group and kind of the objects that the operator reconciles, besides those of the samples.
    kinds: Vec<(String, String)>,
    namespaces: Vec<String>,
    fixtures: Option<PathBuf>,
    declared: Vec<Declared>,
    /// Resources of which objects may remain.
    kept: Vec<String>,
    rest: Duration,
}

impl Trial {
    /// Of an operator that is installed by the kustomization `manifests` and speaks as `user`.
    pub fn new(manifests: impl Into<PathBuf>, user: &str) -> Self {
        Self {
            manifests: manifests.into(),
            user: user.to_owned(),
            samples: vec![],
            kinds: vec![],
            namespaces: vec!["default".to_owned()],
            fixtures: None,
            declared: vec![],
            kept: vec![],
            rest: REST,
        }
    }

    /// Adds a sample in YAML, which is one object; each is tried by itself.
    ///
    /// # Panics
    ///
    /// Where the text has more than one object or none.
    #[must_use]
    pub fn sample(self, sample: &str) -> Self {
        self.and_sample(sample.to_owned(), None)
    }

    /// As [`sample`](Self::sample), of a file.
    ///
    /// # Panics
    ///
    /// With the file's name, where it can't be read, or has more than one object or none.
    #[must_use]
    pub fn sample_file(self, path: impl AsRef<Path>) -> Self {
        self.and_sample(text_of(path.as_ref()), None)
    }

    /// As [`sample_that_fails`](Self::sample_that_fails), of a file.
    ///
    /// # Panics
    ///
    /// As [`sample_file`](Self::sample_file).
    #[must_use]
    pub fn sample_file_that_fails(self, path: impl AsRef<Path>, error: &str) -> Self {
        self.and_sample(text_of(path.as_ref()), Some(error))
    }

    /// Adds a sample whose reconciliation fails, or waits with an error, as it lacks something that the test does not provide. The last
    /// error must contain `error`.
    #[must_use]
    pub fn sample_that_fails(self, sample: &str, error: &str) -> Self {
        self.and_sample(sample.to_owned(), Some(error))
    }

    fn and_sample(mut self, text: String, fails: Option<&str>) -> Self {
        one_object(&text).unwrap_or_else(|error| panic!("a sample: {error}"));
        let fails = fails.map(str::to_owned);
        self.samples.push(Sample { text, fails });
        self
    }

    /// Applies the objects of this folder before the operator starts, as what samples refer to; see [`Server::install_fixtures`]. Those
    /// without a namespace go where the samples go. Nobody deletes them.
    ///
    /// [`Server::install_fixtures`]: crate::Server::install_fixtures
    #[must_use]
    pub fn fixtures(mut self, folder: impl Into<PathBuf>) -> Self {
        self.fixtures = Some(folder.into());
        self
    }

    /// Takes what a project declares, as JSON: the `entry` of the list `key` under `kind` in operator.toml, and the `group` and `resource`
    /// that it stands for. The test of permissions then names the entry to change.
    ///
    /// # Panics
    ///
    /// Where one is not such JSON.
    #[must_use]
    pub fn declares(mut self, declared: &[&str]) -> Self {
        let read = declared.iter().map(|text| {
            let read = serde_json::from_str(text);
            read.unwrap_or_else(|error| panic!("a declaration: {error}"))
        });
        self.declared.extend(read);
        self
    }

    /// Names kinds (as `Memcached.cache.example.com`) that the operator reconciles, besides those of the samples: whatever object of
    /// them is there must be reconciled successfully as well.
    #[must_use]
    pub fn reconciles(mut self, kinds: &[&str]) -> Self {
        self.kinds.extend(kinds.iter().map(|name| {
            let (kind, group) = name.split_once('.').unwrap_or((name, ""));
            (group.to_owned(), kind.to_owned())
        }));
        self
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

    fn namespace(&self) -> &str {
        self.namespaces.first().map_or("default", String::as_str)
    }

    /// Runs the operator under every fault.
    ///
    /// # Panics
    ///
    /// Where it does not come to the state that it has without faults, or not to rest, with the schedule that shows it; where it asks
    /// nothing of the server, or not as much as `FAULTS` is about; and where it reports that an object's last reconciliation failed, or
    /// none of an object.
    pub fn assert_converges<A>(&self, operator: impl Start<A>) {
        Operator::with(operator, |operator| self.converge(operator));
    }

    fn converge(&self, operator: &Operator<'_>) {
        let stage = Stage::new(self);
        for sample in &self.samples {
            let baseline = self.baseline(&stage, operator, sample, Scenario::Plain);
            let schedules = |again: &Run| match stage.is_real() {
                true => sampled(&baseline.requests, seed()),
                false => schedules(
                    &baseline.requests,
                    &again.requests[..again.requests_before_deletion],
                    seed(),
                ),
            };
            self.run_schedules(
                &stage,
                operator,
                &baseline,
                (sample, Scenario::Plain),
                &schedules,
            );
        }
    }

    /// A run without a fault.
    fn baseline(
        &self,
        stage: &Stage,
        operator: &Operator<'_>,
        sample: &Sample,
        scenario: Scenario,
    ) -> Run {
        let options = self.options(stage, sample, scenario, Schedule::default());
        let baseline = self.run(stage, operator, options);
        if let Some(why) = &baseline.failure {
            panic!("without a fault: {why}");
        }
        assert!(
            !baseline.requests.is_empty(),
            "without a fault: it makes no requests"
        );
        baseline
    }

    fn options<'a>(
        &self,
        stage: &Stage,
        sample: &'a Sample,
        scenario: Scenario,
        schedule: Schedule,
    ) -> RunOptions<'a> {
        let is_silent = schedule.0.values().any(|fault| fault.is_silence());
        RunOptions {
            sample,
            schedule,
            scenario,
            rest: stage.rest(self.rest),
            min_duration: match is_silent {
                true => LONG,
                false => [Duration::ZERO; 2],
            },
        }
    }

    /// Runs under the schedules that are made of a long run without faults, or under the one of `FAULTS`.
    fn run_schedules(
        &self,
        stage: &Stage,
        operator: &Operator<'_>,
        baseline: &Run,
        (sample, scenario): (&Sample, Scenario),
        schedules: &dyn Fn(&Run) -> Vec<Schedule>,
    ) {
        // what is done at intervals is done, and watches are renewed, each of which may fall silent
        let mut options = self.options(stage, sample, Scenario::Plain, Schedule::default());
        if !stage.is_real() {
            options.min_duration = LONG;
        }
        let again = self.run(stage, operator, options);
        if let Some(why) = &again.failure {
            panic!("without a fault, for long: {why}");
        }
        let nondeterministic = differences(baseline, &again);
        let run_with = |schedule: &Schedule| {
            let run = self.run(
                stage,
                operator,
                self.options(stage, sample, scenario, schedule.clone()),
            );
            let why = difference_to_baseline(baseline, &run, &nondeterministic);
            (
                why.map(|why| failure_report(schedule, &run, &why)),
                run.remaining,
            )
        };
        if let Ok(text) = std::env::var("FAULTS") {
            let schedule: Schedule = text
                .parse()
                .unwrap_or_else(|error| panic!("FAULTS: {error}"));
            let (failure, remaining) = run_with(&schedule);
            assert_eq!(
                remaining,
                Schedule::default(),
                "FAULTS: these faults applied to no request"
            );
            if let Some(failure) = failure {
                panic!("{failure}");
            }
            return;
        }
        let schedules = schedules(&again);
        let next = AtomicUsize::new(0);
        let failures = Mutex::new(BTreeSet::new());
        let threads = match stage.is_real() {
            true => 1,
            false => std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
        };
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some(schedule) = schedules.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if let (Some(failure), _) = run_with(schedule) {
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

fn text_of(path: &Path) -> String {
    sample_text(path).unwrap_or_else(|error| panic!("{error}"))
}

/// A sample in YAML, and what its reconciliation is expected to fail with, if it is.
#[derive(Clone, Debug)]
struct Sample {
    text: String,
    fails: Option<String>,
}

/// Why a run is not what the one without faults was; places that are not steady do not count.
fn difference_to_baseline(
    baseline: &Run,
    run: &Run,
    nondeterministic: &BTreeMap<String, String>,
) -> Option<String> {
    if let Some(why) = &run.failure {
        return Some(why.clone());
    }
    let mut differences = differences(baseline, run);
    differences.retain(|path, _| !nondeterministic.contains_key(path));
    if differences.is_empty() {
        return None;
    }
    let shown: Vec<String> = differences.into_values().take(6).collect();
    Some(format!(
        "the cluster ends in a different state:\n  {}",
        shown.join("\n  ")
    ))
}
