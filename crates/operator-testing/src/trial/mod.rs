//! Tests an operator under faults: after any fault in one of its requests, it must reach the same state and settle.

mod children;
mod conform;
mod lease;
mod permissions;
mod provider;
mod run;
mod stage;
mod start;
mod state;
mod success;
mod threads;
mod undesired;
mod webhook;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use self::run::{Run, RunOptions, Scenario, failure_report};
use self::stage::Stage;
use self::start::Operator;
use self::state::differences;
use self::undesired::parse_kind;
use crate::declared::Declared;
use crate::fault::{Fault, sampled, schedules, seed};
use crate::fixture::{one_object, sample_text};
use crate::schedule::Schedule;

pub use self::start::Start;

/// How long an operator must not write anything to count as settled, on the test's clock.
const REST: Duration = Duration::from_secs(60);

/// The shortest duration of a run in which a watch may stall, with the sample and after its deletion: until all watches were renewed once,
/// and until the stall was noticed.
const LONG: [Duration; 2] = [Duration::from_secs(320), Duration::from_secs(900)];

/// Tests an operator under faults, on the API server in memory, with a simulated clock.
///
/// In each run, the operator starts, a sample is created, and once the operator has settled, the sample is deleted. The first run has no
/// fault. Then there is a run for each fault that can be injected into each request (at most 600), and for some pairs of faults. Each run
/// must reach the same cluster state as the run without faults, and the operator must stop writing. If it reports its reconciliations
/// ([`Start`]), the last one of each object must have succeeded.
///
/// The simulated clock jumps ahead when all tasks wait. So if an operator waits for something outside of the test's runtime, its timeouts
/// expire at once: start a fake in the runtime, or wrap the call in [`real_time`](crate::real_time).
///
/// Faults are injected into the requests that the operator makes until it settles; `stall` and `stall-after-first` also into watches that
/// it renews later. Values that differ between two runs without faults, such as generated passwords, are not compared.
///
/// `FAULTS="12:504 17:cut"` runs only this schedule; a failing test prints its schedule in this form. The number before each fault counts
/// requests from 0. The fault is injected into that request, or into the first later one to which it applies:
///
/// | fault | what happens |
/// |---|---|
/// | `429`, `409`, `500` | the request gets this status code, and does not reach the API server |
/// | `504` | the API server executes the request, but the response has this status code |
/// | `reset-before`, `reset-after` | the connection is reset before the request is executed, or before its response |
/// | `delay` | the request reaches the API server five seconds late |
/// | `duplicate` | the API server gets the request twice |
/// | `outage` | the request and all similar ones fail for five seconds |
/// | `restart`, `compact` | all connections are closed, and new ones refused for three seconds; `compact` also discards old versions |
/// | `cut`, `reset-watch` | the watch ends normally, or its connection is reset |
/// | `stall`, `stall-after-first` | the watch reports no events, or none after the first |
/// | `late` | the response to a watch or a list arrives 30 seconds late |
/// | `410` | the watch reports that its resource version has expired |
/// | `lose-lease` | another replica takes the lease |
///
/// `FAULT_SEED` selects different pairs, and different single faults if there are more than 600. `FAULT_COUNT` limits the number of
/// schedules. If `OPERATOR_TEST_SERVER` is `assets`, all runs use one real API server, in real time, with three single faults unless
/// `FAULT_COUNT` is set.
///
/// ```no_run
/// # async fn my_operator(client: kube::Client, region: String) -> Result<(), kube::Error> { std::future::pending().await }
/// use kube::Client;
/// use operator_testing::Trial;
///
/// // in a `#[test]`
/// let region = "eu".to_owned();
/// Trial::new("manifests", "system:serviceaccount:cache:cache")
///     .sample("{apiVersion: cache.example.com/v1, kind: Memcached, metadata: {name: a}}")
///     .assert_converges(move |client: Client| my_operator(client, region.clone()));
/// ```
#[derive(Clone, Debug)]
pub struct Trial {
    manifests: PathBuf,
    user: String,
    samples: Vec<Sample>,
    /// The group and kind of the objects that the operator reconciles, besides the kinds of the samples.
    kinds: Vec<(String, String)>,
    /// The kinds whose controllers delete children that are not desired.
    pruned: Vec<(String, String)>,
    /// See [`depends_on_history`](Self::depends_on_history).
    depends_on_history: bool,
    /// The kinds that exist without the operator, such as `Pod`.
    existing: Vec<(String, String)>,
    /// The files of CRDs that the manifests do not install.
    crds: Vec<PathBuf>,
    namespaces: Vec<String>,
    fixtures: Option<PathBuf>,
    declared: Vec<Declared>,
    /// The resources whose objects may remain.
    kept: Vec<String>,
    /// Resources of children that the operator does not update.
    waiting: Vec<String>,
    /// The fields that the operator does not use.
    unused: Vec<String>,
    rest: Duration,
}

