//! One run of an operator: it starts, reconciles a sample, and settles.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep, sleep_until};

use super::stage::Stage;
use super::state::{Objects, created_children, settled_state};
use super::success::{Phase, failures};
use super::{Operator, Sample, Trial};
use crate::declared::Declared;
use crate::fault::{Fault, Faults, LEASE, lease};
use crate::install::documents;
use crate::outcome::{LOOP, ObjectKey};
use crate::schedule::Schedule;
use crate::{Request, Server, lock};

/// How many times the operator may resume its requests before it counts as not settling.
const MAX_ATTEMPTS: usize = 8;

/// How long to wait on a real server for success after a fault, or for the garbage collector.
const REAL_TIMEOUT: Duration = Duration::from_secs(60);

/// The changes that a run makes, besides creating and deleting the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scenario {
    Plain,
    /// When the operator has settled, creates children that the object should not have, and removes the labels of the others if some are
    /// not written with server-side apply. When it has settled again, deletes the children. Finally, removes the owner references of the
    /// new children and changes the sample, so that the operator finds objects that are not its own, and deletes these a little later.
    DeleteChildren,
    /// Changes the sample a second after its creation.
    UpdateEarly,
    /// Deletes the sample a second after its creation.
    DeleteEarly,
    /// Like `Plain`, but another replica takes the lease. The operator must not write until that lease expires, and is restarted if it
    /// exits.
    LoseLease,
}

/// The options of a run.
pub(super) struct RunOptions<'a> {
    pub sample: &'a Sample,
    pub schedule: Schedule<Fault>,
    pub scenario: Scenario,
    /// How long the operator must not write anything to count as settled.
    pub rest: Duration,
    /// The shortest time to observe, with the sample and after its deletion.
    pub min_duration: [Duration; 2],
}

/// The result of one run.
pub(super) struct Run {
    pub requests: Vec<Request>,
    /// The requests with the responses of the server.
    pub server_requests: Vec<Request>,
    /// The settled objects: with the sample, and after its deletion.
    pub states: Vec<Value>,
    pub failure: Option<String>,
    /// The faults that applied to no request.
    pub remaining: Schedule<Fault>,
    /// How many requests were made before the sample was deleted.
    pub requests_before_deletion: usize,
}

impl Trial {
    pub(super) fn run(
        &self,
        stage: &Stage,
        operator: &Operator<'_>,
        options: RunOptions<'_>,
    ) -> Run {
        stage.runtime().block_on(async {
            let server = stage.server(self);
            if stage.is_real() {
                self.delete_lease(&server).await;
                self.collect_garbage(&server).await;
            }
            let faults = Faults::new(options.schedule.clone(), &self.user, &server);
            let start = || {
                server.run(operator.start(server.faulty_client(&self.user, &faults), &server));
            };
            start();
            let run_scenario = self.run_scenario(&server, &faults, &options, operator.reports);
            let (states, requests_before_deletion, failure) = match options.scenario {
                Scenario::LoseLease => tokio::select! {
                    result = run_scenario => result,
                    () = restart_when_ended(&server, start) => unreachable!("it goes on until the end"),
                },
                _ => run_scenario.await,
            };
            Run {
                requests: faults.requests(),
                states,
                failure: faults.forbidden().or(failure),
                remaining: faults.remaining(),
                requests_before_deletion,
                server_requests: server.requests(),
            }
        })
    }

    /// Deletes the operator's lease: on a server that several runs share, the operator of the previous run still holds it.
    async fn delete_lease(&self, server: &Server) {
        let account = self.user.strip_prefix("system:serviceaccount:");
        if let Some((namespace, name)) = account.and_then(|account| account.split_once(':')) {
            let lease = lease(namespace, name, &Value::Null);
            let deleted = server.uninstall(&lease.to_string()).await;
            deleted.unwrap_or_else(|error| panic!("the lease: {error}"));
        }
    }

