//! An operator under faults: whatever befalls one of its requests, it comes to the same state, and then to rest.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::future::Future;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::Client;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::api::ApiServer;
use crate::fault::{Fault, Faults, Schedule};
use crate::record::Request;
use crate::server::Server;

/// How long nothing may be written before an operator counts as being at rest, on the test's clock.
const REST: Duration = Duration::from_secs(60);

/// The same where a watch may fall silent, with the sample and without: first until watches were renewed once, then until the silence is
/// known for what it is.
const LONG_RESTS: [Duration; 2] = [Duration::from_secs(160), Duration::from_secs(450)];

/// How often it may begin anew to be at rest.
const PATIENCE: usize = 8;

/// How many pairs of faults are tried.
const PAIRS: usize = 24;

/// How many single faults are tried. One kind of a starter has some 250; an operator of many kinds makes more requests with each.
const MOST: usize = 600;

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

/// What became of one run.
struct Run {
    asked: Vec<Request>,
    /// The objects at rest: with the sample, and without.
    states: Vec<Value>,
    restless: Option<String>,
    /// What befell no request.
    left: Schedule,
    /// How much was asked before the sample was deleted.
    before_end: usize,
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

    fn server(&self, server: ApiServer) -> Server {
        let first = self.namespaces.first();
        Server::of(server, first.map_or("default", String::as_str))
    }

    /// A server on which everything is but the sample.
    fn installed(&self) -> ApiServer {
        let server = self.server(ApiServer::new());
        runtime().block_on(async {
            for name in &self.namespaces {
                let object =
                    format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}");
                let made = server.install(&object).await;
                made.unwrap_or_else(|error| panic!("the namespace {name}: {error}"));
            }
            let installed = server.install_kustomization(&self.manifests).await;
            installed.unwrap_or_else(|error| panic!("{}: {error}", self.manifests.display()));
        });
        server.service().expect("it is in memory")
    }

    fn run<E, R>(
        &self,
        installed: &ApiServer,
        operator: &impl Fn(Client) -> R,
        schedule: Schedule,
    ) -> Run
    where
        E: Display + Send + 'static,
        R: Future<Output = Result<(), E>> + Send + 'static,
    {
        let is_silent = schedule.0.values().any(|fault| fault.is_silence());
        let rests = match is_silent {
            true => self.long_rests(),
            false => [self.rest; 2],
        };
        self.run_for(installed, operator, schedule, rests)
    }

    fn long_rests(&self) -> [Duration; 2] {
        LONG_RESTS.map(|rest| rest.max(self.rest))
    }

    fn run_for<E, R>(
        &self,
        installed: &ApiServer,
        operator: &impl Fn(Client) -> R,
        schedule: Schedule,
        [with, without]: [Duration; 2],
    ) -> Run
    where
        E: Display + Send + 'static,
        R: Future<Output = Result<(), E>> + Send + 'static,
    {
        runtime().block_on(async {
            let before = installed.objects();
            let server = self.server(installed.fork());
            let faults = Faults::new(schedule);
            server.run(operator(server.disturbed(&self.user, &faults)));
            let sample = server.install(&self.sample).await;
            sample.unwrap_or_else(|error| panic!("the sample: {error}"));
            let (mut states, mut before_end) = (vec![], 0);
            let mut restless = come_to_rest(&server, &faults, with).await;
            if restless.is_none() {
                states.push(settled(&server, &before));
                before_end = faults.asked().len();
                let sample = server.uninstall(&self.sample).await;
                sample.unwrap_or_else(|error| panic!("the sample: {error}"));
                restless = come_to_rest(&server, &faults, without).await;
                states.push(settled(&server, &before));
            }
            let answered = server.requests();
            let mut answered = answered.iter();
            let forbidden =
                answered.find(|request| request.code == 403 && request.user == self.user);
            let forbidden = forbidden.map(|request| format!("it may not {request}"));
            Run {
                asked: faults.asked(),
                states,
                restless: forbidden.or(restless),
                left: faults.left(),
                before_end,
            }
        })
    }
}

fn runtime() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().start_paused(true).build();
    runtime.expect("a runtime starts")
}

/// Waits until nothing is written any more, or says why there is no end of it.
async fn come_to_rest(server: &Server, faults: &Faults, rest: Duration) -> Option<String> {
    let mut written = None;
    for _ in 0..PATIENCE {
        tokio::time::sleep(rest).await;
        let ended = server.ended().clone();
        if let Some(reason) = ended {
            return Some(format!("the operator ended: {reason}"));
        }
        let writes = faults.asked();
        let writes = writes
            .iter()
            .filter(|request| request.is_write() && !MESSAGES.contains(&request.resource.as_str()));
        let writes = writes.count();
        if faults.is_exhausted() {
            break;
        }
        if written == Some(writes) {
            return None;
        }
        written = Some(writes);
    }
    let asked = faults.asked();
    let last: Vec<String> = asked
        .iter()
        .rev()
        .take(4)
        .map(ToString::to_string)
        .collect();
    Some(format!(
        "it does not come to rest: {} requests, the last of them {}",
        asked.len(),
        last.join(", ")
    ))
}

