//! Tests an operator whose provider fails: after any fault in a call, there must be one external resource for each object, and none after
//! its deletion.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::conform::change::{Leaves, changed};
use super::run::{RunOptions, Scenario, settle};
use super::stage::Stage;
use super::start::{Running, Start};
use super::state::settled_state;
use super::success::Phase;
use super::{Sample, Trial, threads};
use crate::fault::Faults;
use crate::install::documents;
use crate::provider::ProviderFault;
use crate::schedule::{NamedFault, Schedule};
use crate::{Outcomes, ProviderFaults, Server, WebhookRegistration};

/// How long a run observes the operator, with the sample and after its deletion: longer than a call may take, and
/// longer than the simulated user takes to decide.
const DURATION: Duration = Duration::from_secs(300);

/// The maximum number of such observations, if the last reconciliation of an object has failed.
const ATTEMPTS: usize = 3;

/// How often the simulated user checks whether an object waits for a decision.
const DECISION_INTERVAL: Duration = Duration::from_secs(30);

/// How many equal calls in a row get faults, such as the observations of an object that does not change.
const EQUAL_CALLS: usize = 3;

/// Starts the operator, again after each crash.
type Starter = Arc<dyn Fn(Client, Outcomes, WebhookRegistration) -> Running + Send + Sync>;

/// The result of one run.
struct ProviderRun {
    calls: Vec<String>,
    /// The settled objects, and the number of external resources of each object: with the sample (unless it was deleted early), and after
    /// its deletion.
    states: Vec<(Value, BTreeMap<String, usize>)>,
    failure: Option<String>,
}

impl Trial {
    /// Runs the operator under faults in the calls of its provider, on the API server in memory: each call (of equal ones in a row, the
    /// first three) fails before or after its effect, hangs before or after it, returns late, or the operator crashes before or after it
    /// and is restarted. There must never be two external resources for one object, and in the end as many as without faults, and the
    /// cluster must reach the same state. All is repeated with a sample that is deleted a second after its creation.
    ///
    /// If the provider finds its external resources by a tag, it must still find them after an update.
    ///
    /// If the reconciliation of an object stops, because it is not known whether its external resource was created, the trial decides as a
    /// user would: it sets the annotation `<operator>/external-id`, or removes `<operator>/creation-started`.
    ///
    /// The provider must make its calls through the [`ProviderFaults`] of the run: `outcomes.shared::<ProviderFaults>()`. Its external
    /// resources must outlive a crash of the operator: keep them in a value of [`Outcomes::shared`], which is new in each run.
    ///
    /// `PROVIDER_FAULTS="1:crash-after"` runs one schedule, as a failing test prints it.
    ///
    /// # Panics
    ///
    /// With the schedules that fail, or if the operator makes no calls or creates nothing.
    pub fn assert_survives_provider_faults<A>(&self, operator: impl Start<A> + Send + 'static) {
        let start: Starter =
            Arc::new(move |client, outcomes, calls| operator.start(client, outcomes, calls));
        self.survive(&start);
    }

    fn survive(&self, start: &Starter) {
        let stage = Stage::in_memory(self);
        let samples = self.samples.iter().filter(|sample| sample.fails.is_none());
        for sample in samples {
            let run = |schedule: &Schedule<ProviderFault>, scenario| {
                self.run_provider(&stage, start, sample, schedule, scenario)
            };
            let baselines = [Scenario::Plain, Scenario::DeleteEarly].map(|scenario| {
                let baseline = run(&Schedule::default(), scenario);
                if let Some(why) = &baseline.failure {
                    panic!("without a fault: {why}");
                }
                (scenario, baseline)
            });
            let [(_, plain), _] = &baselines;
            assert!(
                plain
                    .states
                    .first()
                    .is_some_and(|(_, counts)| counts.values().sum::<usize>() == 1),
                "without a fault: there is not exactly one external resource for the sample\n  help: does its provider make its calls through `ProviderFaults`?"
            );
            if plain.calls.iter().any(|call| call.starts_with("find ")) {
                let checked = self.check_tag(&stage, start, sample);
                checked.unwrap_or_else(|why| panic!("without a fault: {why}"));
            }
            let run_with = |schedule: &Schedule<ProviderFault>| {
                baselines
                    .iter()
                    .filter_map(|(scenario, baseline)| {
                        let faulty = run(schedule, *scenario);
                        let differs = || difference(*scenario, baseline, &faulty);
                        let why = faulty.failure.clone().or_else(differs)?;
                        Some(report(schedule, *scenario, &faulty, &why))
                    })
                    .collect::<Vec<_>>()
            };
            if let Some(schedule) = Schedule::from_env("PROVIDER_FAULTS") {
                let failures = run_with(&schedule);
                assert!(failures.is_empty(), "{}", failures.join("\n\n"));
                continue;
            }
            check(&schedules(&plain.calls), &run_with);
        }
    }