    /// Deletes the children of the samples of previous runs: on a server that several runs share, the garbage collector may be slow, or may
    /// not run. The owners are listed after the children, so an owner that the list lacks was deleted.
    async fn collect_garbage(&self, server: &Server) {
        let earlier = server.objects().await;
        let later = server.objects().await;
        if later.is_empty() {
            // the list has failed, so owners that it lacks may exist
            return;
        }
        let uids: BTreeSet<&str> = later
            .values()
            .filter_map(|it| uid(&it["metadata"]))
            .collect();
        let samples = self.samples.iter().map(|sample| documents(&sample.text));
        let samples: Vec<Value> = samples.flatten().flatten().collect();
        let is_leftover = |object: &Value| {
            let owners = object["metadata"]["ownerReferences"].as_array();
            owners.into_iter().flatten().any(|owner| {
                let is_of_sample = |sample: &Value| {
                    sample["apiVersion"] == owner["apiVersion"] && sample["kind"] == owner["kind"]
                };
                owner["controller"] == true
                    && samples.iter().any(is_of_sample)
                    && uid(owner).is_none_or(|uid| !uids.contains(uid))
            })
        };
        let remaining: Vec<Arc<Value>> =
            earlier.into_values().filter(|it| is_leftover(it)).collect();
        delete(server, &remaining).await;
    }

    /// Creates, changes and deletes the sample. Returns the settled states, the number of requests before the deletion, and why the
    /// operator failed.
    async fn run_scenario(
        &self,
        server: &Server,
        faults: &Faults,
        options: &RunOptions<'_>,
        reports: bool,
    ) -> (Vec<Value>, usize, Option<String>) {
        let before = server.objects().await;
        server.await_webhooks().await;
        let expect_ok =
            |done: crate::Result<()>| done.unwrap_or_else(|error| panic!("the sample: {error}"));
        let sample = options.sample.text.as_str();
        expect_ok(server.install_patiently(sample).await);
        let [with, without] = options.min_duration;
        let (mut states, mut requests_before_deletion) = (vec![], 0);
        let succeeded = async |phase: Phase| {
            if reports {
                self.check_success(server, options.sample, phase).await
            } else {
                Ok(())
            }
        };
        // If a reconciliation gets a fault while the results are read, wait for its retry. On a real server, a retry may also come when the
        // operator already counts as settled, because `rest` is shorter there than the backoff of a watch.
        let succeed_at_rest = async |min_duration: Duration, phase: Phase| {
            let end = Instant::now() + REAL_TIMEOUT;
            loop {
                settle(server, faults, options, min_duration).await?;
                let faults_end = faults.faults_end();
                let result = succeeded(phase).await;
                let is_early = server.is_real() && faults_end.is_some() && Instant::now() < end;
                if result.is_ok() || (faults.faults_end() == faults_end && !is_early) {
                    return result;
                }
            }
        };
        let steps = async {
            if matches!(
                options.scenario,
                Scenario::DeleteEarly | Scenario::UpdateEarly
            ) {
                sleep(Duration::from_secs(1)).await;
            }
            if options.scenario == Scenario::UpdateEarly {
                expect_ok(server.install_patiently(&with_label(sample)).await);
            }
            if options.scenario != Scenario::DeleteEarly {
                let phase = match options.scenario {
                    Scenario::UpdateEarly => Phase::Changed,
                    _ => Phase::WithSample,
                };
                succeed_at_rest(with, phase).await?;
                if options.schedule.0.is_empty() && options.sample.fails.is_none() {
                    check_events(server, &before).await?;
                }
            }
            if options.scenario == Scenario::DeleteChildren {
                let children = created_children(server, faults, &before).await;
                self.place_undesired(server, &children).await;
                if self.declared.iter().any(Declared::is_not_applied) {
                    remove_labels(server, &children).await;
                }
                settle(server, faults, options, with).await?;
                delete_children(server, faults, &before).await;
                settle(server, faults, options, with).await?;
                let orphans = disown(server, faults, &before).await;
                expect_ok(server.install_patiently(&with_label(sample)).await);
                sleep(ORPHAN_TIME).await;
                delete(server, &orphans).await;
                succeed_at_rest(with, Phase::Changed).await?;
            }
            states.push(settled_state(server, faults, &before).await);
            requests_before_deletion = faults.requests().len();
            expect_ok(server.uninstall_patiently(sample).await);
            succeed_at_rest(without, Phase::Deleted).await?;
            if server.is_real() {
                await_deletion(server, sample).await?;
                await_garbage_collection(server, &before).await;
            }
            states.push(settled_state(server, faults, &before).await);
            Ok(())
        };
        let lease_lost = async {
            match options.scenario {
                Scenario::LoseLease => {
                    self.provoke_write_without_lease(server, faults, &before, sample)
                        .await
                }
                _ => std::future::pending().await,
            }
        };
        let result: Result<(), String> = tokio::select! {
            result = steps => result,
            problem = lease_lost => Err(problem),
        };
        (states, requests_before_deletion, result.err())
    }
}

