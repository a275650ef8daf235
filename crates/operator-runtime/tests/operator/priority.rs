//! Two operators share a lease: the one with the higher priority works, the other pauses. Every request is delayed at random.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex},
    time::Duration,
};

use crate::support::{OPERATOR, Running, Widget, create, server};
use kube::{Client, client::Body};
use operator_runtime::{
    Controllers, Result, Settings, Setup,
    handlers::{Call, DaemonCall, Handlers, Registry},
};
use operator_testing::Server;
use serde_json::json;
use tokio::time::{Instant, sleep};
use tower::{ServiceBuilder, ServiceExt};

/// What happened in order, each with the operator.
type Timeline = Arc<Mutex<Vec<(&'static str, String)>>>;

fn add(timeline: &Timeline, operator: &'static str, what: impl Into<String>) {
    timeline.lock().unwrap().push((operator, what.into()));
}

/// Writes the object from a timer and from a daemon.
struct Busy {
    operator: &'static str,
    timeline: Timeline,
}

impl Handlers for Busy {
    type Resource = Widget;

    fn register(&self, on: &mut Registry<Self>) {
        on.timer("timer", Duration::from_millis(50), Self::timer);
        on.daemon("daemon", Self::daemon);
    }
}

impl Busy {
    async fn timer(self: Arc<Self>, call: Call<Widget>) -> Result<()> {
        annotate(&call, "timer").await
    }

    async fn daemon(self: Arc<Self>, daemon: DaemonCall<Widget>) -> Result<()> {
        add(&self.timeline, self.operator, "daemon begins");
        while daemon.sleep(Duration::from_millis(50)).await {
            annotate(&daemon, "daemon").await?;
        }
        add(&self.timeline, self.operator, "daemon ends");
        Ok(())
    }
}

async fn annotate(call: &Call<Widget>, name: &str) -> Result<()> {
    use kube::{
        Api, ResourceExt,
        api::{Patch, PatchParams},
    };
    let object = call.object();
    let api: Api<Widget> = Api::namespaced(call.cx().client(), "default");
    let value = RandomState::new().hash_one(name).to_string();
    let patch = json!({"metadata": {"annotations": {format!("example.com/{name}"): value}}});
    api.patch(
        &object.name_any(),
        &PatchParams::default(),
        &Patch::Merge(&patch),
    )
    .await?;
    Ok(())
}

/// A client that records the begin and the end of each request for anything but the lease.
fn recording(server: &Server, operator: &'static str, timeline: &Timeline) -> Client {
    let (inner, timeline) = (server.client(), timeline.clone());
    let service = ServiceBuilder::new().service_fn(move |request: http::Request<Body>| {
        let (inner, timeline) = (inner.clone(), timeline.clone());
        async move {
            let is_lease = request.uri().path().contains("/leases");
            let random = RandomState::new().hash_one(0);
            let delay = || Duration::from_millis(random % 40);
            if !is_lease {
                add(&timeline, operator, "request");
            }
            sleep(delay()).await;
            let answer = inner.send(request).await;
            sleep(delay()).await;
            if !is_lease {
                add(&timeline, operator, "answer");
            }
            answer.map_err(|error| Box::new(error) as tower::BoxError)
        }
    });
    Client::new(service.boxed_clone(), "default")
}

async fn start(
    server: &Server,
    (operator, priority): (&'static str, i32),
    timeline: &Timeline,
) -> Running {
    let mut settings = Settings::for_tests();
    settings.leader_election = true;
    settings.priority = priority;
    let busy = Busy {
        operator,
        timeline: timeline.clone(),
    };
    let setup = async move |_: Setup| Ok(busy);
    let controllers = Controllers::new().add_handlers(setup, |watches| watches);
    Running::start(recording(server, operator, timeline), settings, controllers).await
}

/// The operators that made requests or ran a daemon, in order.
fn order(timeline: &Timeline) -> Vec<&'static str> {
    let timeline = timeline.lock().unwrap();
    let mut order: Vec<_> = timeline.iter().map(|(operator, _)| *operator).collect();
    order.dedup();
    order
}

async fn until_working(server: &Server, operator: &'static str, timeline: &Timeline) {
    let now = timeline.lock().unwrap().len();
    server
        .eventually("it works", async || {
            let timeline = timeline.lock().unwrap();
            timeline[now.min(timeline.len())..]
                .iter()
                .any(|(it, _)| *it == operator)
                .then_some(())
        })
        .await;
    sleep(Duration::from_millis(300)).await;
}

const PAUSED: &str = "operator_paused";

async fn is_paused(running: &Running) -> bool {
    let (code, text) = running.page("/readyz").await;
    assert_eq!(code, 200, "a paused operator is ready: {text}");
    let is_paused = running.metric(PAUSED).await == Some(1.0);
    let is_said = text.starts_with("paused: ") && text.ends_with(" has the priority 5");
    is_paused && is_said
}

#[tokio::test]
async fn the_lower_priority_pauses_for_the_higher_and_resumes_after_it() {
    let server = server().await;
    let timeline = Timeline::default();
    create(&server, "a", "ok").await;
    let lower = start(&server, ("lower", 0), &timeline).await;
    until_working(&server, "lower", &timeline).await;
    for round in 0..2 {
        let higher = start(&server, ("higher", 5), &timeline).await;
        until_working(&server, "higher", &timeline).await;
        server
            .eventually("the lower one says that it is paused", async || {
                is_paused(&lower).await.then_some(())
            })
            .await;
        assert_eq!(higher.metric(PAUSED).await, Some(0.0));
        assert_eq!(higher.page("/readyz").await, (200, "ok".into()));
        higher.stop().await.unwrap();
        until_working(&server, "lower", &timeline).await;
        assert_eq!(lower.metric(PAUSED).await, Some(0.0));
        assert_eq!(lower.page("/readyz").await, (200, "ok".into()), "{round}");
    }
    lower.stop().await.unwrap();
    let expected = ["lower", "higher", "lower", "higher", "lower"];
    assert_eq!(order(&timeline), expected, "{OPERATOR}: requests overlap");
    let timeline = timeline.lock().unwrap();
    let count = |it: &str| timeline.iter().filter(|(_, what)| what == it).count();
    assert_eq!(count("daemon begins"), 5);
    assert_eq!(count("daemon ends"), 5, "every daemon ended gracefully");
    // The requests need not have as many answers: a pause cuts off the watches.
}

#[tokio::test]
async fn the_lower_priority_resumes_when_the_lease_of_a_killed_one_expires() {
    let server = server().await;
    let timeline = Timeline::default();
    create(&server, "a", "ok").await;
    let lower = start(&server, ("lower", 0), &timeline).await;
    until_working(&server, "lower", &timeline).await;
    let higher = start(&server, ("higher", 5), &timeline).await;
    until_working(&server, "higher", &timeline).await;
    let killed = Instant::now();
    drop(higher);
    until_working(&server, "lower", &timeline).await;
    assert!(killed.elapsed() > Duration::from_secs(2), "it did not wait");
    assert!(order(&timeline).starts_with(&["lower", "higher"]));
    assert_eq!(order(&timeline).last(), Some(&"lower"));
    lower.stop().await.unwrap();
}

#[tokio::test]
async fn of_equal_priorities_the_first_keeps_working() {
    let server = server().await;
    let timeline = Timeline::default();
    create(&server, "a", "ok").await;
    let first = start(&server, ("first", 3), &timeline).await;
    until_working(&server, "first", &timeline).await;
    let second = start(&server, ("second", 3), &timeline).await;
    let third = start(&server, ("third", 2), &timeline).await;
    sleep(Duration::from_millis(800)).await;
    assert_eq!(order(&timeline), ["first"]);
    assert_eq!(second.metric(PAUSED).await, Some(0.0), "it is a standby");
    assert_eq!(third.metric(PAUSED).await, Some(1.0));
    for running in [third, second, first] {
        running.stop().await.unwrap();
    }
}