    fn run_provider(
        &self,
        stage: &Stage,
        start: &Starter,
        sample: &Sample,
        schedule: &Schedule<ProviderFault>,
        scenario: Scenario,
    ) -> ProviderRun {
        stage.runtime().block_on(async {
            let (server, requests, faults) = self.start(stage, start, schedule);
            let options = self.options(stage, sample, scenario, Schedule::default());
            let mut states = vec![];
            let steps = async {
                let before = server.objects().await;
                server.await_webhooks().await;
                install(&server, &sample.text).await;
                if scenario == Scenario::DeleteEarly {
                    sleep(Duration::from_secs(1)).await;
                } else {
                    let phase = Phase::WithSample;
                    self.succeed(&server, &requests, &options, phase).await?;
                    let state = settled_state(&server, &requests, &before).await;
                    states.push((state, counts(&faults)));
                }
                let done = server.uninstall_patiently(&sample.text).await;
                done.unwrap_or_else(|error| panic!("the sample: {error}"));
                let phase = Phase::Deleted;
                self.succeed(&server, &requests, &options, phase).await?;
                let state = settled_state(&server, &requests, &before).await;
                states.push((state, counts(&faults)));
                Ok::<(), String>(())
            };
            let failure = tokio::select! {
                result = steps => result.err(),
                () = decide(&server, sample, &faults) => unreachable!("it goes on until the end"),
            };
            ProviderRun {
                calls: faults.calls(),
                states,
                failure: faults.duplicates().or(failure),
            }
        })
    }
}

impl Trial {
    /// Starts the operator of one run, and restarts it after each crash.
    fn start(
        &self,
        stage: &Stage,
        start: &Starter,
        schedule: &Schedule<ProviderFault>,
    ) -> (Server, Faults, ProviderFaults) {
        let server = stage.server(self);
        let requests = Faults::new(Schedule::default(), &self.user, &server);
        let faults = ProviderFaults::new(schedule.clone());
        let client = server.faulty_client(&self.user, &requests);
        let (outcomes, calls) = (server.outcomes(), server.webhook_calls());
        outcomes.share(faults.clone());
        let (start, crashes) = (start.clone(), faults.clone());
        server.run(async move {
            loop {
                tokio::select! {
                    ended = start(client.clone(), outcomes.clone(), calls.clone()) => return ended,
                    () = crashes.crashed() => sleep(Duration::from_secs(1)).await,
                }
            }
        });
        (server, requests, faults)
    }