/// Waits until the sample does not exist any more: a controller of the cluster may have to remove a finalizer, such as that of a Namespace or
/// of a PersistentVolumeClaim, and the next run creates the sample again.
async fn await_deletion(server: &Server, sample: &str) -> Result<(), String> {
    let end = Instant::now() + REAL_TIMEOUT;
    for mut object in documents(sample).map_err(|error| format!("the sample: {error}"))? {
        let path = server.path_of(&mut object).await;
        let path = path.map_err(|error| format!("the sample: {error}"))?;
        loop {
            let remaining = server.read(&path).await;
            if remaining.is_null() {
                break;
            }
            if Instant::now() >= end {
                return Err(remains(&remaining));
            }
            sleep(Duration::from_millis(100)).await;
        }
    }
    Ok(())
}

/// Describes a sample that was deleted and remains.
fn remains(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
    let finalizers = [
        &object["metadata"]["finalizers"],
        &object["spec"]["finalizers"],
    ];
    let finalizers: Vec<&Value> = finalizers
        .into_iter()
        .filter_map(Value::as_array)
        .flatten()
        .collect();
    format!(
        "{kind} {name} remains {} s after its deletion, with the finalizers {}\nhelp: those of Kubernetes are removed by its controllers: if OPERATOR_TEST_CONTROLLERS is set, it must have the one for them, such as namespace-controller or persistentvolumeclaim-protection-controller",
        REAL_TIMEOUT.as_secs(),
        serde_json::json!(finalizers),
    )
}

impl Trial {
    /// Waits until another replica holds the lease, then deletes children; or, because handlers do not repair these, changes a label of the
    /// sample and restores it. Returns a description of the operator's write if it reacts; otherwise never returns.
    async fn provoke_write_without_lease(
        &self,
        server: &Server,
        faults: &Faults,
        before: &Objects,
        sample: &str,
    ) -> String {
        faults.lease_taken().await;
        // the operator notices the loss when it renews the lease, and may finish its current work
        sleep(LEASE / 2).await;
        let known = faults.requests().len();
        if self.depends_on_history {
            for text in [&with_label(sample), sample] {
                let changed = server.install_patiently(text).await;
                changed.unwrap_or_else(|error| panic!("the sample: {error}"));
            }
        } else {
            delete_children(server, faults, before).await;
        }
        sleep(LEASE / 3).await;
        let requests = faults.requests();
        match requests[known..].iter().find(|request| request.is_work()) {
            Some(request) => {
                format!("it makes a change while another replica holds the lease: {request}")
            }
            None => std::future::pending().await,
        }
    }
}

