//! Operators with priorities that share a lease, on a server that delays each request: at no time do two of them work, and in the end the
//! one with the highest priority works. Time is virtual.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering::SeqCst},
};
use std::time::Duration;

use http_body_util::BodyExt;
use kube::{Client, client::Body};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::*;
use crate::{engine::kind::GroupKind, settings::Settings};

/// How long operators crash and requests are slow.
const CHAOS: Duration = Duration::from_secs(80);
/// Longer than the expiry of a lease, an announcement and two shutdowns take together.
const CALM: Duration = Duration::from_secs(150);

/// The life of an operator. Times are in seconds.
#[derive(Clone, Debug)]
struct Plan {
    priority: i32,
    starts: u64,
    crashes: Option<u64>,
    /// How long its work takes to end; it is aborted at the shutdown timeout.
    drains: u64,
}

/// A server with one lease.
struct Store {
    lease: Mutex<(u64, Value)>,
    delays: Vec<u64>,
    requests: AtomicUsize,
    began: Instant,
}

impl Store {
    fn client(self: &Arc<Self>) -> Client {
        let store = self.clone();
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let store = store.clone();
            // in a task, so that a request is executed even if its client no longer waits
            tokio::spawn(async move { store.answer(request).await })
        });
        Client::new(service, "default")
    }

    async fn delay(&self) {
        let number = self.requests.fetch_add(1, SeqCst);
        let delay = self.delays[number % self.delays.len()];
        let delay = if self.began.elapsed() < CHAOS {
            delay
        } else {
            delay.min(100)
        };
        sleep(Duration::from_millis(delay)).await;
    }

    async fn answer(&self, request: http::Request<Body>) -> http::Response<Body> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        self.delay().await;
        let (code, answer) = self.apply(&parts.method, &body);
        self.delay().await;
        let answer = Body::from(serde_json::to_vec(&answer).unwrap());
        http::Response::builder().status(code).body(answer).unwrap()
    }

    fn apply(&self, method: &http::Method, body: &[u8]) -> (u16, Value) {
        let mut lease = self.lease.lock().unwrap();
        let failure = |code: u16, reason: &str| {
            let status = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code });
            (code, status)
        };
        let (version, stored) = &mut *lease;
        if method == http::Method::GET {
            return if stored.is_null() {
                failure(404, "NotFound")
            } else {
                (200, stored.clone())
            };
        }
        let mut written: Value = serde_json::from_slice(body).unwrap();
        let base = written["metadata"]["resourceVersion"].clone();
        if base != stored["metadata"]["resourceVersion"] {
            return failure(409, "Conflict");
        }
        *version += 1;
        written["metadata"]["resourceVersion"] = version.to_string().into();
        *stored = written.clone();
        (200, written)
    }
}

/// The numbers of the operators that work.
#[derive(Default)]
struct Working(Mutex<Vec<usize>>);

/// The work of an operator, which ends when this is dropped.
struct Work(Arc<Working>, usize);

impl Work {
    fn begin(working: &Arc<Working>, number: usize) -> Self {
        working.0.lock().unwrap().push(number);
        Self(working.clone(), number)
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let mut working = self.0.0.lock().unwrap();
        // If two work at once, keep both in the list, so that `check` notices it.
        if working.len() == 1 {
            working.retain(|number| *number != self.1);
        }
    }
}

/// An operator that is restarted when it loses its lease.
async fn operator(plan: Plan, number: usize, store: Arc<Store>, working: Arc<Working>) {
    sleep(Duration::from_secs(plan.starts)).await;
    loop {
        let identity = Identity {
            operator: "test".into(),
            kind: GroupKind {
                group: "cache.example.com".into(),
                kind: "Memcached".into(),
            },
            name: "memcached".into(),
            is_named: false,
            shares_kind: false,
        };
        let (working, drains) = (working.clone(), Duration::from_secs(plan.drains));
        let build: Build = Box::new(move |_, wiring| {
            let working = working.clone();
            Box::pin(async move {
                let _work = Work::begin(&working, number);
                wiring.stop.cancelled().await;
                sleep(drains).await;
            })
        });
        let crds = Crds {
            ensured: &[],
            migration: None,
        };
        let settings = Settings {
            priority: plan.priority,
            leader_election: true,
            ..Settings::default()
        };
        let wiring = Wiring::for_tests(store.client(), settings);
        let ended = lead(wiring, "test", crds, vec![(identity, build)]).await;
        assert!(matches!(ended, Err(Fatal::LeaseLost { .. })), "{ended:?}");
        sleep(Duration::from_secs(1)).await;
    }
}

async fn check(plans: Vec<Plan>, delays: Vec<u64>) -> Result<(), TestCaseError> {
    let store = Arc::new(Store {
        lease: Mutex::default(),
        delays,
        requests: AtomicUsize::new(0),
        began: Instant::now(),
    });
    let working = Arc::new(Working::default());
    let mut operators = vec![];
    for (number, plan) in plans.iter().enumerate() {
        let operator = operator(plan.clone(), number, store.clone(), working.clone());
        operators.push(tokio::spawn(operator));
    }
    let began = Instant::now();
    while began.elapsed() < CHAOS + CALM {
        sleep(Duration::from_millis(50)).await;
        let count = working.0.lock().unwrap().len();
        prop_assert!(count < 2, "two work after {:?}", began.elapsed());
        for (plan, operator) in plans.iter().zip(&operators) {
            if plan
                .crashes
                .is_some_and(|at| began.elapsed().as_secs() >= at)
            {
                operator.abort();
            }
        }
    }
    for (plan, operator) in plans.iter().zip(operators.iter_mut()) {
        let is_as_planned = plan.crashes.is_some() || !operator.is_finished();
        prop_assert!(is_as_planned, "an operator failed: {:?}", operator.await);
    }
    let alive = plans.iter().filter(|it| it.crashes.is_none());
    let highest = alive.map(|it| it.priority).max();
    let works = working
        .0
        .lock()
        .unwrap()
        .first()
        .map(|it| plans[*it].priority);
    prop_assert_eq!(works, highest);
    operators.iter().for_each(|it| it.abort());
    Ok(())
}

fn plans() -> impl Strategy<Value = Vec<Plan>> {
    let seconds = |most| 0..most;
    let plan = (
        -1..3,
        seconds(20u64),
        proptest::option::of(seconds(80u64)),
        seconds(25u64),
    );
    let plan = plan.prop_map(|(priority, starts, crashes, drains)| Plan {
        priority,
        starts,
        crashes,
        drains,
    });
    proptest::collection::vec(plan, 2..=3)
}

/// Most requests are quick; some take longer than the renew deadline.
fn delays() -> impl Strategy<Value = Vec<u64>> {
    let delay = prop_oneof![6 => 0..300u64, 2 => 0..4_000u64, 1 => 4_000..14_000u64];
    proptest::collection::vec(delay, 5..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn never_two_work_and_in_the_end_the_one_with_the_highest_priority(plans in plans(), delays in delays()) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(check(plans, delays))?;
    }
}