    /// Checks that an update of an external resource keeps the tag by which `find` finds it: changes the spec, and then removes the recorded
    /// id of the object, so that the operator must search.
    fn check_tag(&self, stage: &Stage, start: &Starter, sample: &Sample) -> Result<(), String> {
        let run = |leaves| {
            stage.runtime().block_on(async {
                let edited = changed(&stage.server(self), &sample.text, leaves).await?;
                let (server, requests, faults) = self.start(stage, start, &Schedule::default());
                let options = self.options(stage, sample, Scenario::Plain, Schedule::default());
                server.await_webhooks().await;
                install(&server, &sample.text).await;
                let phase = Phase::WithSample;
                self.succeed(&server, &requests, &options, phase).await.ok()?;
                install(&server, &edited).await;
                let phase = Phase::Changed;
                self.succeed(&server, &requests, &options, phase).await.ok()?;
                let calls = faults.calls();
                let update = calls.iter().find(|call| call.starts_with("update "))?;
                let existing = faults.external_resources();
                let id = existing.values().flatten().next()?;
                for mut object in documents(&sample.text).unwrap_or_default() {
                    let forget = |key: &str| json!({ key: null });
                    annotate(&server, &mut object, "/external-id", forget).await;
                }
                drop(settle(&server, &requests, &options, DURATION).await);
                let later = faults.calls().split_off(calls.len());
                let has_searched = later.iter().any(|call| call.starts_with("find "));
                Some(match faults.last_found() {
                    None if has_searched => Err(format!(
                        "after the {update}, `find` does not return {id} any more: the update removes its tag\n  help: set the tag in `update` as well, or change only other fields; without the annotation external-id, a second thing is created, or this one stays when the object is deleted"
                    )),
                    _ => Ok(()),
                })
            })
        };
        // as much of the spec as the operator accepts
        let mut results = [Leaves::All, Leaves::NotText].into_iter().filter_map(run);
        results.next().unwrap_or(Ok(()))
    }

    /// Waits until the operator has settled and succeeded. If the last observation before that got a fault, waits for the next one.
    async fn succeed(
        &self,
        server: &Server,
        requests: &Faults,
        options: &RunOptions<'_>,
        phase: Phase,
    ) -> Result<(), String> {
        let mut result = Ok(());
        for _ in 0..ATTEMPTS {
            settle(server, requests, options, DURATION).await?;
            result = self.check_success(server, options.sample, phase).await;
            if result.is_ok() {
                break;
            }
        }
        result
    }
}

async fn install(server: &Server, yaml: &str) {
    let installed = server.install_patiently(yaml).await;
    installed.unwrap_or_else(|error| panic!("the sample: {error}"));
}

/// The number of external resources of each object.
fn counts(faults: &ProviderFaults) -> BTreeMap<String, usize> {
    let all = faults.external_resources().into_iter();
    all.map(|(object, ids)| (object, ids.len())).collect()
}

/// Each fault in each call, except after [`EQUAL_CALLS`] equal ones in a row, and a crash after each of these calls followed by each fault
/// in the next one.
fn schedules(calls: &[String]) -> Vec<Schedule<ProviderFault>> {
    let is_new = |number: &usize| {
        let equal = calls[..*number]
            .iter()
            .rev()
            .take_while(|call| **call == calls[*number]);
        equal.count() < EQUAL_CALLS
    };
    (0..calls.len())
        .filter(is_new)
        .flat_map(|number| {
            ProviderFault::ALL.iter().flat_map(move |(fault, _)| {
                let crash = (number, ProviderFault::CrashAfter);
                let one = Schedule([(number, *fault)].into());
                let two = Schedule([crash, (number + 1, *fault)].into());
                [one, two]
            })
        })
        .collect()
}

/// Runs all schedules, and panics with those that fail.
pub(super) fn check<S: Sync>(schedules: &[S], run: &(dyn Fn(&S) -> Vec<String> + Sync)) {
    let failures = threads::failures(threads::available(), schedules, run);
    let shown: Vec<_> = failures.iter().take(5).map(String::as_str).collect();
    assert!(
        failures.is_empty(),
        "{} runs of {} schedules fail:\n\n{}",
        failures.len(),
        schedules.len(),
        shown.join("\n\n")
    );
}

/// Decides whether an uncertain creation has succeeded, as a user would who knows which external resources exist.
async fn decide(server: &Server, sample: &Sample, faults: &ProviderFaults) {
    loop {
        sleep(DECISION_INTERVAL).await;
        for (key, outcome) in server.outcomes().failing() {
            let is_uncertain = |error: &str| error.contains("creation-started");
            if !outcome.failing.as_deref().is_some_and(is_uncertain) {
                continue;
            }
            for mut object in documents(&sample.text).unwrap_or_default() {
                if object["kind"] == *key.kind {
                    let all = faults.external_resources();
                    let mut ids = all.values().flatten().map(String::as_str);
                    decide_one(server, &mut object, &key.name, ids.next()).await;
                }
            }
        }
    }
}

