//! Tests an operator whose webhooks fail for a while: users repeat their requests, and the cluster must reach the same state.

mod read;
mod report;
mod user;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use self::user::{Answers, User};
use super::provider::check;
use super::run::{Run, RunOptions, Scenario, check_events, settle};
use super::stage::Stage;
use super::state::{differences, settled_state};
use super::success::Phase;
use super::{Operator, Sample, Start, Trial, difference_to_baseline};
use crate::Server;
use crate::fault::{Faults, bounded, seed};
use crate::schedule::{NamedFault, Schedule};
use crate::webhook_fault::{WebhookFault, WebhookFaults};

/// How long a run observes the operator, with the sample and after its deletion: longer than its pauses between retries.
const DURATION: Duration = Duration::from_secs(120);

/// The maximum number of such observations, if the last reconciliation of an object has failed.
const ATTEMPTS: usize = 4;

/// How many calls get each fault.
const CALLS: usize = 12;

/// The result of one run.
struct WebhookRun {
    run: Run,
    calls: Vec<String>,
    remaining: Schedule<WebhookFault>,
    missed: BTreeSet<String>,
    /// The answers to the user's requests.
    user: BTreeMap<String, Answers>,
    /// The answers to those requests of the operator that failed because of a webhook.
    operator: BTreeMap<String, Answers>,
}

impl Trial {
    /// Runs the operator under faults in the calls that the API server makes to its webhooks, for admission and conversion, on the API
    /// server in memory. A user creates the sample, reads it in each served version if a webhook converts it, and deletes it when the
    /// operator has settled. Every second, the user repeats a request that failed because of a webhook. In the end, the cluster must have
    /// the same state as without faults, and the operator must have stopped writing.
    ///
    /// The faults begin at the first call and at some later ones:
    ///
    /// | fault | what happens |
    /// |---|---|
    /// | `down` | connections are refused for ten seconds, as when no replica serves the webhooks |
    /// | `slow` | calls take longer than their timeout, for 40 seconds |
    /// | `garbage` | answers are not JSON, have another kind or a wrong uid, or are an error `500`, for ten seconds |
    /// | `expired` | the certificate of the webhooks has expired, for ten seconds |
    /// | `replaced` | the webhook gets the call, but its answer is lost, as when its pod is replaced |
    ///
    /// `WEBHOOK_FAULTS="3:slow"` runs one schedule, as a failing test prints it. `FAULT_COUNT` limits the number of schedules. With
    /// `--nocapture`, the test prints the requests that the API server refused. On a real server, the trial is skipped.
    ///
    /// # Panics
    ///
    /// With the schedules that fail; if the operator does not settle without faults; or if the manifests configure no webhooks.
    pub fn assert_survives_webhook_faults<A>(&self, operator: impl Start<A>) {
        Operator::with(operator, |operator| self.survive_webhooks(operator));
    }

    fn survive_webhooks(&self, operator: &Operator<'_>) {
        if std::env::var("OPERATOR_TEST_SERVER").is_ok_and(|mode| mode == "assets") {
            println!("skipped: faults are injected into webhooks only by the API server in memory");
            return;
        }
        let stage = Stage::in_memory(self);
        let webhooks = stage.runtime().block_on(stage.server(self).webhooks());
        assert!(
            !webhooks.is_empty(),
            "{} configures no webhooks",
            self.manifests.display()
        );
        for sample in &self.samples {
            self.survive_with(&stage, operator, sample);
        }
    }

    fn survive_with(&self, stage: &Stage, operator: &Operator<'_>, sample: &Sample) {
        let run = |schedule| self.run_webhooks(stage, operator, sample, schedule);
        let [baseline, again] = [(); 2].map(|()| {
            let baseline = run(Schedule::default());
            if let Some(why) = &baseline.run.failure {
                panic!("without a fault: {why}");
            }
            baseline
        });
        let nondeterministic = differences(&baseline.run, &again.run);
        let run_with = |schedule: &Schedule<WebhookFault>| {
            let faulty = run(schedule.clone());
            let why = difference_to_baseline(&baseline.run, &faulty.run, &nondeterministic);
            let failure = why.map(|why| report::failed(schedule, &faulty, &why));
            if failure.is_none() {
                println!("{}", report::survived(schedule, &faulty));
            }
            (failure, faulty.remaining)
        };
        if let Some(schedule) = Schedule::from_env("WEBHOOK_FAULTS") {
            let (failure, remaining) = run_with(&schedule);
            if let Some(failure) = failure {
                panic!("{failure}");
            }
            assert_eq!(
                remaining,
                Schedule::default(),
                "WEBHOOK_FAULTS: these faults applied to no call"
            );
            return;
        }
        if baseline.calls.is_empty() {
            println!(
                "not tested: the API server calls no webhook for this sample and its children"
            );
        }
        check(&schedules(&baseline.calls), &|schedule| {
            run_with(schedule).0.into_iter().collect()
        });
    }

