//! One run of an operator, from its start to its rest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep, sleep_until};

use super::stage::Stage;
use super::state::{Objects, made, settled};
use super::success::{Phase, failures};
use super::{Operator, Sample, Trial};
use crate::fault::{Faults, LEASE, Schedule, lease};
use crate::install::documents;
use crate::record::Request;
use crate::server::Server;

/// How often it may begin anew to be at rest.
const PATIENCE: usize = 8;

/// How long success is awaited on a real server after a fault.
const REAL_PATIENCE: Duration = Duration::from_secs(60);

/// What is done in a run, besides that the sample is made and deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plot {
    Nothing,
    /// When all is at rest, somebody deletes what the operator has made; then its owner is taken from it, and the sample changes, so that the
    /// operator finds what is not its own, until that is deleted.
    Deprive,
    /// The sample changes a second after it was made.
    Touch,
    /// The sample is deleted a second after it was made.
    Hurry,
    /// The same as the first when another replica holds the lease, under which nothing may be written; an operator that ends is started again.
    Usurp,
}

/// What a run is to be.
pub(super) struct Course<'a> {
    pub sample: &'a Sample,
    pub schedule: Schedule,
    pub plot: Plot,
    /// How long nothing may be written at rest.
    pub rest: Duration,
    /// How long it is at least, with the sample and without.
    pub least: [Duration; 2],
}

/// What became of one run.
pub(super) struct Run {
    pub asked: Vec<Request>,
    /// What the server answered.
    pub answered: Vec<Request>,
    /// The objects at rest: with the sample, and without.
    pub states: Vec<Value>,
    pub restless: Option<String>,
    /// What befell no request.
    pub left: Schedule,
    /// How much was asked before the sample was deleted.
    pub before_end: usize,
}

impl Trial {
    pub(super) fn run(&self, stage: &Stage, operator: &Operator<'_>, course: Course<'_>) -> Run {
        stage.runtime().block_on(async {
            let server = stage.server(self);
            if stage.is_real() {
                self.free_lease(&server).await;
                self.collect(&server).await;
            }
            let faults = Faults::new(course.schedule.clone(), &self.user, &server);
            let start = || {
                server.run(operator.start(server.disturbed(&self.user, &faults), server.outcomes()))
            };
            start();
            let story = self.story(&server, &faults, &course, operator.reports);
            let (states, before_end, restless) = match course.plot {
                Plot::Usurp => tokio::select! {
                    told = story => told,
                    () = replace(&server, start) => unreachable!("it goes on until the end"),
                },
                _ => story.await,
            };
            Run {
                asked: faults.asked(),
                states,
                restless: faults.forbidden().or(restless),
                left: faults.left(),
                before_end,
                answered: server.requests(),
            }
        })
    }

    /// On a server that runs share, the operator of the last one still holds its lease.
    async fn free_lease(&self, server: &Server) {
        let account = self.user.strip_prefix("system:serviceaccount:");
        if let Some((namespace, name)) = account.and_then(|account| account.split_once(':')) {
            let lease = lease(namespace, name, &Value::Null);
            let deleted = server.uninstall(&lease.to_string()).await;
            deleted.unwrap_or_else(|error| panic!("the lease: {error}"));
        }
    }