/// Sets the id of the external resource in an annotation, or removes the annotation of the started creation.
async fn decide_one(server: &Server, object: &mut Value, name: &str, id: Option<&str>) {
    object["metadata"]["name"] = name.into();
    let decision = |started: &str| match id {
        Some(id) => json!({ started.replace("/creation-started", "/external-id"): id }),
        None => json!({ started: null }),
    };
    annotate(server, object, "/creation-started", decision).await;
}

/// Patches the annotations of an object, if it has one whose key ends with `suffix`. `patch` gets this key.
async fn annotate(
    server: &Server,
    object: &mut Value,
    suffix: &str,
    patch: impl FnOnce(&str) -> Value,
) {
    let Ok(path) = server.path_of(object).await else {
        return;
    };
    let client = server.own_client();
    let Ok(get) = http::Request::get(&path).body(vec![]) else {
        return;
    };
    let Ok(live) = client.request::<Value>(get).await else {
        return;
    };
    let annotations = live["metadata"]["annotations"].as_object();
    let mut keys = annotations.into_iter().flatten().map(|(key, _)| key);
    let Some(key) = keys.find(|key| key.ends_with(suffix)) else {
        return;
    };
    let patch = json!({ "metadata": { "annotations": patch(key) } });
    let request = http::Request::patch(&path)
        .header("content-type", "application/merge-patch+json")
        .body(patch.to_string().into_bytes());
    if let Ok(request) = request {
        // if this fails, the next round tries again
        drop(client.request::<Value>(request).await);
    }
}

/// Where a run differs from the one without faults.
fn difference(scenario: Scenario, baseline: &ProviderRun, run: &ProviderRun) -> Option<String> {
    let phases = baseline.states.iter().zip(&run.states);
    phases.enumerate().find_map(|(index, (expected, actual))| {
        let when = match (index, baseline.states.len()) {
            (0, 2) => "with the sample",
            _ => "after the deletion of the sample",
        };
        // if the sample is deleted early, a fault can prevent the creation, so that there is nothing to retain
        let is_early = scenario == Scenario::DeleteEarly && actual.1.is_empty();
        if expected.1 != actual.1 && !is_early {
            return Some(format!(
                "{when}, these external resources exist: {:?}; without a fault: {:?}",
                actual.1, expected.1
            ));
        }
        let (expected, actual) = (objects(&expected.0), objects(&actual.0));
        let path = expected
            .keys()
            .chain(actual.keys())
            .find(|path| expected.get(*path) != actual.get(*path))?;
        Some(format!(
            "{when}, {path} is {}; without a fault: {}",
            actual.get(path).map_or("absent", String::as_str),
            expected.get(path).map_or("absent", String::as_str),
        ))
    })
}

/// The conditions of each object: other fields, such as ids, may differ.
fn objects(state: &Value) -> BTreeMap<String, String> {
    let objects = state.as_object().into_iter().flatten();
    let objects = objects.map(|(path, object)| {
        let conditions = object["status"]["conditions"].as_array();
        let conditions = conditions.into_iter().flatten().map(|condition| {
            let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
            format!("{}={} ({})", text("type"), text("status"), text("reason"))
        });
        let deleting = if object["metadata"]["deletionTimestamp"].is_null() {
            "present"
        } else {
            "being deleted"
        };
        let words: Vec<String> = [deleting.to_owned()]
            .into_iter()
            .chain(conditions)
            .collect();
        (path.clone(), words.join(", "))
    });
    objects.collect()
}

fn report(
    schedule: &Schedule<ProviderFault>,
    scenario: Scenario,
    run: &ProviderRun,
    why: &str,
) -> String {
    let early = match scenario {
        Scenario::DeleteEarly => ", with a sample that is deleted early",
        _ => "",
    };
    let headline = schedule.headline("PROVIDER_FAULTS", "at call", &run.calls);
    format!("{headline}{early}\n  {why}")
}