/// Waits until a real garbage collector has deleted the new objects whose owners were deleted. It looks for new kinds only every 30
/// seconds.
async fn await_garbage_collection(server: &Server, before: &Objects) {
    let end = Instant::now() + REAL_TIMEOUT;
    while Instant::now() < end {
        let objects = server.objects().await;
        let uid = |object: &Value| object["uid"].as_str().unwrap_or_default().to_owned();
        let uids: BTreeSet<String> = objects.values().map(|it| uid(&it["metadata"])).collect();
        let is_garbage = |object: &Value| {
            let owners = object["metadata"]["ownerReferences"].as_array();
            owners.is_some_and(|owners| {
                !owners.is_empty() && !owners.iter().any(|owner| uids.contains(&uid(owner)))
            })
        };
        let mut new = objects
            .iter()
            .filter(|(path, _)| !before.contains_key(*path));
        if !new.any(|(_, object)| is_garbage(object)) {
            return;
        }
        sleep(Duration::from_millis(500)).await;
    }
}

/// Checks that no event of the operator reports a panic, a permanent error, or a child that it does not declare or cannot own.
pub(super) async fn check_events(server: &Server, before: &Objects) -> Result<(), String> {
    // without `ChildTaken`: on a real server, the child may be one of a previous sample that is not garbage-collected yet
    const REASONS: [&str; 4] = [
        "Panicked",
        "PermanentError",
        "UndeclaredChild",
        "UnownableChild",
    ];
    let objects = server.objects().await;
    objects
        .iter()
        .filter(|(path, _)| !before.contains_key(*path))
        .find_map(|(_, event)| {
            let reason = event["reason"].as_str()?;
            let of = |old: &str, new: &str| match &event[old] {
                Value::Null => event[new].clone(),
                found => found.clone(),
            };
            let (about, note) = (of("involvedObject", "regarding"), of("message", "note"));
            let is_meant = event["type"] == "Warning" && REASONS.contains(&reason);
            is_meant.then(|| {
                let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let (kind, name, note) = (word(&about["kind"]), word(&about["name"]), word(&note));
                format!("the operator failed with {kind} {name}, by its event {reason}: {note}")
            })
        })
        .map_or(Ok(()), Err)
}

fn uid(of: &Value) -> Option<&str> {
    of["uid"].as_str()
}

/// Restarts the operator a second after it ended, as a Deployment does.
async fn restart_when_ended(server: &Server, start: impl Fn()) {
    loop {
        sleep(Duration::from_secs(1)).await;
        if server.forget_end().is_some() {
            start();
        }
    }
}

/// Deletes the children that the operator created.
async fn delete_children(server: &Server, faults: &Faults, before: &Objects) {
    delete(server, &created_children(server, faults, before).await).await;
}

async fn delete(server: &Server, objects: &[Arc<Value>]) {
    for object in objects {
        let deleted = server.uninstall(&object.to_string()).await;
        deleted.unwrap_or_else(|error| panic!("what the operator made: {error}"));
    }
}

/// How long the children have no owner.
const ORPHAN_TIME: Duration = Duration::from_secs(5);

/// Removes the owner references of the children that the operator created.
async fn disown(server: &Server, faults: &Faults, before: &Objects) -> Vec<Arc<Value>> {
    let made = created_children(server, faults, before).await;
    for object in &made {
        let disowned = server.disown(Value::clone(object)).await;
        disowned.unwrap_or_else(|error| panic!("what the operator made: {error}"));
    }
    made
}

/// Removes the labels of objects, so that the operator must restore the labels that it manages.
async fn remove_labels(server: &Server, objects: &[Arc<Value>]) {
    for object in objects {
        let stripped = server.strip(Value::clone(object), "labels").await;
        stripped.unwrap_or_else(|error| panic!("what the operator made: {error}"));
    }
}

/// The sample with a label.
fn with_label(sample: &str) -> String {
    let mut objects = documents(sample).unwrap_or_else(|error| panic!("the sample: {error}"));
    for object in &mut objects {
        object["metadata"]["labels"]["operator-testing"] = "touched".into();
    }
    let texts: Vec<String> = objects.iter().map(Value::to_string).collect();
    texts.join("\n---\n")
}