impl Trial {
    /// Creates a trial of an operator that makes its requests as `user`. The kustomization in the folder `manifests` installs the operator.
    pub fn new(manifests: impl Into<PathBuf>, user: &str) -> Self {
        Self {
            manifests: manifests.into(),
            user: user.to_owned(),
            samples: vec![],
            kinds: vec![],
            pruned: vec![],
            depends_on_history: false,
            existing: vec![],
            crds: vec![],
            namespaces: vec!["default".to_owned()],
            fixtures: None,
            declared: vec![],
            kept: vec![],
            waiting: vec![],
            unused: vec![],
            rest: REST,
        }
    }

    /// Adds a sample: exactly one object, in YAML. Each sample is tested separately.
    ///
    /// # Panics
    ///
    /// If the text does not have exactly one object.
    #[must_use]
    pub fn sample(self, sample: &str) -> Self {
        self.and_sample(sample.to_owned(), None)
    }

    /// Like [`sample`](Self::sample), for a file.
    ///
    /// # Panics
    ///
    /// If the file cannot be read, or does not have exactly one object; with its path.
    #[must_use]
    pub fn sample_file(self, path: impl AsRef<Path>) -> Self {
        self.and_sample(text_of(path.as_ref()), None)
    }

    /// Like [`sample_that_fails`](Self::sample_that_fails), for a file.
    ///
    /// # Panics
    ///
    /// Like [`sample_file`](Self::sample_file).
    #[must_use]
    pub fn sample_file_that_fails(self, path: impl AsRef<Path>, error: &str) -> Self {
        self.and_sample(text_of(path.as_ref()), Some(error))
    }

    /// Adds a sample whose reconciliation must fail, because it needs something that the test does not provide. The last error must contain
    /// `error`.
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

    /// Sets the folder with the objects to which samples refer. They are applied before the operator starts, and are not deleted; see
    /// [`Server::install_fixtures`]. An object without a namespace is created in the namespace of the samples.
    ///
    /// [`Server::install_fixtures`]: crate::Server::install_fixtures
    #[must_use]
    pub fn fixtures(mut self, folder: impl Into<PathBuf>) -> Self {
        self.fixtures = Some(folder.into());
        self
    }

    /// Sets the declarations of a project, as JSON: the `entry` of the list `key` under the `kind`, or the `controller`, in
    /// operator.toml, its `group` and `resource`, and the `verbs` that it grants.
    /// [`assert_permissions_are_needed`](Self::assert_permissions_are_needed) then names the entries to change.
    ///
    /// # Panics
    ///
    /// If one is not such JSON.
    #[must_use]
    pub fn declares(mut self, declared: &[&str]) -> Self {
        let read = declared.iter().map(|text| {
            serde_json::from_str(text).unwrap_or_else(|error| panic!("a declaration: {error}"))
        });
        self.declared.extend(read);
        self
    }

    /// Sets the kinds that the operator reconciles, besides the kinds of the samples, for example `Memcached.cache.example.com`: all their
    /// objects must be reconciled successfully as well.
    #[must_use]
    pub fn reconciles(mut self, kinds: &[&str]) -> Self {
        self.kinds.extend(kinds.iter().map(|name| parse_kind(name)));
        self
    }