    /// On a server that runs share, the garbage collector may not have come to what the samples of the last one controlled, if it has one
    /// at all. An owner that a later list does not have is gone.
    async fn collect(&self, server: &Server) {
        let controlled = server.objects().await;
        let later = server.objects().await;
        if later.is_empty() {
            // it could not be listed, and says nothing about owners
            return;
        }
        let uids: BTreeSet<&str> = later
            .values()
            .filter_map(|it| uid(&it["metadata"]))
            .collect();
        let samples = self.samples.iter().map(|sample| documents(&sample.text));
        let samples: Vec<Value> = samples.flatten().flatten().collect();
        let is_left = |object: &Value| {
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
        let left: Vec<Arc<Value>> = controlled.into_values().filter(|it| is_left(it)).collect();
        delete(server, &left).await;
    }

    /// What happens to the sample. Out: the states at rest, how much was asked before its end, and why there was no rest.
    async fn story(
        &self,
        server: &Server,
        faults: &Faults,
        course: &Course<'_>,
        reports: bool,
    ) -> (Vec<Value>, usize, Option<String>) {
        let before = server.objects().await;
        let must =
            |done: crate::Result<()>| done.unwrap_or_else(|error| panic!("the sample: {error}"));
        let sample = course.sample.text.as_str();
        must(server.install(sample).await);
        let [with, without] = course.least;
        let (mut states, mut before_end) = (vec![], 0);
        let succeeded = async |phase: Phase| match reports {
            true => self.succeeded(server, course.sample, phase).await,
            false => Ok(()),
        };
        // A regular reconciliation may meet a fault while the results are read: then the retry is awaited. In real time a retry may also
        // come after the rest, which is shorter than the pauses between the retries of a watch.
        let succeed_at_rest = async |least: Duration, phase: Phase| {
            let end = Instant::now() + REAL_PATIENCE;
            loop {
                come_to_rest(server, faults, course, least).await?;
                let befell = faults.befell();
                let judged = succeeded(phase).await;
                let is_early = server.is_real() && befell.is_some() && Instant::now() < end;
                if judged.is_ok() || (faults.befell() == befell && !is_early) {
                    return judged;
                }
            }
        };
        let life = async {
            if matches!(course.plot, Plot::Hurry | Plot::Touch) {
                sleep(Duration::from_secs(1)).await;
            }
            if course.plot == Plot::Touch {
                must(server.install(&touched(sample)).await);
            }
            if course.plot != Plot::Hurry {
                succeed_at_rest(with, Phase::WithSample).await?;
                if course.schedule.0.is_empty() && course.sample.fails.is_none() {
                    content(server, &before).await?;
                }
            }
            if course.plot == Plot::Deprive {
                deprive(server, faults, &before).await;
                come_to_rest(server, faults, course, with).await?;
                let strangers = disown(server, faults, &before).await;
                must(server.install(&touched(sample)).await);
                sleep(STRANGE).await;
                delete(server, &strangers).await;
                succeed_at_rest(with, Phase::WithSample).await?;
            }
            states.push(settled(server, faults, &before).await);
            before_end = faults.asked().len();
            must(server.uninstall(sample).await);
            succeed_at_rest(without, Phase::Deleted).await?;
            states.push(settled(server, faults, &before).await);
            Ok(())
        };
        let usurped = async {
            match course.plot {
                Plot::Usurp => keep_off(server, faults, &before).await,
                _ => std::future::pending().await,
            }
        };
        let ended: Result<(), String> = tokio::select! {
            ended = life => ended,
            acted = usurped => Err(acted),
        };
        (states, before_end, ended.err())
    }
}

/// Whether the operator has told in no event that it panicked, or gives up.
pub(super) async fn content(server: &Server, before: &Objects) -> Result<(), String> {
    // A child that is taken may be one of a sample before, which a real server has yet to collect.
    const REASONS: [&str; 4] = [
        "Panicked",
        "PermanentError",
        "UndeclaredChild",
        "UnownableChild",
    ];
    let objects = server.objects().await;
    let mut told = objects
        .iter()
        .filter(|(path, _)| !before.contains_key(*path));
    let complaint = told.find_map(|(_, event)| {
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
    });
    complaint.map_or(Ok(()), Err)
}

fn uid(of: &Value) -> Option<&str> {
    of["uid"].as_str()
}

/// As a Deployment does: when the operator ends, another takes its place a second later.
async fn replace(server: &Server, start: impl Fn()) {
    loop {
        sleep(Duration::from_secs(1)).await;
        if server.forget_end().is_some() {
            start();
        }
    }
}

/// Somebody deletes what the operator made.
async fn deprive(server: &Server, faults: &Faults, before: &Objects) {
    delete(server, &made(server, faults, before).await).await;
}

async fn delete(server: &Server, objects: &[Arc<Value>]) {
    for object in objects {
        let deleted = server.uninstall(&object.to_string()).await;
        deleted.unwrap_or_else(|error| panic!("what the operator made: {error}"));
    }
}

/// How long what the operator made is not its own.
const STRANGE: Duration = Duration::from_secs(5);

/// Somebody takes their owners from the objects that the operator made.
async fn disown(server: &Server, faults: &Faults, before: &Objects) -> Vec<Arc<Value>> {
    let made = made(server, faults, before).await;
    for object in &made {
        let disowned = server.disown(Value::clone(object)).await;
        disowned.unwrap_or_else(|error| panic!("what the operator made: {error}"));
    }
    made
}

/// The sample with a label.
fn touched(sample: &str) -> String {
    let mut objects = documents(sample).unwrap_or_else(|error| panic!("the sample: {error}"));
    for object in &mut objects {
        object["metadata"]["labels"]["operator-testing"] = "touched".into();
    }
    let texts: Vec<String> = objects.iter().map(Value::to_string).collect();
    texts.join("\n---\n")
}

/// Waits until another replica holds the lease, gives an operator that did not notice reason to act, and says what it did; else for ever.
async fn keep_off(server: &Server, faults: &Faults, before: &Objects) -> String {
    faults.usurped().await;
    // it learns of it when it renews the lease, and may end what it does
    sleep(LEASE / 2).await;
    let known = faults.asked().len();
    deprive(server, faults, before).await;
    sleep(LEASE / 3).await;
    let asked = faults.asked();
    match asked[known..].iter().find(|request| request.is_work()) {
        Some(request) => {
            format!("it makes a change while another replica holds the lease: {request}")
        }
        None => std::future::pending().await,
    }
}

/// Waits until nothing is written any more, or says why there is no end of it.
pub(super) async fn come_to_rest(
    server: &Server,
    faults: &Faults,
    course: &Course<'_>,
    least: Duration,
) -> Result<(), String> {
    let begun = Instant::now();
    let end = || {
        let last = faults.worked().max(faults.befell());
        let last = last.map_or(begun, |last| last.max(begun));
        let usurped = faults.usurped_until().unwrap_or(begun);
        (last + course.rest).max(begun + least).max(usurped)
    };
    for _ in 0..PATIENCE {
        let expected = end();
        sleep_until(expected).await;
        // Who asks too much is not answered any more, and ends for that: as one that can't renew its lease.
        if faults.is_exhausted() {
            break;
        }
        let ended = server.ended().clone();
        if let Some(reason) = ended.filter(|_| course.plot != Plot::Usurp) {
            return Err(format!("the operator ended: {reason}"));
        }
        if end() == expected {
            return Ok(());
        }
    }
    let asked = faults.asked();
    let failures = failures(&server.outcomes());
    let question = match failures.as_str() {
        "" => ": does it write a different value each time?",
        _ => "",
    };
    Err(format!(
        "it does not stop making requests: {} requests, {}{failures}",
        asked.len(),
        repeated(&asked, question),
    ))
}

/// What is asked again and again at the end: the write that is met most often, as it may be what wakes the operator, with a question about
/// it; or just the last.
fn repeated(asked: &[Request], question: &str) -> String {
    const LAST: usize = 200;
    let last = &asked[asked.len().saturating_sub(LAST)..];
    let mut writes: BTreeMap<String, usize> = BTreeMap::new();
    for request in last.iter().filter(|request| request.is_work()) {
        *writes.entry(request.to_string()).or_default() += 1;
    }
    match writes.into_iter().max_by_key(|(_, times)| *times) {
        Some((write, times)) if times > 1 => format!(
            "and {times} of the last {} are {write}{question}",
            last.len()
        ),
        _ => {
            let last = asked.iter().rev().take(4).map(ToString::to_string);
            format!("the last of them {}", last.collect::<Vec<_>>().join(", "))
        }
    }
}

pub(super) fn told(schedule: &Schedule, run: &Run, why: &str) -> String {
    let befallen = schedule
        .0
        .iter()
        .map(|(number, fault)| match run.asked.get(*number) {
            Some(request) => format!("{fault} at request {number}, {request}"),
            None => format!("{fault} at request {number}, which was not made"),
        });
    let befallen: Vec<String> = befallen.collect();
    format!("FAULTS=\"{schedule}\": {}\n  {why}", befallen.join("; "))
}