/// Waits until the operator stops writing. Returns the reason if it does not stop.
pub(super) async fn settle(
    server: &Server,
    faults: &Faults,
    options: &RunOptions<'_>,
    min_duration: Duration,
) -> Result<(), String> {
    let begun = Instant::now();
    let end = || {
        let last = faults.last_write().max(faults.faults_end());
        let last = last.map_or(begun, |last| last.max(begun));
        let lease_loss_end = faults.lease_loss_until().unwrap_or(begun);
        (last + options.rest)
            .max(begun + min_duration)
            .max(lease_loss_end)
    };
    let outcomes = server.outcomes();
    let mut looping = None;
    for _ in 0..MAX_ATTEMPTS {
        let expected = end();
        tokio::select! {
            biased;
            object = outcomes.endless_loop() => {
                looping = Some(object);
                break;
            }
            () = sleep_until(expected) => {}
        }
        // Above the limit, requests are not answered, so that the operator may end because it cannot renew its lease: report the limit.
        if faults.exceeds_request_limit() {
            break;
        }
        let ended = server.ended().clone();
        if let Some(reason) = ended.filter(|_| options.scenario != Scenario::LoseLease) {
            return Err(format!("the operator ended: {reason}"));
        }
        if end() == expected {
            return Ok(());
        }
    }
    let requests = faults.requests();
    let failures = failures(&outcomes);
    let question = match failures.as_str() {
        "" => ": does it write a different value each time?",
        _ => "",
    };
    let details = format!(
        "{} requests, {}{failures}",
        requests.len(),
        repeated(&requests, question),
    );
    Err(match looping {
        Some(object) => endless_loop(&object, &details),
        None => format!("it does not stop making requests: {details}"),
    })
}

/// Describes an endless loop. Each test of the program runs into it, and only the first one that does has the details.
fn endless_loop(object: &ObjectKey, details: &str) -> String {
    static FOUND: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
    let thread = std::thread::current();
    if let Some(test) = thread.name() {
        let mut found = lock(&FOUND);
        let first = found
            .entry(object.to_string())
            .or_insert_with(|| test.to_owned());
        if first != test {
            return format!("{object} is reconciled in an endless loop, as {first} reports");
        }
    }
    let (times, duration) = LOOP;
    format!(
        "{object} was reconciled more than {times} times in {} s: {details}\nhelp: a reconciliation that has nothing to do ends with `Action::await_change()`, or with a requeue after some seconds",
        duration.as_secs()
    )
}

/// The most frequent write, and how often it was requested.
pub(super) fn most_frequent_write(requests: &[Request]) -> Option<(String, usize)> {
    let mut writes: BTreeMap<String, usize> = BTreeMap::new();
    for request in requests.iter().filter(|request| request.is_work()) {
        *writes.entry(request.to_string()).or_default() += 1;
    }
    writes.into_iter().max_by_key(|(_, times)| *times)
}

/// Describes the repeated requests at the end of a run: the most frequent write, which may trigger the operator, followed by a question
/// about it; or the last requests.
fn repeated(requests: &[Request], question: &str) -> String {
    const LAST: usize = 200;
    let last = &requests[requests.len().saturating_sub(LAST)..];
    match most_frequent_write(last) {
        Some((write, times)) if times > 1 => format!(
            "and {times} of the last {} are {write}{question}",
            last.len()
        ),
        _ => {
            let last = requests.iter().rev().take(4).map(ToString::to_string);
            format!("the last of them {}", last.collect::<Vec<_>>().join(", "))
        }
    }
}

pub(super) fn failure_report(schedule: &Schedule<Fault>, run: &Run, why: &str) -> String {
    let headline = schedule.headline("FAULTS", "at request", &run.requests);
    format!("{headline}\n  {why}")
}