    fn run_webhooks(
        &self,
        stage: &Stage,
        operator: &Operator<'_>,
        sample: &Sample,
        schedule: Schedule<WebhookFault>,
    ) -> WebhookRun {
        stage.runtime().block_on(async {
            let server = stage.server(self);
            let requests = Faults::new(Schedule::default(), &self.user, &server);
            let faults = WebhookFaults::new(schedule, server.ignored_webhooks().await);
            let client = server.faulty_client(&self.user, &requests);
            let calls = server.webhook_calls().with_faults(faults.clone());
            server.run(operator.start_with_webhooks(client, &server, calls));
            let options = RunOptions {
                min_duration: [DURATION; 2],
                ..self.options(stage, sample, Scenario::Plain, Schedule::default())
            };
            let (mut user, mut states) = (User::default(), vec![]);
            let steps = async {
                let before = server.objects().await;
                server.await_webhooks().await;
                let create = async || server.install(&sample.text).await;
                user.insist(&server, "creation of the sample", create)
                    .await?;
                for phase in [Phase::WithSample, Phase::Deleted] {
                    if phase == Phase::Deleted {
                        let delete = async || server.uninstall(&sample.text).await;
                        user.insist(&server, "deletion of the sample", delete)
                            .await?;
                    }
                    if phase == Phase::WithSample {
                        user.read_in_each_version(&server, &sample.text).await?;
                    }
                    let reports = operator.reports;
                    self.settle_after_faults(
                        &server,
                        (&requests, &faults),
                        &options,
                        (phase, reports),
                    )
                    .await?;
                    if sample.fails.is_none() {
                        check_events(&server, &before).await?;
                    }
                    states.push(settled_state(&server, &requests, &before).await);
                }
                Ok::<(), String>(())
            };
            let failure = steps.await.err();
            let run = Run {
                requests: requests.requests(),
                states,
                failure: requests.forbidden().or(failure),
                remaining: Schedule::default(),
                requests_before_deletion: 0,
                server_requests: server.requests(),
            };
            WebhookRun {
                operator: self.answers(&run, &requests),
                run,
                calls: faults.calls(),
                remaining: faults.remaining(),
                missed: faults.missed(),
                user: user.0,
            }
        })
    }

    /// Waits until the operator has settled after the last fault, and checks that it has succeeded.
    async fn settle_after_faults(
        &self,
        server: &Server,
        (requests, faults): (&Faults, &WebhookFaults),
        options: &RunOptions<'_>,
        (phase, reports): (Phase, bool),
    ) -> Result<(), String> {
        let mut result = Ok(());
        for _ in 0..ATTEMPTS {
            settle(server, requests, options, DURATION).await?;
            let is_early = |until| Instant::now() < until + options.rest;
            if faults.faults_end().is_some_and(is_early) {
                continue;
            }
            if !reports {
                return Ok(());
            }
            result = self.check_success(server, options.sample, phase).await;
            if result.is_ok() {
                break;
            }
        }
        result
    }

    /// The operator's requests that failed because of webhooks, and how often they were accepted.
    fn answers(&self, run: &Run, requests: &Faults) -> BTreeMap<String, Answers> {
        let mut answers: BTreeMap<String, Answers> = BTreeMap::new();
        for (request, message) in requests.webhook_failures() {
            let answers = answers.entry(request.to_string()).or_default();
            answers.record_refusal(&message);
        }
        let own = run.server_requests.iter();
        for request in own.filter(|it| it.user == self.user && it.code < 400) {
            if let Some(answers) = answers.get_mut(&request.to_string()) {
                answers.accepted += 1;
            }
        }
        answers
    }
}

/// Each fault in the first of equal calls; if there are many, in some of them, from the first to the last.
fn schedules(calls: &[String]) -> Vec<Schedule<WebhookFault>> {
    let mut known = BTreeSet::new();
    let numbers: Vec<usize> = calls
        .iter()
        .enumerate()
        .filter(|(_, call)| known.insert(*call))
        .map(|(number, _)| number)
        .collect();
    let count = numbers.len().min(CALLS);
    let schedules = (0..count)
        .map(|index| match count {
            1 => numbers[0],
            count => numbers[index * (numbers.len() - 1) / (count - 1)],
        })
        .flat_map(|number| {
            WebhookFault::ALL
                .iter()
                .map(move |(fault, _)| Schedule([(number, *fault)].into()))
        });
    bounded(schedules.collect(), seed())
}

impl Server {
    /// The paths of the admission webhooks whose failures are ignored.
    async fn ignored_webhooks(&self) -> BTreeSet<String> {
        let configs = self.admission_webhooks().await.into_iter();
        configs
            .filter(|webhook| webhook["failurePolicy"] == "Ignore")
            .filter_map(|webhook| path(&webhook["clientConfig"]))
            .collect()
    }
}

/// The path of a webhook.
fn path(config: &Value) -> Option<String> {
    match config["url"].as_str() {
        Some(url) => Some(url.parse::<http::Uri>().ok()?.path().to_owned()),
        None => {
            let path = config["service"]["path"].as_str().unwrap_or_default();
            Some(format!("/{}", path.trim_start_matches('/')))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_the_last_and_calls_between_get_every_fault() {
        let calls: Vec<String> = (0..40)
            .map(|number| format!("call {}", number / 2))
            .collect();
        let schedules = schedules(&calls);
        assert_eq!(schedules.len(), CALLS * WebhookFault::ALL.len());
        let numbers: BTreeSet<usize> = schedules
            .iter()
            .flat_map(|it| it.0.keys().copied())
            .collect();
        assert_eq!((numbers.first(), numbers.last()), (Some(&0), Some(&38)));
        assert!(numbers.iter().all(|number| number % 2 == 0), "{numbers:?}");
    }
}