/// What an operator says of its work and of itself.
const MESSAGES: [&str; 2] = ["events", "leases"];

/// The objects that are not as they were before, without what is another in each run, and without messages.
fn settled(server: &Server, before: &BTreeMap<String, Arc<Value>>) -> Value {
    let is_message = |path: &str| {
        let plural = path.split('/').nth(1);
        plural.is_some_and(|plural| MESSAGES.contains(&plural))
    };
    let objects = server.service().map(|server| server.objects());
    let objects = objects.unwrap_or_default();
    let gone = before.keys().filter(|path| !objects.contains_key(*path));
    let gone = gone.map(|path| (path.clone(), Value::Null));
    let is_new = |path: &String, object: &Arc<Value>| {
        let old = before.get(path);
        old.is_none_or(|old| !Arc::ptr_eq(old, object))
    };
    let new = objects.iter().filter(|(path, object)| is_new(path, object));
    let new = new.map(|(path, object)| (path.clone(), masked(object)));
    new.chain(gone)
        .filter(|(path, _)| !is_message(path))
        .collect()
}

fn masked(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|name, _| {
            !matches!(name.as_str(), "uid" | "resourceVersion" | "managedFields")
        });
    }
    if let Some(owners) = object["metadata"]["ownerReferences"].as_array_mut() {
        for owner in owners.iter_mut().filter_map(Value::as_object_mut) {
            owner.shift_remove("uid");
        }
    }
    mask_times(&mut object);
    object
}

fn mask_times(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(mask_times),
        Value::Array(items) => items.iter_mut().for_each(mask_times),
        Value::String(text) if text.parse::<Timestamp>().is_ok() => *value = "<time>".into(),
        _ => {}
    }
}

/// Each fault of each request, and some pairs; of too many, some. Silence befalls what is asked in a longer time.
fn schedules(asked: &[Request], for_long: &[Request], seed: u64) -> Vec<Schedule> {
    let faults = |asked: &[Request]| -> Vec<(usize, Fault)> {
        let numbered = asked.iter().enumerate();
        let faults = numbered.flat_map(|(number, request)| {
            Fault::of(request).iter().map(move |fault| (number, *fault))
        });
        faults.collect()
    };
    let mut single = faults(asked);
    single.retain(|(_, fault)| !fault.is_silence());
    let silence = faults(for_long).into_iter();
    single.extend(silence.filter(|(_, fault)| fault.is_silence()));
    let mut random = seed;
    let mut below = |bound: usize| {
        // xorshift: what is chosen is to be the same everywhere
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % bound.max(1) as u64).unwrap_or_default()
    };
    let mut pairs: BTreeSet<Schedule> = BTreeSet::new();
    if asked.len() > 1 {
        while pairs.len() < PAIRS {
            let pair = [single[below(single.len())], single[below(single.len())]];
            if pair[0].0 != pair[1].0 {
                pairs.insert(Schedule(pair.into()));
            }
        }
    }
    while single.len() > MOST {
        single.swap_remove(below(single.len()));
    }
    let single = single.into_iter().map(|fault| Schedule([fault].into()));
    single.chain(pairs).collect()
}

fn seed() -> u64 {
    let given = std::env::var("FAULT_SEED").ok();
    given
        .and_then(|seed| seed.parse().ok())
        .filter(|seed| *seed != 0)
        .unwrap_or(1)
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

/// The places where two runs came to another state, each with what is there.
fn differences(calm: &Run, run: &Run) -> BTreeMap<String, String> {
    let mut places = BTreeMap::new();
    let names = ["with the sample", "when it is gone"];
    for ((name, expected), found) in names.iter().zip(&calm.states).zip(&run.states) {
        differ(&format!("{name}, "), expected, found, &mut places);
    }
    places
}

fn differ(path: &str, expected: &Value, found: &Value, places: &mut BTreeMap<String, String>) {
    match (expected, found) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let (a, b) = (expected.get(key), found.get(key));
                let (a, b) = (a.unwrap_or(&Value::Null), b.unwrap_or(&Value::Null));
                differ(&format!("{path}/{key}"), a, b, places);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                differ(&format!("{path}/{index}"), a, b, places);
            }
        }
        (a, b) if a == b => {}
        (a, b) => {
            let short = |value: &Value| -> String { value.to_string().chars().take(160).collect() };
            let what = format!("{path} is {}, not {}", short(b), short(a));
            places.insert(path.to_owned(), what);
        }
    }
}

fn told(schedule: &Schedule, run: &Run, why: &str) -> String {
    let befallen = schedule
        .0
        .iter()
        .map(|(number, fault)| match run.asked.get(*number) {
            Some(request) => format!("{fault} at request {number}, {request}"),
            None => format!("{fault} at request {number}, which is not made"),
        });
    let befallen: Vec<String> = befallen.collect();
    format!("FAULTS=\"{schedule}\": {}\n  {why}", befallen.join("; "))
}