    /// Sets those kinds of the samples and of [`reconciles`](Self::reconciles) that exist without the operator, for example `Pod`. Of
    /// their objects, only the samples must be reconciled, and no earlier version of the operator has left a finalizer on them.
    #[must_use]
    pub fn existing(mut self, kinds: &[&str]) -> Self {
        self.existing
            .extend(kinds.iter().map(|name| parse_kind(name)));
        self
    }

    /// Installs the CRDs in these files, which the manifests do not install, because other operators do.
    #[must_use]
    pub fn crds(mut self, files: &[&str]) -> Self {
        self.crds.extend(files.iter().map(PathBuf::from));
        self
    }

    /// Sets the namespaces that the operator watches. They are created, and the samples are created in the first of them instead of
    /// `default`.
    #[must_use]
    pub fn in_namespaces(self, namespaces: &[&str]) -> Self {
        let namespaces = namespaces.iter().map(|&name| name.to_owned()).collect();
        Self { namespaces, ..self }
    }

    /// Sets how long the operator must not write anything to count as settled, on the test's clock; longer than its longest backoff. The
    /// default is a minute.
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
    /// Panics with the schedule of faults, if the operator does not settle or does not reach the state that it reaches without faults; if
    /// the operator makes no requests, or fewer than `FAULTS` needs; if the last reconciliation of an object failed; or if an object was
    /// never reconciled.
    pub fn assert_converges<A>(&self, operator: impl Start<A>) {
        Operator::with(operator, |operator| self.converge(operator));
    }

    fn converge(&self, operator: &Operator<'_>) {
        let stage = Stage::new(self);
        for sample in &self.samples {
            let baseline = self.baseline(&stage, operator, sample, Scenario::Plain);
            let schedules = |again: &Run| {
                if stage.is_real() {
                    sampled(&baseline.requests, seed())
                } else {
                    schedules(
                        &baseline.requests,
                        &again.requests[..again.requests_before_deletion],
                        seed(),
                    )
                }
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

    /// Runs the operator without faults.
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
        schedule: Schedule<Fault>,
    ) -> RunOptions<'a> {
        let is_silent = schedule.0.values().any(|fault| fault.is_silence());
        RunOptions {
            sample,
            schedule,
            scenario,
            rest: stage.rest(self.rest),
            min_duration: if is_silent { LONG } else { [Duration::ZERO; 2] },
        }
    }

    /// Runs the schedules that are derived from a long run without faults, or the one of `FAULTS`.
    fn run_schedules(
        &self,
        stage: &Stage,
        operator: &Operator<'_>,
        baseline: &Run,
        (sample, scenario): (&Sample, Scenario),
        schedules: &dyn Fn(&Run) -> Vec<Schedule<Fault>>,
    ) {
        // long enough for periodic work, and for renewals of watches, each of which may stall
        let mut options = self.options(stage, sample, Scenario::Plain, Schedule::default());
        if !stage.is_real() {
            options.min_duration = LONG;
        }
        let again = self.run(stage, operator, options);
        if let Some(why) = &again.failure {
            panic!("without a fault, for long: {why}");
        }
        let nondeterministic = differences(baseline, &again);
        let run_with = |schedule: &Schedule<Fault>| {
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
        if let Some(schedule) = Schedule::from_env("FAULTS") {
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
        let threads = if stage.is_real() {
            1
        } else {
            threads::available()
        };
        let run = |schedule: &Schedule<Fault>| run_with(schedule).0.into_iter().collect();
        let mut failures = threads::failures(threads, &schedules, &run);
        failures.dedup();
        let mut shown: Vec<String> = failures.iter().take(5).cloned().collect();
        let rest = failures.len() - shown.len();
        if rest > 0 {
            shown.push(format!("and {rest} more"));
        }
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

/// A sample in YAML, and the expected error of its reconciliation, if there is one.
#[derive(Clone, Debug)]
struct Sample {
    text: String,
    fails: Option<String>,
}

/// The reason why a run differs from the baseline, except for nondeterministic values.
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
